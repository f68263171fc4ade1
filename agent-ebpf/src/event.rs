//! The events in the ring buffer `EVENTS`. Each starts with its kind (`u32`).

use crate::status::{
    GilState, PthreadIdMatch, RouteStatus, StackStatus, StateSource, ThreadStateMatch,
};

/// A [`Sample`], followed by its [`Entry`] records, innermost frame first.
pub const SAMPLE: u32 = 1;
/// A [`Code`], followed by the bytes of the name, of the file name and of the line table.
pub const CODE: u32 = 2;
/// A [`Class`], followed by the bytes of the name.
pub const CLASS: u32 = 3;
/// A [`Notice`] that a configured process forked.
pub const FORK: u32 = 4;
/// A [`Notice`] that a process replaced its program.
pub const EXEC: u32 = 5;
/// A [`Notice`] that a process's first thread ended.
pub const EXIT: u32 = 6;

/// One sample of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Sample {
    /// [`SAMPLE`].
    pub kind: u32,
    /// CPU the thread ran on.
    pub cpu: u32,
    /// Nanoseconds of the kernel's monotonic clock.
    pub time: u64,
    /// [`Target::incarnation`](crate::target::Target::incarnation).
    pub incarnation: u64,
    /// The `PyThreadState` that was walked; zero when there is none.
    pub state: u64,
    /// Its `PyInterpreterState`; zero when there is none.
    pub interpreter: u64,
    /// Process id in the agent's PID namespace.
    pub pid: u32,
    /// Thread id in the agent's PID namespace.
    pub tid: u32,
    /// The thread's name, padded with zeros.
    pub comm: [u8; 16],
    /// Owned against current state.
    pub thread_state_match: ThreadStateMatch,
    /// Who holds the GIL.
    pub gil_state: GilState,
    /// Whose thread state it is.
    pub pthread_id_match: PthreadIdMatch,
    /// How the walk ended.
    pub stack_status: StackStatus,
    /// Which state was walked.
    pub source: StateSource,
    /// What came of the route to the owned state.
    pub owned_status: RouteStatus,
    /// What came of the route to the attached state.
    pub attached_status: RouteStatus,
    /// Unused.
    pub reserved: u8,
    /// Entries that follow.
    pub entries: u32,
    /// Python frames among them.
    pub frames: u32,
}

/// One entry of a stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct Entry {
    /// Address of the code object (or type), with the entry's kind in the top
    /// byte and [`ENTERED_FROM_NATIVE`] above it.
    pub object: u64,
    /// Its fingerprint; see [`fingerprint`](crate::fingerprint).
    pub print: u32,
    /// Bytes from the start of the bytecode to the instruction; [`NO_INSTRUCTION`] when unknown.
    pub instruction: i32,
}

/// The instruction is not known.
pub const NO_INSTRUCTION: i32 = i32::MIN;

/// How far the kind is shifted in [`Entry::object`].
pub const ENTRY_KIND_SHIFT: u32 = 56;
/// A Python frame.
pub const ENTRY_FRAME: u64 = 0;
/// The class of `self` or `cls` of the frame before it.
pub const ENTRY_CLASS: u64 = 1;
/// A Python frame whose code object could not be read.
pub const ENTRY_UNREADABLE: u64 = 2;
/// Set in [`Entry::object`] of a frame that was entered from native code.
pub const ENTERED_FROM_NATIVE: u64 = 1 << 63;

impl Entry {
    /// The kind.
    #[inline(always)]
    #[must_use]
    pub const fn kind(self) -> u64 {
        (self.object & !ENTERED_FROM_NATIVE) >> ENTRY_KIND_SHIFT
    }

    /// Whether the frame was entered from native code.
    #[inline(always)]
    #[must_use]
    pub const fn entered_from_native(self) -> bool {
        self.object & ENTERED_FROM_NATIVE != 0
    }

    /// The address.
    #[inline(always)]
    #[must_use]
    pub const fn address(self) -> u64 {
        self.object & ((1 << ENTRY_KIND_SHIFT) - 1)
    }
}

/// What was copied of a code object when a CPU first saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Code {
    /// [`CODE`].
    pub kind: u32,
    /// Process id in the agent's PID namespace.
    pub pid: u32,
    /// [`Target::incarnation`](crate::target::Target::incarnation).
    pub incarnation: u64,
    /// Address of the `PyCodeObject`.
    pub address: u64,
    /// Its fingerprint.
    pub print: u32,
    /// `co_firstlineno`.
    pub first_line: u32,
    /// The (qualified) name.
    pub name: Text,
    /// The file name.
    pub file: Text,
    /// The line table.
    pub lines: Text,
    /// Unused.
    pub reserved: u32,
}

/// A string or byte string that was copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Text {
    /// Bytes that follow.
    pub copied: u32,
    /// Bytes the object has.
    pub size: u32,
    /// Bytes of one character: 1 (Latin-1), 2 or 4; or one of the `TEXT_…` values.
    pub width: u32,
}

/// The object could not be read.
pub const TEXT_FAULT: u32 = 0;
/// Plain bytes, UTF-8 if text (2.7's `str`, a C string).
pub const TEXT_BYTES: u32 = 8;
/// The object is not of the expected type.
pub const TEXT_OTHER_TYPE: u32 = 9;

/// What was copied of a type when a CPU first saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Class {
    /// [`CLASS`].
    pub kind: u32,
    /// Process id in the agent's PID namespace.
    pub pid: u32,
    /// [`Target::incarnation`](crate::target::Target::incarnation).
    pub incarnation: u64,
    /// Address of the `PyTypeObject`.
    pub address: u64,
    /// Its fingerprint.
    pub print: u32,
    /// The name.
    pub name: Text,
}

/// Something happened to a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Notice {
    /// [`FORK`], [`EXEC`] or [`EXIT`].
    pub kind: u32,
    /// The process (fork: the child), in the agent's PID namespace.
    pub pid: u32,
    /// Nanoseconds of the kernel's monotonic clock.
    pub time: u64,
    /// Its configuration; zero when it has none.
    pub incarnation: u64,
    /// Fork: the parent's process id.
    pub parent: u32,
    /// Unused.
    pub reserved: u32,
    /// Fork: the parent's configuration.
    pub parent_incarnation: u64,
}

const _: () = {
    assert!(size_of::<Sample>() == 80);
    assert!(size_of::<Entry>() == 16);
    assert!(size_of::<Text>() == 12);
    assert!(size_of::<Code>() == 72);
    assert!(size_of::<Class>() == 40);
    assert!(size_of::<Notice>() == 40);
};
