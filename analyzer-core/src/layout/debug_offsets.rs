//! `_Py_DebugOffsets`: what a build says about its own layouts (3.13 and later).
//!
//! The record lies at the start of `_PyRuntime`, fully initialized in the
//! file: eight bytes of cookie, then 64-bit little-endian words. The same
//! bytes can be read from a process. The positions of the words are those of
//! CPython's `Include/internal/pycore_runtime.h` (3.13) and
//! `Include/internal/pycore_debug_offsets.h` (3.14, 3.15); they are the same
//! in every flavour and on both machines.

use alloc::vec::Vec;
use core::fmt;

use super::Layout;
use crate::{
    report::Flavour,
    version::{PyVersion, ReleaseLevel},
};

/// The eight bytes the record begins with (no NUL follows).
pub const COOKIE: [u8; 8] = *b"xdebugpy";

/// Bytes of the longest record that is understood (3.15), enough for
/// [`DebugOffsets::read`].
pub const MAX_LEN: usize = 888;

/// A record that was read and found plausible.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DebugOffsets {
    /// The version in the record.
    pub version: PyVersion,
    /// Built with `--disable-gil`.
    pub free_threaded: bool,
    /// `sizeof(_PyRuntimeState)` in bytes.
    pub runtime_size: u64,
    /// For each of [`WORDS`] its value, where this series has it.
    values: Vec<Option<u64>>,
}

/// What a word counts and which values make sense.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Size of a structure, and the greatest that is believed.
    Size(u64),
    /// Offset of a pointer or 64-bit number.
    Word,
    /// The same, and may be 0.
    FirstWord,
    /// Offset of a 32-bit number.
    Half,
    /// Offset of a byte.
    Byte,
    /// Offset of a 32-bit number or pointer that only free-threaded builds
    /// have; 0 elsewhere.
    FreeThreaded,
    /// Offset of a member at the end of the structure, up to its size.
    Tail,
}

/// One word of the record: positions in 3.13, 3.14 and 3.15 (0: not there),
/// the name in the table, and its kind. Words after a [`Kind::Size`] are
/// offsets into the structure of that size.
struct Word([u16; 3], &'static str, &'static str, Kind);

const MEBI: u64 = 1 << 20;

