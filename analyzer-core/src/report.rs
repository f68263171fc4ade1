//! The report: the one answer everybody reads.
//!
//! Plain data, serializable, with a schema name in it. Within one schema
//! version members may be added, none is renamed or removed.

use alloc::{string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use crate::addr::VirtAddr;

/// Name and version of the report's schema, found in [`Report::schema`].
pub const SCHEMA: &str = "keyhole.report/1";

/// What the analysis of one file found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Always [`SCHEMA`] when written by this version.
    pub schema: String,
    /// Which file.
    pub file: FileFacts,
    /// The overall outcome.
    pub status: Status,
    /// ELF facts; absent when the file is no readable ELF image.
    pub image: Option<ImageFacts>,
    /// Which Python; absent when nothing in the file says it is one.
    pub python: Option<PythonFacts>,
    /// Where `_PyRuntime` lies (3.7 and later).
    pub runtime: Option<RuntimeFacts>,
    /// Ways from a thread to its `PyThreadState`, preferred first.
    pub routes: Vec<Route>,
    /// Why the first route is preferred and how the routes relate, in a sentence or two.
    pub preference: Option<String>,
    /// Where the GIL's holder and lock are.
    pub gil: Option<GilFacts>,
    /// Offsets a frame walker needs.
    pub layout: Option<LayoutFacts>,
    /// Code ranges of the bytecode evaluation loop.
    pub eval_loop: Vec<CodeRange>,
    /// How thread-specific data and TLS blocks are found, when the file is a C library.
    pub libc: Option<LibcFacts>,
    /// What each strategy found, or why it found nothing.
    pub strategies: Vec<StrategyResult>,
    /// What simpler decoders would return on this file.
    pub baselines: Vec<BaselineResult>,
    /// Findings in plain words.
    pub diagnoses: Vec<Diagnosis>,
}

/// Which file was analyzed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileFacts {
    /// The path as the caller gave it; empty when it gave none.
    pub path: String,
    /// Size in bytes.
    pub size: u64,
    /// GNU build id, lower-case hexadecimal.
    pub build_id: Option<String>,
    /// Whether the file says it is a reproducer cut from a larger one.
    pub reproducer: bool,
}

/// The overall outcome of an analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// At least one route, and nothing contradicts it.
    Resolved,
    /// Strategies disagree.
    Conflict,
    /// A Python runtime image without a route.
    Unresolved,
    /// An executable that only links to libpython.
    Launcher,
    /// An ELF image that holds no Python runtime.
    NotPython,
    /// An ELF file or a Python this analyzer does not handle.
    Unsupported,
    /// Not an ELF file.
    NotElf,
    /// An ELF file that is cut off or contradicts itself.
    Damaged,
}

/// Instruction set of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arch {
    /// `EM_X86_64`, 64-bit.
    #[serde(rename = "x86_64")]
    X86_64,
    /// `EM_AARCH64`, little-endian.
    Aarch64,
}

/// What kind of ELF file an image is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImageKind {
    /// A shared library (`ET_DYN`, no interpreter, not flagged as PIE).
    Shared,
    /// A position-independent executable.
    Pie,
    /// An executable at fixed addresses (`ET_EXEC`).
    Executable,
    /// A relocatable object (`ET_REL`).
    Relocatable,
    /// A core dump (`ET_CORE`).
    Core,
    /// Another `e_type`.
    Other,
}

/// C library an image was linked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Libc {
    /// GNU C library.
    Glibc,
    /// musl.
    Musl,
}

/// ELF facts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageFacts {
    /// Instruction set.
    pub arch: Arch,
    /// Kind of file.
    pub kind: ImageKind,
    /// No `.symtab`.
    pub stripped: bool,
    /// Section headers are there.
    pub section_headers: bool,
    /// `DT_SONAME`.
    pub soname: Option<String>,
    /// `DT_NEEDED`, in order.
    pub needed: Vec<String>,
    /// `PT_INTERP`.
    pub interpreter: Option<String>,
    /// File name in `.gnu_debuglink`.
    pub debug_link: Option<String>,
    /// C library; absent when nothing in the file tells.
    pub libc: Option<Libc>,
    /// The TLS segment.
    pub tls: Option<TlsSegment>,
}

