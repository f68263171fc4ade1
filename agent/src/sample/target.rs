//! From what the analyzer found in the files to what the program needs to
//! know about one process.

use agent_ebpf::{
    limit::{CODE_BYTES, FRAME_BYTES},
    target::{
        ABSENT, Dtv, GIL_BY_CURRENT, GIL_INTERPRETER, GIL_PROCESS, GIL_UNKNOWN, Gil, Objects,
        ROUTE_DTV, ROUTE_GLOBAL, ROUTE_KEY, ROUTE_LIST, ROUTE_NONE, ROUTE_THREAD_POINTER, Route,
        SHAPE_ARRAY, SHAPE_NONE, SHAPE_TWO_LEVEL, STRING_BYTES, STRING_FLEXIBLE, Target,
        ThreadData, UNKNOWN_DISTANCE, WALK_CFRAME, WALK_CURRENT_FRAME, WALK_FRAME_OBJECTS, Walk,
    },
};
use analyzer_core::{
    addr::VirtAddr,
    layout::walk::{EntryMark, FrameStart, LastInstruction, Strings, WalkRules, walk_rules},
    report::{self, Arch, GilFacts, LibcFacts, Reaches, Report, TlsModel},
    version::PyVersion,
};

use crate::discover::memory::{Memory, ReadMemory as _};

/// What is known about a process whose configuration is to be made.
pub(crate) struct Facts<'a> {
    /// The report on the image that holds the runtime.
    pub(crate) report: &'a Report,
    /// Run-time address minus link-time address of that image.
    pub(crate) bias: u64,
    /// Run-time addresses of the image's exported symbols.
    pub(crate) symbol: &'a dyn Fn(&str) -> Option<u64>,
    /// The C library's facts, from whichever image has them.
    pub(crate) libc: Option<&'a LibcFacts>,
    /// The process's memory.
    pub(crate) memory: &'a Memory,
}

/// Why a process cannot be configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The file does not tell which Python it is, exactly enough.
    VersionUnknown,
    /// Nobody has looked at how this version keeps its frames.
    VersionUnsupported(String),
    /// An offset is not known.
    OffsetUnknown {
        /// The structure and its member.
        member: String,
        /// What the report says about its layout.
        note: String,
    },
    /// There is no way to a thread state.
    NoRoute(String),
    /// The thread-local variable's place cannot be read in the process yet.
    NotReady(&'static str),
    /// No C library is mapped whose thread data could be followed, or not yet.
    NoLibc,
}

impl Refusal {
    /// Whether a process that is still being loaded can give another answer.
    pub(crate) fn may_pass(&self) -> bool {
        matches!(self, Self::NotReady(_) | Self::NoLibc)
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::VersionUnknown => f.write_str("the file does not tell its exact Python version"),
            Self::VersionUnsupported(version) => {
                write!(f, "how Python {version} keeps its frames is not known")
            }
            Self::OffsetUnknown { member, note } => {
                write!(f, "the offset of {member} is not known")?;
                if !note.is_empty() {
                    write!(f, " ({note})")?;
                }
                Ok(())
            }
            Self::NoRoute(why) => write!(f, "no way to a thread state: {why}"),
            Self::NotReady(what) => write!(f, "the process has not set up {what} yet"),
            Self::NoLibc => f.write_str(
                "no C library is mapped in it of which it is known where threads keep their data",
            ),
        }
    }
}

impl std::error::Error for Refusal {}

/// A configuration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Configuration {
    /// What the program is told; the incarnation is still to be filled in.
    pub(crate) target: Target,
    /// Whether a later look at the process can give a better one: a route
    /// could not be followed yet.
    pub(crate) provisional: bool,
}