#[rustfmt::skip]
const WORDS: [Word; 54] = {
    use Kind::{Byte, FirstWord, FreeThreaded, Half, Size, Tail, Word as Pointer};
    [
        Word([24, 24, 24], "_PyRuntimeState", "sizeof", Size(64 * MEBI)),
        Word([40, 40, 40], "_PyRuntimeState", "interpreters.head", Pointer),
        Word([48, 48, 48], "PyInterpreterState", "sizeof", Size(16 * MEBI)),
        Word([56, 56, 56], "PyInterpreterState", "id", Pointer),
        Word([64, 64, 64], "PyInterpreterState", "next", Pointer),
        Word([72, 72, 72], "PyInterpreterState", "threads.head", Pointer),
        Word([112, 120, 120], "PyInterpreterState", "ceval.gil", Pointer),
        Word([120, 128, 128], "PyInterpreterState", "_gil", Pointer),
        Word([144, 152, 152], "PyInterpreterState", "_gil.last_holder", Pointer),
        Word([136, 144, 144], "PyInterpreterState", "_gil.locked", Half),
        Word([152, 176, 176], "PyThreadState", "sizeof", Size(MEBI)),
        Word([160, 184, 184], "PyThreadState", "prev", FirstWord),
        Word([168, 192, 192], "PyThreadState", "next", Pointer),
        Word([176, 200, 200], "PyThreadState", "interp", Pointer),
        Word([184, 208, 208], "PyThreadState", "current_frame", Pointer),
        Word([0, 0, 216], "PyThreadState", "base_frame", Pointer),
        Word([192, 216, 240], "PyThreadState", "thread_id", Pointer),
        Word([200, 224, 248], "PyThreadState", "native_thread_id", Pointer),
        Word([216, 240, 264], "PyThreadState", "_status", Half),
        Word([0, 0, 272], "PyThreadState", "holds_gil", Half),
        Word([224, 248, 312], "_PyInterpreterFrame", "sizeof", Size(4096)),
        Word([232, 256, 320], "_PyInterpreterFrame", "previous", Pointer),
        Word([240, 264, 328], "_PyInterpreterFrame", "f_executable", FirstWord),
        Word([248, 272, 336], "_PyInterpreterFrame", "instr_ptr", Pointer),
        Word([264, 288, 352], "_PyInterpreterFrame", "owner", Byte),
        Word([0, 304, 368], "_PyInterpreterFrame", "tlbc_index", FreeThreaded),
        Word([272, 312, 376], "PyCodeObject", "sizeof", Size(4096)),
        Word([280, 320, 384], "PyCodeObject", "co_filename", Pointer),
        Word([288, 328, 392], "PyCodeObject", "co_name", Pointer),
        Word([296, 336, 400], "PyCodeObject", "co_qualname", Pointer),
        Word([304, 344, 408], "PyCodeObject", "co_linetable", Pointer),
        Word([312, 352, 416], "PyCodeObject", "co_firstlineno", Half),
        Word([320, 360, 424], "PyCodeObject", "co_argcount", Half),
        Word([328, 368, 432], "PyCodeObject", "co_localsplusnames", Pointer),
        Word([344, 384, 448], "PyCodeObject", "co_code_adaptive", Tail),
        Word([0, 392, 456], "PyCodeObject", "co_tlbc", FreeThreaded),
        Word([352, 400, 464], "PyObject", "sizeof", Size(64)),
        Word([360, 408, 472], "PyObject", "ob_type", Pointer),
        Word([368, 416, 480], "PyTypeObject", "sizeof", Size(4096)),
        Word([376, 424, 488], "PyTypeObject", "tp_name", Pointer),
        Word([392, 440, 504], "PyTypeObject", "tp_flags", Pointer),
        Word([400, 448, 544], "PyTupleObject", "sizeof", Size(4096)),
        Word([408, 456, 552], "PyTupleObject", "ob_item", Tail),
        Word([416, 464, 560], "PyVarObject", "ob_size", Pointer),
        Word([512, 592, 688], "PyBytesObject", "sizeof", Size(4096)),
        Word([528, 608, 704], "PyBytesObject", "ob_sval", Tail),
        Word([520, 600, 696], "PyBytesObject", "ob_size", Pointer),
        Word([536, 616, 712], "PyUnicodeObject", "sizeof", Size(4096)),
        Word([552, 632, 728], "PyASCIIObject", "length", Pointer),
        Word([544, 624, 720], "PyASCIIObject", "state", Half),
        Word([560, 640, 736], "PyASCIIObject", "sizeof", Tail),
        Word([0, 0, 744], "PyCompactUnicodeObject", "sizeof", Tail),
        Word([568, 648, 752], "_gc_runtime_state", "sizeof", Size(MEBI)),
        Word([576, 656, 760], "_gc_runtime_state", "collecting", Half),
    ]
};

