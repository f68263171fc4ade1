//! The configuration of one process, written by the agent into the map `TARGETS`.
//!
//! An offset that does not apply to a build is [`ABSENT`]; the agent does not
//! configure a process of which it lacks an offset that does apply. No offset
//! is ever zero for "unknown".

/// An offset that this build does not have.
pub const ABSENT: u32 = u32::MAX;

/// A distance that is not known.
pub const UNKNOWN_DISTANCE: i64 = i64::MIN;

/// How to reach a `PyThreadState` from a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Route {
    /// One of the `ROUTE_…` kinds.
    pub kind: u32,
    /// Unused.
    pub reserved: u32,
    /// See the kind.
    pub place: u64,
    /// See the kind.
    pub extra: u64,
}

impl Route {
    /// No route.
    pub const NONE: Self = Self { kind: ROUTE_NONE, reserved: 0, place: 0, extra: 0 };
}

/// There is no such route.
pub const ROUTE_NONE: u32 = 0;
/// A pthread key: `place` is the address of the `int` key, `extra` the address
/// of an `int` that is zero until the key is created, or zero.
pub const ROUTE_KEY: u32 = 1;
/// A thread-local variable: `place` is its distance from the thread pointer (signed).
pub const ROUTE_THREAD_POINTER: u32 = 2;
/// A thread-local variable: `place` is the module id, `extra` the offset in the module's block.
pub const ROUTE_DTV: u32 = 3;
/// A process-wide pointer: `place` is its address.
pub const ROUTE_GLOBAL: u32 = 4;
/// The list of an interpreter's thread states, searched by thread id:
/// `place` is the address of the pointer to the first, inside `PyInterpreterState`.
pub const ROUTE_LIST: u32 = 5;

/// How the C library finds the word of a pthread key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct ThreadData {
    /// One of the `SHAPE_…` values.
    pub shape: u32,
    /// Keys in one block (two-level shape).
    pub block_keys: u32,
    /// Bytes of one slot.
    pub slot_size: u32,
    /// Offset of the value in a slot.
    pub value_offset: u32,
    /// Thread-pointer offset of the first block (two-level), or of the pointer to the array.
    pub first: i64,
    /// Thread-pointer offset of the array of block pointers (two-level).
    pub blocks: i64,
}

/// The C library is not known.
pub const SHAPE_NONE: u32 = 0;
/// A first block in `struct pthread` and further blocks behind pointers (glibc).
pub const SHAPE_TWO_LEVEL: u32 = 1;
/// One array behind a pointer (musl).
pub const SHAPE_ARRAY: u32 = 2;

/// How the C library finds a module's TLS block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Dtv {
    /// Thread-pointer offset of the pointer to the DTV.
    pub pointer: i64,
    /// Bytes of one entry; zero when the C library is not known.
    pub entry_size: u32,
    /// Bytes from the DTV back to the word that holds the number of its modules.
    pub length_back: u32,
}

/// Where the GIL is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Gil {
    /// One of the `GIL_…` kinds.
    pub kind: u32,
    /// Offset of the pointer `ceval.gil` in `PyInterpreterState` (per interpreter).
    pub interpreter_gil: u32,
    /// Offset of `locked` in the GIL (per interpreter).
    pub locked_offset: u32,
    /// Offset of `last_holder` in the GIL (per interpreter).
    pub holder_offset: u32,
    /// Offset of `enabled` in the GIL (free-threaded builds).
    pub enabled_offset: u32,
    /// Unused.
    pub reserved: u32,
    /// Address of `locked` (process-wide).
    pub locked: u64,
    /// Address of `last_holder` (process-wide).
    pub holder: u64,
}

/// It is not known where the GIL is.
pub const GIL_UNKNOWN: u32 = 0;
/// One for the process, at known addresses.
pub const GIL_PROCESS: u32 = 1;
/// One for each interpreter.
pub const GIL_INTERPRETER: u32 = 2;
/// Only the current thread state tells who holds it.
pub const GIL_BY_CURRENT: u32 = 3;

/// How frames are walked. All members but the styles are offsets in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Walk {
    /// One of the `WALK_…` styles.
    pub style: u32,
    /// Bytes to read of one frame.
    pub frame_size: u32,
    /// `PyThreadState.interp`.
    pub state_interpreter: u32,
    /// `PyThreadState.thread_id`.
    pub state_thread_id: u32,
    /// `PyThreadState.next`, for the search in the list.
    pub state_next: u32,
    /// `PyThreadState.frame`, `.cframe` or `.current_frame`.
    pub state_frame: u32,
    /// `_PyCFrame.current_frame` (3.11, 3.12).
    pub cframe_current: u32,
    /// `_PyCFrame.previous` (3.11, 3.12).
    pub cframe_previous: u32,
    /// `f_back` or `previous`.
    pub previous: u32,
    /// `f_code` or `f_executable`.
    pub code: u32,
    /// `f_lasti`, `prev_instr` or `instr_ptr`.
    pub instruction: u32,
    /// `_PyInterpreterFrame.owner` (3.12 and later).
    pub owner: u32,
    /// Smallest `owner` of a frame that is no Python frame (3.12 and later).
    pub shim_owner: u32,
    /// `_PyInterpreterFrame.is_entry` (3.11).
    pub is_entry: u32,
    /// `_PyInterpreterFrame.tlbc_index` (free-threaded 3.14 and later).
    pub tlbc_index: u32,
    /// `f_localsplus`, for the class of `self` (to 3.10).
    pub locals: u32,
    /// Bytes of bytecode that one unit of `f_lasti` stands for (1, or 2 in 3.10).
    pub instruction_unit: u32,
    /// Unused.
    pub reserved: u32,
    /// Bits of `f_executable` that are address.
    pub code_mask: u64,
}