/// The configuration of a process.
///
/// # Errors
/// Something that this version needs is not known; see [`Refusal`].
pub(crate) fn configure(facts: &Facts<'_>) -> Result<Configuration, Refusal> {
    let python = facts.report.python.as_ref().ok_or(Refusal::VersionUnknown)?;
    let text = python.version.as_deref().ok_or(Refusal::VersionUnknown)?;
    let version: PyVersion = text.parse().map_err(|_| Refusal::VersionUnknown)?;
    let rules = walk_rules(version, python.flavour)
        .ok_or_else(|| Refusal::VersionUnsupported(text.to_owned()))?;
    let layout = Layout(facts.report);
    let mut target = Target {
        incarnation: 0,
        owned: Route::NONE,
        attached: Route::NONE,
        thread_data: thread_data(facts.libc),
        dtv: dtv(facts.libc),
        pthread_self: pthread_self(facts),
        gil: gil(facts),
        walk: walk(&layout, &rules)?,
        objects: objects(facts, &layout, &rules)?,
    };
    let provisional = routes(facts, &layout, &mut target)?;
    Ok(Configuration { target, provisional })
}

/// Bytes from `f_lasti` to `f_localsplus` in `PyFrameObject`: `f_lasti`,
/// `f_lineno`, `f_iblock` and one more `int` (or padding), then `f_blockstack`,
/// 20 blocks of three `int`s (Include/frameobject.h, from 3.9 on
/// Include/cpython/frameobject.h; the same from 2.7 to 3.10).
const LASTI_TO_LOCALS: u32 = 4 * 4 + 20 * 12;

/// The report's offsets.
struct Layout<'a>(&'a Report);

impl Layout<'_> {
    fn known(&self, structure: &str, member: &str) -> Option<u32> {
        let members = &self.0.layout.as_ref()?.members;
        let member = members.iter().find(|m| m.structure == structure && m.member == member)?;
        member.offset.try_into().ok().filter(|&offset| offset != ABSENT)
    }

    fn need(&self, structure: &str, member: &str) -> Result<u32, Refusal> {
        self.known(structure, member).ok_or_else(|| Refusal::OffsetUnknown {
            member: format!("{structure}.{member}"),
            note: self.0.layout.as_ref().and_then(|layout| layout.note.clone()).unwrap_or_default(),
        })
    }

    /// A member within the bytes that are read of a structure.
    fn within(&self, structure: &str, member: &str, size: usize) -> Result<u32, Refusal> {
        self.need(structure, member)?
            .checked_add(8)
            .filter(|&end| end as usize <= size)
            .map_or_else(
                || {
                    Err(Refusal::OffsetUnknown {
                        member: format!("{structure}.{member}"),
                        note: "farther than any known version has it".to_owned(),
                    })
                },
                |end| Ok(end - 8),
            )
    }
}

fn thread_data(libc: Option<&LibcFacts>) -> ThreadData {
    let narrow = |number: u64| u32::try_from(number).unwrap_or(0);
    match libc.and_then(|libc| libc.thread_data) {
        Some(report::ThreadData::TwoLevel {
            first_block,
            blocks,
            block_keys,
            slot_size,
            value_offset,
        }) => ThreadData {
            shape: SHAPE_TWO_LEVEL,
            block_keys: narrow(block_keys),
            slot_size: narrow(slot_size),
            value_offset: narrow(value_offset),
            first: first_block,
            blocks,
        },
        Some(report::ThreadData::Array { pointer }) => ThreadData {
            shape: SHAPE_ARRAY,
            block_keys: 0,
            slot_size: 8,
            value_offset: 0,
            first: pointer,
            blocks: 0,
        },
        None => ThreadData {
            shape: SHAPE_NONE,
            block_keys: 0,
            slot_size: 0,
            value_offset: 0,
            first: 0,
            blocks: 0,
        },
    }
}

/// The DTV's length is in the entry before its first in glibc
/// (`dtv[-1].counter`, elf/dl-tls.c), and in the first in musl (ldso/dynlink.c).
fn dtv(libc: Option<&LibcFacts>) -> Dtv {
    let Some((libc, dtv)) = libc.and_then(|libc| Some((libc.libc, libc.dtv?))) else {
        return Dtv { pointer: 0, entry_size: 0, length_back: 0 };
    };
    let entry_size = u32::try_from(dtv.entry_size).unwrap_or(0);
    let length_back = match libc {
        report::Libc::Glibc => entry_size,
        report::Libc::Musl => 0,
    };
    Dtv { pointer: dtv.pointer, entry_size, length_back }
}