impl DebugOffsets {
    /// Reads the record from the bytes at the start of `_PyRuntime`, from a
    /// file or from a process; more than [`MAX_LEN`] are not looked at.
    ///
    /// # Errors
    ///
    /// The first thing that is not as it must be. The whole record is then
    /// refused: one impossible value means that it is damaged or laid out
    /// differently.
    pub fn read(bytes: &[u8]) -> Result<Self, NoDebugOffsets> {
        let word = |at: u16| -> Option<u64> {
            let at = usize::from(at);
            let word = bytes.get(at..at.checked_add(8)?)?.first_chunk()?;
            Some(u64::from_le_bytes(*word))
        };
        if !bytes.starts_with(&COOKIE) {
            return Err(NoDebugOffsets::NoCookie);
        }
        let raw = word(8).ok_or(NoDebugOffsets::Truncated)?;
        let version = u32::try_from(raw)
            .ok()
            .and_then(PyVersion::from_hex)
            .ok_or(NoDebugOffsets::BadVersion { raw })?;
        let series = match version.minor_pair() {
            (3, 13) => 0,
            (3, 14) => 1,
            (3, 15) => 2,
            _ => return Err(NoDebugOffsets::OtherSeries { version }),
        };
        // The record itself changed up to the betas.
        if version.patch.is_none_or(|patch| patch.level < ReleaseLevel::Candidate) {
            return Err(NoDebugOffsets::Prerelease { version });
        }
        let free_threaded = match word(16).ok_or(NoDebugOffsets::Truncated)? {
            0 => false,
            1 => true,
            value => return Err(implausible("_PyRuntimeState", "free_threaded", value)),
        };
        let mut values = Vec::with_capacity(WORDS.len());
        let mut size = 0;
        for Word(positions, structure, member, kind) in &WORDS {
            let at = positions.get(series).copied().unwrap_or_default();
            if at == 0 {
                values.push(None);
                continue;
            }
            let value = word(at).ok_or(NoDebugOffsets::Truncated)?;
            if let Kind::Size(_) = kind {
                size = value;
            }
            if !kind.allows(value, size, free_threaded) {
                return Err(implausible(structure, member, value));
            }
            let absent = *kind == Kind::FreeThreaded && value == 0;
            values.push((!absent).then_some(value));
        }
        let mut record = Self { version, free_threaded, runtime_size: 0, values };
        record.runtime_size = record.word("_PyRuntimeState", "sizeof").unwrap_or_default();
        record.check_objects()?;
        Ok(record)
    }

    /// The record, if it is about the build that the rest of the file is.
    ///
    /// # Errors
    ///
    /// On what they differ.
    pub fn of_build(self, version: PyVersion, flavour: Flavour) -> Result<Self, NoDebugOffsets> {
        if !self.version.agrees_with(version) {
            return Err(NoDebugOffsets::OtherVersion { version: self.version });
        }
        let free_threaded = matches!(flavour, Flavour::FreeThreaded | Flavour::FreeThreadedDebug);
        if self.free_threaded != free_threaded {
            return Err(NoDebugOffsets::OtherFlavour { free_threaded: self.free_threaded });
        }
        Ok(self)
    }

    /// What the words say together: an object ends with its type pointer,
    /// variable-size objects put their size after it. A record whose words
    /// are shifted against what is expected fails here.
    fn check_objects(&self) -> Result<(), NoDebugOffsets> {
        let object = self.word("PyObject", "sizeof").unwrap_or_default();
        let expected = if self.free_threaded { 32 } else { 16 };
        for (structure, member, value) in [
            ("PyObject", "sizeof", expected),
            ("PyObject", "ob_type", object.wrapping_sub(8)),
            ("PyVarObject", "ob_size", object),
            ("PyBytesObject", "ob_size", object),
            ("PyBytesObject", "ob_sval", object.wrapping_add(16)),
            ("PyTypeObject", "tp_name", object.wrapping_add(8)),
            ("PyASCIIObject", "length", object),
        ] {
            match self.word(structure, member) {
                Some(found) if found == value => {}
                found => return Err(implausible(structure, member, found.unwrap_or_default())),
            }
        }
        Ok(())
    }

    fn word(&self, structure: &str, member: &str) -> Option<u64> {
        let index = WORDS.iter().position(|word| word.1 == structure && word.2 == member)?;
        self.values.get(index).copied().flatten()
    }

    /// Offset in bytes of a member under the name it has in the table;
    /// `None` when the record does not tell.
    ///
    /// Up to 3.14 the record has the size of `PyASCIIObject` only; of a
    /// `PyCompactUnicodeObject`, which has two 64-bit members more since
    /// 3.12, and of the `data` pointer after it the offsets follow.
    #[must_use]
    pub fn offset(&self, structure: &str, member: &str) -> Option<u64> {
        match (structure, member) {
            ("PyCompactUnicodeObject", "sizeof") => self.word(structure, member).or_else(|| {
                let ascii = self.word("PyASCIIObject", "sizeof")?;
                ascii.checked_add(16)
            }),
            ("PyUnicodeObject", "data") => self.offset("PyCompactUnicodeObject", "sizeof"),
            _ => self.word(structure, member),
        }
    }