/// `PyFrameObject` chains (to 3.10).
pub const WALK_FRAME_OBJECTS: u32 = 1;
/// `_PyInterpreterFrame` chains through `_PyCFrame` (3.11, 3.12).
pub const WALK_CFRAME: u32 = 2;
/// `_PyInterpreterFrame` chains (3.13 and later).
pub const WALK_CURRENT_FRAME: u32 = 3;

/// How objects are read. All members but the styles and types are offsets in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Objects {
    /// One of the `STRING_…` styles.
    pub string_style: u32,
    /// Bytes to read of one code object.
    pub code_size: u32,
    /// `PyObject.ob_type`.
    pub object_type: u32,
    /// `PyTypeObject.tp_name`.
    pub type_name: u32,
    /// `PyTypeObject.tp_flags`.
    pub type_flags: u32,
    /// `PyCodeObject.co_filename`.
    pub code_file: u32,
    /// `PyCodeObject.co_qualname` (3.11 and later), or `co_name`.
    pub code_name: u32,
    /// `PyCodeObject.co_firstlineno`.
    pub code_first_line: u32,
    /// `PyCodeObject.co_linetable` or `co_lnotab`.
    pub code_lines: u32,
    /// `PyCodeObject.co_argcount`, for the class of `self` (to 3.10).
    pub code_argument_count: u32,
    /// `PyCodeObject.co_varnames`, for the class of `self` (to 3.10).
    pub code_variables: u32,
    /// `PyCodeObject.co_code_adaptive` (3.11 and later).
    pub code_bytecode: u32,
    /// `PyCodeObject.co_tlbc` (free-threaded 3.14 and later).
    pub code_tlbc: u32,
    /// `PyTupleObject.ob_item`.
    pub tuple_items: u32,
    /// `PyASCIIObject.length`.
    pub string_length: u32,
    /// Byte in `PyASCIIObject.state` that holds the kind and the flags below.
    pub string_state: u32,
    /// Where the bits of `kind` start in the 32-bit word at `string_state`.
    pub string_kind_shift: u32,
    /// Bit of `compact` in that word.
    pub string_compact_bit: u32,
    /// Bit of `ascii` in that word.
    pub string_ascii_bit: u32,
    /// Data of a compact ASCII string.
    pub string_ascii_data: u32,
    /// Data of a compact string that is not ASCII.
    pub string_compact_data: u32,
    /// `PyVarObject.ob_size` of `bytes` (or 2.7's `str`).
    pub bytes_size: u32,
    /// `PyBytesObject.ob_sval` (or 2.7's `PyStringObject`).
    pub bytes_data: u32,
    /// Unused.
    pub reserved: u32,
    /// Address of `PyCode_Type`; zero when the image does not export it.
    pub code_type: u64,
    /// Address of `PyUnicode_Type` (2.7: `PyString_Type`); zero when the image does not export it.
    pub string_type: u64,
    /// Address of `PyBytes_Type` (2.7: `PyString_Type`); zero when the image does not export it.
    pub bytes_type: u64,
    /// Address of `PyTuple_Type`; zero when the image does not export it.
    pub tuple_type: u64,
}

/// `str` with a `state` word (3.3 and later).
pub const STRING_FLEXIBLE: u32 = 1;
/// `PyStringObject`: bytes (2.7).
pub const STRING_BYTES: u32 = 2;

/// Everything the program needs to know about one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Target {
    /// A number no other configuration has or had: events carry it, so a
    /// process is never mistaken for one that had its pid or ran another
    /// program before.
    pub incarnation: u64,
    /// To the state a thread owns.
    pub owned: Route,
    /// To the state attached to a thread, or the process-wide current one.
    pub attached: Route,
    /// The C library's thread-specific data.
    pub thread_data: ThreadData,
    /// The C library's TLS blocks.
    pub dtv: Dtv,
    /// Distance of `pthread_self()` from the thread pointer, or [`UNKNOWN_DISTANCE`].
    pub pthread_self: i64,
    /// The GIL.
    pub gil: Gil,
    /// Frames.
    pub walk: Walk,
    /// Objects.
    pub objects: Objects,
}

const _: () = {
    assert!(size_of::<Route>() == 24);
    assert!(size_of::<ThreadData>() == 32);
    assert!(size_of::<Dtv>() == 16);
    assert!(size_of::<Gil>() == 40);
    assert!(size_of::<Walk>() == 80);
    assert!(size_of::<Objects>() == 128);
    assert!(size_of::<Target>() == 8 + 24 + 24 + 32 + 16 + 8 + 40 + 80 + 128);
};
