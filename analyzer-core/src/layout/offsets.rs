//! The offsets a frame walker uses, as one typed set.

use super::{Layout, debug_offsets::DebugOffsets};

/// Defines the groups of offsets and how each member is found: under one of
/// the names CPython gave it over the versions (no version has two of them).
macro_rules! offsets {
    ($(
        $(#[$group_doc:meta])*
        $group:ident as $field:ident {
            $( $(#[$doc:meta])* $name:ident = $( $structure:literal . $member:literal )|+ ; )*
        }
    )*) => {
        $(
            $(#[$group_doc])*
            ///
            /// Offsets in bytes; `None` is a member this build does not have
            /// or whose offset is not known, never offset 0.
            #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
            pub struct $group {
                $( $(#[$doc])* pub $name: Option<u32>, )*
            }
        )*

        /// Every offset a frame walker uses.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub struct Offsets {
            $( $(#[$group_doc])* pub $field: $group, )*
        }

        impl Offsets {
            /// Asks `offset_of` for each member by structure and name.
            fn collect(offset_of: impl Fn(&str, &str) -> Option<u32>) -> Self {
                Self {
                    $( $field: $group {
                        $( $name: None$(.or_else(|| offset_of($structure, $member)))+, )*
                    }, )*
                }
            }
        }
    };
}

offsets! {
    /// `_PyRuntimeState`: bytes from the start of `_PyRuntime` (3.7 and later).
    RuntimeOffsets as runtime {
        /// Pointer to the first interpreter.
        interpreters_head = "_PyRuntimeState"."interpreters.head";
        /// Pointer to the main interpreter.
        interpreters_main = "_PyRuntimeState"."interpreters.main";
        /// `Py_tss_t` of the gilstate key; the key itself is 4 bytes further (3.7 to 3.14).
        tss = "_PyRuntimeState"."gilstate.autoTSSkey" | "_PyRuntimeState"."autoTSSkey";
        /// Pointer to the thread state of the GIL's holder (3.7 to 3.11).
        tstate_current = "_PyRuntimeState"."gilstate.tstate_current";
        /// `int` flag of the GIL (3.7 to 3.11).
        gil_locked = "_PyRuntimeState"."ceval.gil.locked";
        /// Pointer to the thread state that last held the GIL (3.7 to 3.11).
        gil_last_holder = "_PyRuntimeState"."ceval.gil.last_holder";
    }

    /// `PyInterpreterState`.
    InterpreterOffsets as interpreter {
        /// Pointer to the following interpreter.
        next = "PyInterpreterState"."next";
        /// Pointer to the first thread state.
        threads_head = "PyInterpreterState"."tstate_head" | "PyInterpreterState"."threads.head";
        /// `int64_t` number of the interpreter (3.7 and later).
        id = "PyInterpreterState"."id";
        /// Pointer to this interpreter's GIL (3.12 and later).
        gil = "PyInterpreterState"."ceval.gil";
        /// The GIL structure of the main interpreter, or of one with a GIL of its own.
        own_gil = "PyInterpreterState"."_gil";
        /// `last_holder` of that structure.
        own_gil_last_holder = "PyInterpreterState"."_gil.last_holder";
        /// `locked` of that structure.
        own_gil_locked = "PyInterpreterState"."_gil.locked";
    }

    /// `PyThreadState`.
    ThreadOffsets as thread {
        /// Pointer to the following thread state of the interpreter.
        next = "PyThreadState"."next";
        /// Pointer to the interpreter.
        interp = "PyThreadState"."interp";
        /// Pointer to the innermost `PyFrameObject` (to 3.10).
        frame = "PyThreadState"."frame";
        /// Pointer to the innermost `_PyCFrame` (3.11 and 3.12; in 3.10 it exists and holds no frame).
        cframe = "PyThreadState"."cframe";
        /// Pointer to the innermost `_PyInterpreterFrame` (3.13 and later).
        current_frame = "PyThreadState"."current_frame";
        /// Pointer to the frame below every other (3.15 and later).
        base_frame = "PyThreadState"."base_frame";
        /// `unsigned long`: what `pthread_self` returns in this thread.
        thread_id = "PyThreadState"."thread_id";
        /// `unsigned long`: what `gettid` returns in this thread (3.11 and later).
        native_thread_id = "PyThreadState"."native_thread_id";
        /// `uint64_t` number of the state, never used twice (3.7 and later).
        id = "PyThreadState"."id";
        /// `unsigned` status bits (3.12 and later); bit 4 says active.
        status = "PyThreadState"."_status";
        /// `int`: holds the GIL (3.14 and later; in 3.13 bit 5 of the status bits).
        holds_gil = "PyThreadState"."holds_gil";
        /// `int`: 0 detached, 1 attached, 2 suspended (3.13 and later).
        state = "PyThreadState"."state";
    }

    /// A frame: `PyFrameObject` to 3.10, `_PyInterpreterFrame` later, and the `_PyCFrame` of 3.11 and 3.12.
    FrameOffsets as frame {
        /// In `_PyCFrame`: pointer to the innermost frame (3.11 and 3.12).
        cframe_current = "_PyCFrame"."current_frame";
        /// In `PyFrameObject`: pointer to the caller (to 3.10).
        back = "PyFrameObject"."f_back";
        /// In `PyFrameObject`: pointer to the code object (to 3.10).
        object_code = "PyFrameObject"."f_code";
        /// In `PyFrameObject`: `int` index of the last instruction (to 3.10).
        lasti = "PyFrameObject"."f_lasti";
        /// In `_PyInterpreterFrame`: pointer to the caller.
        previous = "_PyInterpreterFrame"."previous";
        /// In `_PyInterpreterFrame`: the code object, a tagged reference from 3.14 on.
        executable = "_PyInterpreterFrame"."f_code" | "_PyInterpreterFrame"."f_executable";
        /// In `_PyInterpreterFrame`: pointer to an instruction.
        instruction = "_PyInterpreterFrame"."prev_instr" | "_PyInterpreterFrame"."instr_ptr";
        /// In `_PyInterpreterFrame`: `char`, who owns the frame.
        owner = "_PyInterpreterFrame"."owner";
        /// In `_PyInterpreterFrame`: `bool`, entered from C (3.11).
        is_entry = "_PyInterpreterFrame"."is_entry";
        /// In `_PyInterpreterFrame`: `int32_t` index of the thread's copy of the bytecode (free-threaded, 3.14 and later).
        tlbc_index = "_PyInterpreterFrame"."tlbc_index";
    }

    /// `PyCodeObject`.
    CodeOffsets as code {
        /// Pointer to the file name.
        filename = "PyCodeObject"."co_filename";
        /// Pointer to the name.
        name = "PyCodeObject"."co_name";
        /// Pointer to the qualified name (3.11 and later).
        qualname = "PyCodeObject"."co_qualname";
        /// `int` first line.
        first_line = "PyCodeObject"."co_firstlineno";
        /// Pointer to the bytes of the line table.
        line_table = "PyCodeObject"."co_lnotab" | "PyCodeObject"."co_linetable";
        /// `int` flags.
        flags = "PyCodeObject"."co_flags";
        /// `int` number of positional arguments.
        arg_count = "PyCodeObject"."co_argcount";
        /// Pointer to the tuple that begins with the argument names.
        var_names = "PyCodeObject"."co_varnames" | "PyCodeObject"."co_localsplusnames";
        /// The bytecode, inside the object (3.11 and later).
        bytecode = "PyCodeObject"."co_code_adaptive";
        /// `int` index of the instruction from which the frame counts as begun (3.11 and later).
        first_traceable = "PyCodeObject"."_co_firsttraceable";
        /// Pointer to the per-thread copies of the bytecode (free-threaded, 3.14 and later).
        tlbc = "PyCodeObject"."co_tlbc";
    }

    /// Other objects.
    ObjectOffsets as object {
        /// In every object: pointer to its type.
        ob_type = "PyObject"."ob_type";
        /// In variable-size objects: `Py_ssize_t` number of items.
        ob_size = "PyVarObject"."ob_size";
        /// In a type: pointer to the C string of its name.
        tp_name = "PyTypeObject"."tp_name";
        /// In a type: `unsigned long` flags.
        tp_flags = "PyTypeObject"."tp_flags";
        /// In `bytes` (`str` of 2.7): the bytes.
        bytes_data = "PyBytesObject"."ob_sval";
        /// In a tuple: the pointers to its items.
        tuple_items = "PyTupleObject"."ob_item";
        /// In `str` (3.3 and later): `Py_ssize_t` number of characters.
        str_length = "PyASCIIObject"."length";
        /// In `str` (3.3 and later): 32 bits that say how the characters are kept.
        str_state = "PyASCIIObject"."state";
        /// In `str` (3.3 and later): the characters, if it is compact and ASCII.
        str_ascii_data = "PyASCIIObject"."sizeof";
        /// In `str` (3.3 and later): the characters, if it is compact and not ASCII.
        str_compact_data = "PyCompactUnicodeObject"."sizeof";
        /// In `str` (3.3 and later): pointer to the characters, if it is not compact.
        str_data_pointer = "PyUnicodeObject"."data";
        /// In `unicode` (2.7): `Py_ssize_t` number of units.
        unicode_length = "PyUnicodeObject"."length";
        /// In `unicode` (2.7): pointer to the units.
        unicode_data_pointer = "PyUnicodeObject"."str";
    }
}

impl Offsets {
    /// From what a build says of itself, and from the table what it does not
    /// say. Either may be absent.
    #[must_use]
    pub fn new(debug: Option<&DebugOffsets>, table: Option<&Layout>) -> Self {
        Self::collect(|structure, member| {
            let own = debug.and_then(|debug| debug.offset(structure, member));
            own.or_else(|| table?.offset(structure, member))
                .and_then(|offset| offset.try_into().ok())
        })
    }
}

impl From<&Layout> for Offsets {
    fn from(table: &Layout) -> Self {
        Self::new(None, Some(table))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        layout::lookup,
        report::{Arch, Flavour},
        version::PyVersion,
    };

    fn of(version: PyVersion, flavour: Flavour) -> Offsets {
        Offsets::from(&lookup(version, flavour, Arch::X86_64, None).unwrap())
    }

    /// Each version has exactly one way into the frames, and offset 0 is not
    /// taken for absence.
    #[test]
    fn frames_begin_where_the_version_keeps_them() {
        for (version, frame, cframe, current) in [
            (PyVersion::release(2, 7, 18), Some(16), None, None),
            (PyVersion::release(3, 6, 15), Some(24), None, None),
            (PyVersion::release(3, 10, 13), Some(24), Some(48), None),
            (PyVersion::release(3, 11, 7), None, Some(56), None),
            (PyVersion::release(3, 12, 1), None, Some(56), None),
            (PyVersion::release(3, 13, 0), None, None, Some(72)),
            (PyVersion::release(3, 15, 2), None, None, Some(72)),
        ] {
            let thread = of(version, Flavour::Release).thread;
            assert_eq!(thread.frame, frame, "{version}");
            assert_eq!(thread.cframe, cframe, "{version}");
            assert_eq!(thread.current_frame, current, "{version}");
        }
        let frame = of(PyVersion::release(3, 12, 1), Flavour::Release).frame;
        assert_eq!(frame.cframe_current, Some(0));
        assert_eq!(frame.executable, Some(0));
        assert_eq!(frame.back, Some(16), "a frame object of 3.12 still has f_back");
        assert_eq!(frame.object_code, None);
        assert_eq!(frame.instruction, Some(56));
    }

    #[test]
    fn flavours_move_object_members_only() {
        let release = of(PyVersion::release(3, 14, 10), Flavour::Release);
        let threaded = of(PyVersion::release(3, 14, 10), Flavour::FreeThreaded);
        assert_eq!(release.thread, threaded.thread);
        assert_eq!((release.object.ob_type, threaded.object.ob_type), (Some(8), Some(24)));
        assert_eq!((release.code.tlbc, threaded.code.tlbc), (None, Some(224)));
        let debug = of(PyVersion::release(3, 7, 16), Flavour::Debug);
        assert_eq!(debug.object.ob_type, Some(24), "Py_TRACE_REFS before 3.8");
        assert_eq!(of(PyVersion::release(3, 8, 18), Flavour::Debug).object.ob_type, Some(8));
    }
}