/// `pthread_self()` is the thread pointer on x86-64. On AArch64 `struct
/// pthread` ends at the thread pointer, and glibc's `specific_1stblock` is
/// 0x110 bytes into it (nptl/descr.h, all versions from 2.23 to 2.44); musl's
/// distance is not told by what the analyzer reads, and the id of a thread is
/// then not compared.
fn pthread_self(facts: &Facts<'_>) -> i64 {
    let arch = facts.report.image.as_ref().map(|image| image.arch);
    match (arch, facts.libc.and_then(|libc| libc.thread_data)) {
        (Some(Arch::X86_64), _) => 0,
        (Some(Arch::Aarch64), Some(report::ThreadData::TwoLevel { first_block, .. })) => {
            first_block.wrapping_sub(0x110)
        }
        _ => UNKNOWN_DISTANCE,
    }
}

fn gil(facts: &Facts<'_>) -> Gil {
    let mut gil = Gil {
        kind: GIL_UNKNOWN,
        interpreter_gil: ABSENT,
        locked_offset: ABSENT,
        holder_offset: ABSENT,
        enabled_offset: ABSENT,
        reserved: 0,
        locked: 0,
        holder: 0,
    };
    let live = |address: VirtAddr| address.0.wrapping_add(facts.bias);
    match facts.report.gil {
        Some(GilFacts::Statics { locked: Some(locked), last_holder: Some(holder) })
        | Some(GilFacts::Runtime { locked, last_holder: holder }) => {
            gil.kind = GIL_PROCESS;
            gil.locked = live(locked);
            gil.holder = live(holder);
        }
        Some(GilFacts::Statics { .. }) => gil.kind = GIL_BY_CURRENT,
        Some(GilFacts::Interpreter { gil_pointer, locked, last_holder, optional }) => {
            let offsets = [gil_pointer, locked, last_holder].map(u32::try_from);
            if let [Ok(pointer), Ok(locked), Ok(holder)] = offsets {
                gil.kind = GIL_INTERPRETER;
                gil.interpreter_gil = pointer;
                gil.locked_offset = locked;
                gil.holder_offset = holder;
                // `enabled` is the first member of free-threaded builds' structure
                // (3.13 to 3.15, Include/internal/pycore_gil.h).
                gil.enabled_offset = if optional { 0 } else { ABSENT };
            }
        }
        None => {}
    }
    gil
}