    /// Every member the record tells: structure, member, offset in bytes.
    pub fn members(&self) -> impl Iterator<Item = (&'static str, &'static str, u64)> {
        WORDS.iter().zip(&self.values).filter_map(|(word, value)| Some((word.1, word.2, (*value)?)))
    }

    /// Where the table says something else about the same build.
    pub fn disagreements(&self, table: &Layout) -> impl Iterator<Item = Disagreement> {
        self.members().filter_map(|(structure, member, own)| {
            let table = table.offset(structure, member)?;
            (own != table).then_some(Disagreement { structure, member, own, table })
        })
    }
}

impl Kind {
    /// Whether a word can have this value in a structure of `size` bytes.
    fn allows(self, value: u64, size: u64, free_threaded: bool) -> bool {
        let member = |bytes: u64| {
            value.is_multiple_of(bytes) && value.checked_add(bytes).is_some_and(|end| end <= size)
        };
        match self {
            Self::Size(most) => value != 0 && value <= most && value.is_multiple_of(8),
            Self::Word => value != 0 && member(8),
            Self::FirstWord => member(8),
            Self::Half => value != 0 && member(4),
            Self::Byte => value != 0 && member(1),
            Self::FreeThreaded => {
                if free_threaded {
                    value != 0 && member(4)
                } else {
                    value == 0
                }
            }
            Self::Tail => value != 0 && value <= size,
        }
    }
}

/// A member on which the build and the table differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Disagreement {
    /// CPython's structure.
    pub structure: &'static str,
    /// Its member.
    pub member: &'static str,
    /// Offset in bytes that the build gives.
    pub own: u64,
    /// Offset in bytes in the table.
    pub table: u64,
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { structure, member, own, table } = self;
        write!(
            f,
            "{structure}.{member} is {own} by the build's own record and {table} in the table"
        )
    }
}

fn implausible(structure: &'static str, member: &'static str, value: u64) -> NoDebugOffsets {
    NoDebugOffsets::Implausible { structure, member, value }
}

/// Why bytes are no usable record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoDebugOffsets {
    /// They do not begin with the cookie; before 3.13 there is none.
    NoCookie,
    /// They end inside the record.
    Truncated,
    /// The version word is no version.
    BadVersion {
        /// The word.
        raw: u64,
    },
    /// A series whose record is not known.
    OtherSeries {
        /// The version in it.
        version: PyVersion,
    },
    /// An alpha or beta, in which the record could still change.
    Prerelease {
        /// The version in it.
        version: PyVersion,
    },
    /// Not the version the rest of the file is of.
    OtherVersion {
        /// The version in it.
        version: PyVersion,
    },
    /// Not the flavour the rest of the file is of.
    OtherFlavour {
        /// Whether it says free-threaded.
        free_threaded: bool,
    },
    /// A value that no build can have.
    Implausible {
        /// CPython's structure.
        structure: &'static str,
        /// Its member.
        member: &'static str,
        /// The value.
        value: u64,
    },
}

impl fmt::Display for NoDebugOffsets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCookie => f.write_str("no debug-offsets cookie at the start of _PyRuntime"),
            Self::Truncated => f.write_str("the debug offsets are cut off"),
            Self::BadVersion { raw } => {
                write!(f, "the debug offsets are of version {raw:#x}, which is none")
            }
            Self::OtherSeries { version } => {
                write!(f, "the debug offsets are of {version}, whose record is not known")
            }
            Self::Prerelease { version } => {
                write!(f, "the debug offsets are of {version}; the record changed between betas")
            }
            Self::OtherVersion { version } => {
                write!(f, "the debug offsets are of {version}, unlike the rest of the file")
            }
            Self::OtherFlavour { free_threaded } => {
                let word = if *free_threaded { "free-threaded build" } else { "build with a GIL" };
                write!(f, "the debug offsets are of a {word}, unlike the rest of the file")
            }
            Self::Implausible { structure, member, value } => {
                write!(f, "the debug offsets put {structure}.{member} at {value}, which cannot be")
            }
        }
    }
}

impl core::error::Error for NoDebugOffsets {}

#[cfg(test)]
mod tests;