/// `PT_TLS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsSegment {
    /// `p_vaddr`: link-time address of the initialization image.
    pub address: VirtAddr,
    /// `p_filesz`: bytes initialized from the file.
    pub file_size: u64,
    /// `p_memsz`: bytes of the block.
    pub memory_size: u64,
    /// `p_align`, at least 1.
    pub align: u64,
}

/// Which Python an image holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PythonFacts {
    /// As exact as the file tells: `"3.12.1"`, `"3.14.0rc2"`, or `"3.9"`.
    pub version: Option<String>,
    /// Build flavour.
    pub flavour: Flavour,
    /// What the flavour was read from, in words.
    pub flavour_evidence: Vec<String>,
    /// Where the version was read, best source first; all that the file has.
    pub version_sources: Vec<VersionSource>,
}

/// Build flavour: it decides object layouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flavour {
    /// Neither of the others.
    Release,
    /// `--with-pydebug` (`d`).
    Debug,
    /// `--disable-gil` (`t`).
    FreeThreaded,
    /// Both (`td`).
    FreeThreadedDebug,
}

/// One source of the version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionSource {
    /// Name of the source, for instance `Py_Version`.
    pub source: String,
    /// What it says.
    pub value: String,
}

/// Where `_PyRuntime` lies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuntimeFacts {
    /// Link-time address.
    pub address: VirtAddr,
    /// Size in bytes; absent when only code told the address.
    pub size: Option<u64>,
    /// How it was found.
    pub source: RuntimeSource,
}

/// How `_PyRuntime` was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuntimeSource {
    /// A symbol of that name.
    Symbol,
    /// The `.PyRuntime` section (3.10 and later).
    Section,
    /// The debug-offsets cookie (3.13 and later).
    Cookie,
    /// The code of an entry function.
    Code,
}

/// Which `PyThreadState` a route reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reaches {
    /// The state this thread owns (gilstate), kept while the GIL is released.
    Owned,
    /// The state attached to this thread now; null while the GIL is released.
    Attached,
    /// The state of whichever thread holds the GIL.
    Holder,
}

/// How strongly a route stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strength {
    /// Several independent strategies agree.
    Corroborated,
    /// One strategy found it.
    Single,
    /// Another strategy found something else.
    Contested,
}

/// One way from a thread to its `PyThreadState`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Route {
    /// A pthread key, read with `pthread_getspecific`.
    PthreadKey {
        /// Which state.
        reaches: Reaches,
        /// Link-time address of the `int` key itself (not of the struct around it).
        key_address: VirtAddr,
        /// The same as bytes from the start of `_PyRuntime`; absent before 3.7.
        runtime_offset: Option<u64>,
        /// Agreement.
        strength: Strength,
    },
    /// A thread-local variable that holds the pointer.
    ThreadLocal {
        /// Which state.
        reaches: Reaches,
        /// Access model of the code.
        model: TlsModel,
        /// Offset in bytes in the module's TLS block; absent for a
        /// thread-pointer offset that no `PT_TLS` explains.
        module_offset: Option<u64>,
        /// Link-time address of the GOT word (initial-exec) or word pair
        /// (general- and local-dynamic, descriptors); absent for local-exec.
        got_slot: Option<VirtAddr>,
        /// Offset in bytes in the module's TLS block of what the GOT slot leads
        /// to (initial-exec, descriptors: the relocation's addend). Where it is
        /// another variable's, the code adds `module_offset - slot_offset`, and
        /// so must whoever follows the route. Absent for the other models.
        slot_offset: Option<u64>,
        /// Bytes from the thread pointer, where the file fixes them (local-exec).
        tp_offset: Option<i64>,
        /// Agreement.
        strength: Strength,
    },
    /// A process-wide pointer.
    Global {
        /// Which state.
        reaches: Reaches,
        /// Link-time address of the pointer.
        address: VirtAddr,
        /// The same as bytes from the start of `_PyRuntime`; absent before 3.7.
        runtime_offset: Option<u64>,
        /// Agreement.
        strength: Strength,
    },
}