fn walk(layout: &Layout<'_>, rules: &WalkRules) -> Result<Walk, Refusal> {
    let thread = |member| layout.need("PyThreadState", member);
    let mut walk = Walk {
        style: 0,
        frame_size: 0,
        state_interpreter: thread("interp")?,
        state_thread_id: thread("thread_id")?,
        state_next: thread("next")?,
        state_frame: ABSENT,
        cframe_current: ABSENT,
        cframe_previous: ABSENT,
        previous: ABSENT,
        code: ABSENT,
        instruction: ABSENT,
        owner: ABSENT,
        shim_owner: ABSENT,
        is_entry: ABSENT,
        tlbc_index: ABSENT,
        locals: ABSENT,
        instruction_unit: 1,
        reserved: 0,
        code_mask: rules.executable_mask,
    };
    let structure = match rules.start {
        FrameStart::FrameObject => "PyFrameObject",
        FrameStart::CFrame | FrameStart::Direct => "_PyInterpreterFrame",
    };
    let frame = |member| layout.within(structure, member, FRAME_BYTES);
    match rules.start {
        FrameStart::FrameObject => {
            walk.style = WALK_FRAME_OBJECTS;
            walk.state_frame = thread("frame")?;
            walk.previous = frame("f_back")?;
            walk.code = frame("f_code")?;
            walk.instruction = frame("f_lasti")?;
            walk.locals = walk.instruction + LASTI_TO_LOCALS;
        }
        FrameStart::CFrame => {
            walk.style = WALK_CFRAME;
            walk.state_frame = thread("cframe")?;
            walk.cframe_current = layout.need("_PyCFrame", "current_frame")?;
            walk.cframe_previous = layout.need("_PyCFrame", "previous")?;
            walk.previous = frame("previous")?;
            walk.code = frame("f_code").or_else(|_| frame("f_executable"))?;
            walk.instruction = frame("prev_instr")?;
        }
        FrameStart::Direct => {
            walk.style = WALK_CURRENT_FRAME;
            walk.state_frame = thread("current_frame")?;
            walk.previous = frame("previous")?;
            walk.code = frame("f_executable")?;
            walk.instruction = frame("instr_ptr")?;
        }
    }
    match rules.instruction {
        LastInstruction::Index { scale } => walk.instruction_unit = u32::from(scale),
        LastInstruction::Pointer { per_thread: true } => walk.tlbc_index = frame("tlbc_index")?,
        LastInstruction::Pointer { per_thread: false } => {}
    }
    match rules.entry {
        EntryMark::Every => {}
        EntryMark::Flag => walk.is_entry = frame("is_entry")?,
        EntryMark::ShimOwner(owner) => {
            walk.owner = frame("owner")?;
            walk.shim_owner = u32::from(owner);
        }
    }
    // Frames lie at the end of memory that was asked for as a whole, so no
    // byte beyond the last member that is needed is read.
    let present = |offset: u32| (offset != ABSENT).then_some(offset);
    let last = [walk.previous, walk.code, walk.instruction]
        .into_iter()
        .chain([walk.owner, walk.is_entry, walk.tlbc_index].into_iter().filter_map(present))
        .max()
        .unwrap_or(0);
    walk.frame_size = last + 8;
    if let Some(size) = layout.known(structure, "sizeof") {
        walk.frame_size = walk.frame_size.min(size);
    }
    Ok(walk)
}

fn objects(facts: &Facts<'_>, layout: &Layout<'_>, rules: &WalkRules) -> Result<Objects, Refusal> {
    let code = |member| layout.within("PyCodeObject", member, CODE_BYTES);
    let old = rules.start == FrameStart::FrameObject;
    let symbol = |name: &str| (facts.symbol)(name).unwrap_or(0);
    let mut objects = Objects {
        string_style: STRING_BYTES,
        code_size: 0,
        object_type: layout.need("PyObject", "ob_type")?,
        type_name: layout.need("PyTypeObject", "tp_name")?,
        type_flags: layout.need("PyTypeObject", "tp_flags")?,
        code_file: code("co_filename")?,
        code_name: if old { code("co_name")? } else { code("co_qualname")? },
        code_first_line: code("co_firstlineno")?,
        code_lines: code("co_linetable").or_else(|_| code("co_lnotab"))?,
        code_argument_count: if old { code("co_argcount")? } else { ABSENT },
        code_variables: if old { code("co_varnames")? } else { ABSENT },
        code_bytecode: ABSENT,
        code_tlbc: ABSENT,
        tuple_items: layout.need("PyTupleObject", "ob_item")?,
        string_length: ABSENT,
        string_state: ABSENT,
        string_kind_shift: 0,
        string_compact_bit: 0,
        string_ascii_bit: 0,
        string_ascii_data: ABSENT,
        string_compact_data: ABSENT,
        bytes_size: layout.need("PyVarObject", "ob_size")?,
        bytes_data: layout.need("PyBytesObject", "ob_sval")?,
        reserved: 0,
        code_type: symbol("PyCode_Type"),
        string_type: symbol("PyUnicode_Type"),
        bytes_type: symbol("PyBytes_Type"),
        tuple_type: symbol("PyTuple_Type"),
    };
    if let LastInstruction::Pointer { per_thread } = rules.instruction {
        objects.code_bytecode = layout.need("PyCodeObject", "co_code_adaptive")?;
        if per_thread {
            objects.code_tlbc = layout.need("PyCodeObject", "co_tlbc")?;
        }
    }
    match rules.strings {
        Strings::Bytes => {
            objects.string_type = symbol("PyString_Type");
            objects.bytes_type = objects.string_type;
        }
        Strings::Unicode { kind_bit, compact_bit, ascii_bit } => {
            objects.string_style = STRING_FLEXIBLE;
            objects.string_length = layout.need("PyASCIIObject", "length")?;
            objects.string_state = layout.need("PyASCIIObject", "state")?;
            objects.string_kind_shift = u32::from(kind_bit);
            objects.string_compact_bit = u32::from(compact_bit);
            objects.string_ascii_bit = u32::from(ascii_bit);
            objects.string_ascii_data = layout.need("PyASCIIObject", "sizeof")?;
            objects.string_compact_data = layout.need("PyCompactUnicodeObject", "sizeof")?;
        }
    }
    objects.code_size = 8 + [
        objects.object_type,
        objects.code_file,
        objects.code_name,
        objects.code_first_line,
        objects.code_lines,
    ]
    .into_iter()
    .chain(
        [objects.code_argument_count, objects.code_variables]
            .into_iter()
            .filter(|&offset| offset != ABSENT),
    )
    .max()
    .unwrap_or(0);
    Ok(objects)
}

/// The best route to the owned state and the best to the attached (or current)
/// one. True if a better one may show later.
fn routes(facts: &Facts<'_>, layout: &Layout<'_>, target: &mut Target) -> Result<bool, Refusal> {
    let mut refused: Option<Refusal> = None;
    for route in &facts.report.routes {
        let (reaches, found) = match route {
            report::Route::PthreadKey { reaches, key_address, runtime_offset, .. } => {
                (*reaches, key(facts, target, *key_address, runtime_offset.is_some()).map(Some))
            }
            report::Route::ThreadLocal {
                reaches,
                model,
                module_offset,
                got_slot,
                slot_offset,
                tp_offset,
                ..
            } => {
                // From what the slot leads to on to the variable.
                let beyond = module_offset
                    .zip(*slot_offset)
                    .map(|(variable, slot)| variable.wrapping_sub(slot));
                let beyond = beyond.unwrap_or(0);
                let place = (*module_offset, *got_slot, beyond, *tp_offset);
                (*reaches, thread_local(facts, target, *model, place))
            }
            report::Route::Global { reaches, address, .. } => {
                let place = address.0.wrapping_add(facts.bias);
                (*reaches, Ok(Some(Route { kind: ROUTE_GLOBAL, reserved: 0, place, extra: 0 })))
            }
        };
        let slot = match reaches {
            Reaches::Owned => &mut target.owned,
            Reaches::Attached | Reaches::Holder => &mut target.attached,
        };
        match found {
            Ok(Some(route)) if slot.kind == ROUTE_NONE => *slot = route,
            Ok(_) => {}
            // What may pass outweighs what will not.
            Err(refusal) if refused.as_ref().is_none_or(|known| !known.may_pass()) => {
                refused = Some(refusal);
            }
            Err(_) => {}
        }
    }
    let mut provisional = refused.as_ref().is_some_and(Refusal::may_pass);
    if target.owned.kind == ROUTE_NONE && target.attached.kind == ROUTE_GLOBAL {
        target.owned = list(facts, layout, target.attached.place);
        provisional |= target.owned.kind == ROUTE_NONE;
    }
    if target.owned.kind != ROUTE_NONE || target.attached.kind != ROUTE_NONE {
        return Ok(provisional);
    }
    Err(refused.unwrap_or_else(|| {
        let why = facts.report.diagnoses.first();
        Refusal::NoRoute(why.map_or_else(
            || "the analysis of the file found none".to_owned(),
            |diagnosis| format!("{}: {}", diagnosis.code, diagnosis.title),
        ))
    }))
}

fn key(
    facts: &Facts<'_>,
    target: &Target,
    key: VirtAddr,
    in_runtime: bool,
) -> Result<Route, Refusal> {
    if target.thread_data.shape == SHAPE_NONE {
        return Err(Refusal::NoLibc);
    }
    let place = key.0.wrapping_add(facts.bias);
    // From 3.7 on the key is the second member of `Py_tss_t`, after
    // `int _is_initialized` (Include/pythread.h).
    let extra = if in_runtime { place.wrapping_sub(4) } else { 0 };
    Ok(Route { kind: ROUTE_KEY, reserved: 0, place, extra })
}