/// How code reaches a thread-local variable (ELF TLS access models).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TlsModel {
    /// Thread-pointer offset in the code.
    LocalExec,
    /// Thread-pointer offset in a GOT word.
    InitialExec,
    /// `__tls_get_addr` with the variable's module and offset.
    GeneralDynamic,
    /// `__tls_get_addr` with the module; offset in the code.
    LocalDynamic,
    /// TLS descriptor.
    Descriptor,
}

/// Where the GIL's state is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kept_in", rename_all = "snake_case")]
pub enum GilFacts {
    /// Static variables (to 3.6).
    Statics {
        /// Link-time address of `gil_locked`, where a symbol table tells.
        locked: Option<VirtAddr>,
        /// Link-time address of `gil_last_holder`, where a symbol table tells.
        last_holder: Option<VirtAddr>,
    },
    /// Inside `_PyRuntime` (3.7 to 3.11).
    Runtime {
        /// Link-time address of `ceval.gil.locked`.
        locked: VirtAddr,
        /// Link-time address of `ceval.gil.last_holder`.
        last_holder: VirtAddr,
    },
    /// In each interpreter (3.12 and later): read the pointer, then the members.
    Interpreter {
        /// Offset of the pointer `ceval.gil` in `PyInterpreterState`.
        gil_pointer: u64,
        /// Offset of `locked` in `struct _gil_runtime_state`.
        locked: u64,
        /// Offset of `last_holder` in `struct _gil_runtime_state`.
        last_holder: u64,
        /// A free-threaded build: the GIL exists and is off unless asked for.
        optional: bool,
    },
}

/// The offsets a frame walker needs, and where they are from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutFacts {
    /// Where the offsets are from.
    pub source: LayoutSource,
    /// The offsets; empty when the source is [`LayoutSource::Unknown`].
    pub members: Vec<LayoutMember>,
    /// Why the layout is not known, or what was not checked.
    pub note: Option<String>,
}

/// Where offsets are from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LayoutSource {
    /// `_Py_DebugOffsets` in the file, the rest from the table.
    DebugOffsets,
    /// The table of verified versions.
    Table,
    /// Neither knows this build.
    Unknown,
}

/// One offset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutMember {
    /// CPython's structure, for instance `PyThreadState`.
    pub structure: String,
    /// Its member.
    pub member: String,
    /// Offset in bytes.
    pub offset: u64,
}

/// A range of code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeRange {
    /// Link-time address of its first byte.
    pub start: VirtAddr,
    /// Link-time address after its last byte.
    pub end: VirtAddr,
    /// What it is: `hot` or `cold`.
    pub part: String,
    /// How its bounds were found.
    pub source: String,
}

/// How a C library keeps thread-specific data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LibcFacts {
    /// Which library.
    pub libc: Libc,
    /// Its version, where the file tells.
    pub version: Option<String>,
    /// How `pthread_getspecific` finds a slot.
    pub thread_data: Option<ThreadData>,
    /// What that was read from: `descriptors`, `code`, or both, which then agree.
    pub sources: Vec<String>,
    /// How `__tls_get_addr` finds a module's block.
    pub dtv: Option<Dtv>,
    /// Offset of `l_tls_offset` in `struct link_map`.
    pub link_map_tls_offset: Option<u64>,
    /// Offset of `l_tls_modid` in `struct link_map`.
    pub link_map_tls_modid: Option<u64>,
}

/// How `pthread_getspecific` finds the word of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "shape", rename_all = "snake_case")]
pub enum ThreadData {
    /// glibc: a first block inside `struct pthread`, further blocks behind pointers.
    TwoLevel {
        /// Thread-pointer offset of the first block.
        first_block: i64,
        /// Thread-pointer offset of the array of block pointers.
        blocks: i64,
        /// Keys in one block.
        block_keys: u64,
        /// Bytes of one slot.
        slot_size: u64,
        /// Offset of the value in a slot.
        value_offset: u64,
    },
    /// musl: one array behind one pointer.
    Array {
        /// Thread-pointer offset of the pointer.
        pointer: i64,
    },
}

/// How `__tls_get_addr` finds a module's block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dtv {
    /// Thread-pointer offset of the pointer to the DTV.
    pub pointer: i64,
    /// Bytes of one entry; the entry of module *n* is at *n* times this.
    pub entry_size: u64,
}

/// What one strategy did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StrategyResult {
    /// Stable name, for instance `dataflow:PyGILState_GetThisThreadState`.
    pub name: String,
    /// Found a route, or not.
    pub outcome: Outcome,
    /// Index in [`Report::routes`].
    pub route: Option<u64>,
    /// Stable code of the reason when nothing was found.
    pub reason: Option<String>,
    /// The reason, or what the answer rests on, in plain words.
    pub detail: Option<String>,
    /// The instructions looked at, in the order they were followed.
    pub trace: Vec<Step>,
}

/// How a strategy ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It found a route.
    Route,
    /// It applies to this file and found nothing.
    None,
    /// It does not apply to this file.
    NotApplicable,
}

/// One instruction of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Link-time address.
    pub address: VirtAddr,
    /// The instruction's bytes, lower-case hexadecimal.
    pub bytes: String,
    /// Disassembly, with names in place of addresses where they are known.
    pub text: String,
    /// How many calls were followed to get here; 0 in the entry function.
    pub depth: u64,
    /// Name of the function the step is in, where it is known.
    pub function: Option<String>,
    /// What changed.
    pub effects: Vec<Effect>,
    /// What the step is for the analysis, where it is something special.
    pub role: Option<StepRole>,
    /// The step is on the way of a value into the sink.
    pub on_path: bool,
    /// Positions in the trace of the steps whose results this one used.
    #[serde(default)]
    pub origins: Vec<u64>,
}

/// What a step is for the analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepRole {
    /// A conditional branch, followed both ways.
    Branch,
    /// A call that was followed.
    FollowedCall,
    /// A call that was stepped over.
    SkippedCall,
    /// The answer is consumed here.
    Sink,
    /// A return.
    Return,
}

/// One register or memory word that a step changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effect {
    /// `rax`, `x19`, `[sp-0x8]`.
    pub place: String,
    /// The abstract value it now holds, for instance `&_PyRuntime+0x608`; `?` when unknown.
    pub value: String,
}

/// What a simpler decoder would do with this file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaselineResult {
    /// Stable name, for instance `first-write`.
    pub name: String,
    /// How it would end.
    pub outcome: BaselineOutcome,
    /// Stable code of the reason when it fails or is wrong.
    pub reason: Option<String>,
    /// The reason in plain words.
    pub detail: Option<String>,
    /// Link-time address of the instruction at which it goes wrong.
    pub at: Option<VirtAddr>,
    /// The address it would answer, right or wrong.
    pub value: Option<VirtAddr>,
    /// The bytes from the thread pointer it would answer, right or wrong,
    /// where it looks for a thread-local variable.
    #[serde(default)]
    pub tp_offset: Option<i64>,
}

/// How a baseline ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BaselineOutcome {
    /// It answers what we answer.
    Right,
    /// It answers something else.
    Wrong,
    /// It answers nothing.
    Fails,
    /// It answers, and we have nothing to compare with.
    Unverified,
    /// It is not made for this kind of file.
    NotApplicable,
}

/// A finding in plain words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// Stable code.
    pub code: String,
    /// One line.
    pub title: String,
    /// What was found in this file.
    pub detail: String,
    /// What the user can do.
    pub remedy: String,
}