fn thread_local(
    facts: &Facts<'_>,
    target: &Target,
    model: TlsModel,
    (module_offset, got_slot, beyond, tp_offset): (Option<u64>, Option<VirtAddr>, u64, Option<i64>),
) -> Result<Option<Route>, Refusal> {
    let from_thread_pointer = |offset: i64| {
        Some(Route { kind: ROUTE_THREAD_POINTER, reserved: 0, place: offset as u64, extra: 0 })
    };
    let in_module = |module: u64, offset: u64| {
        if target.dtv.entry_size == 0 {
            return Err(Refusal::NoLibc);
        }
        Ok(Some(Route { kind: ROUTE_DTV, reserved: 0, place: module, extra: offset }))
    };
    let word = |distance: u64| {
        let slot = got_slot.ok_or(Refusal::NoRoute("no GOT slot".to_owned()))?;
        let address = slot.0.wrapping_add(facts.bias).wrapping_add(distance);
        facts.memory.word(address).map_err(|_| Refusal::NotReady("its GOT"))
    };
    match model {
        TlsModel::LocalExec => Ok(tp_offset.and_then(from_thread_pointer)),
        TlsModel::InitialExec => match word(0)? {
            0 => Err(Refusal::NotReady("its GOT")),
            offset => Ok(from_thread_pointer(offset.wrapping_add(beyond) as i64)),
        },
        TlsModel::GeneralDynamic | TlsModel::LocalDynamic => match word(0)? {
            0 => Err(Refusal::NotReady("its TLS module")),
            module => {
                let offset = match module_offset {
                    Some(offset) => offset,
                    None => word(8)?,
                };
                in_module(module, offset)
            }
        },
        TlsModel::Descriptor => {
            let (resolver, argument) = (word(0)?, word(8)?);
            if resolver == 0 {
                return Err(Refusal::NotReady("its TLS descriptor"));
            }
            // The argument of the static resolver is a thread-pointer offset, that of the
            // dynamic one the address of `{ module, offset }` (glibc, sysdeps/*/dl-tlsdesc.h).
            let dynamic = facts
                .memory
                .word(argument)
                .and_then(|module| Ok((module, facts.memory.word(argument.wrapping_add(8))?)));
            match dynamic {
                Ok((module, offset)) if module < 1 << 16 => {
                    in_module(module, offset.wrapping_add(beyond))
                }
                // Until the first use it may be the address of a relocation.
                _ if (argument as i64).unsigned_abs() >= FAR_FROM_THREAD_POINTER => {
                    Err(Refusal::NotReady("its TLS descriptor"))
                }
                _ => Ok(from_thread_pointer(argument.wrapping_add(beyond) as i64)),
            }
        }
    }
}

/// Static TLS lies closer to the thread pointer than this.
const FAR_FROM_THREAD_POINTER: u64 = 1 << 30;

/// 2.7 keeps the owned state in a list of its own, guarded by a lock; its
/// interpreter's list of thread states names the same ones by thread id. The
/// interpreter is found through whichever thread state is current.
fn list(facts: &Facts<'_>, layout: &Layout<'_>, current: u64) -> Route {
    let offsets = (
        layout.known("PyThreadState", "interp"),
        layout.known("PyInterpreterState", "tstate_head"),
    );
    let (Some(interp), Some(head)) = offsets else { return Route::NONE };
    // Nobody is current while all threads wait or run native code: a few tries
    // mostly suffice, and the agent looks again later.
    for _ in 0..20 {
        if let Ok(state) = facts.memory.word(current)
            && state != 0
            && let Ok(interpreter) = facts.memory.word(state.wrapping_add(u64::from(interp)))
            && interpreter != 0
        {
            let place = interpreter.wrapping_add(u64::from(head));
            return Route { kind: ROUTE_LIST, reserved: 0, place, extra: 0 };
        }
        std::thread::yield_now();
    }
    Route::NONE
}
