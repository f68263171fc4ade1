//! Why a file cannot be seen as an image at all.

use core::fmt;

/// Why [`Image::parse`](super::Image::parse) gave up.
///
/// Every variant says what was found, and where that is not obvious, at which
/// file offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseError {
    /// The file does not start with `\x7fELF`.
    NotElf {
        /// Its first four bytes; missing ones are zero.
        magic: [u8; 4],
        /// The file's size in bytes.
        size: u64,
    },
    /// `EI_CLASS` is `ELFCLASS32`.
    Class32 {
        /// `e_machine`, read in the byte order the file declares.
        machine: u16,
    },
    /// `EI_DATA` is `ELFDATA2MSB`.
    BigEndian {
        /// `e_machine`, read as big-endian.
        machine: u16,
    },
    /// `e_machine` is neither `EM_X86_64` (62) nor `EM_AARCH64` (183).
    Machine(u16),
    /// A table the header declares ends beyond the end of the file.
    Truncated {
        /// Which table.
        what: &'static str,
        /// Its file offset.
        offset: u64,
        /// Bytes it takes there.
        needed: u64,
        /// Bytes the file has from that offset on.
        have: u64,
    },
    /// A header member holds a value that makes the rest unreadable.
    Header {
        /// The member, by its name in the ELF specification.
        what: &'static str,
        /// The value it must have.
        expected: u64,
        /// The value it has.
        found: u64,
    },
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NotElf { magic: [a, b, c, d], size } => write!(
                f,
                "not an ELF file: starts with {a:02x} {b:02x} {c:02x} {d:02x} \
                 (file of {size} bytes), not 7f 45 4c 46"
            ),
            Self::Class32 { machine } => {
                write!(f, "a 32-bit ELF file (e_machine {machine}); only 64-bit files are read")
            }
            Self::BigEndian { machine } => write!(
                f,
                "a big-endian ELF file (e_machine {machine}); only little-endian files are read"
            ),
            Self::Machine(machine) => {
                write!(f, "e_machine is {machine}; only x86-64 (62) and AArch64 (183) are read")
            }
            Self::Truncated { what, offset, needed, have } => write!(
                f,
                "cut off: the {what} takes {needed} bytes at file offset {offset:#x}, \
                 the file has {have} there"
            ),
            Self::Header { what, expected, found } => {
                write!(f, "{what} is {found}, must be {expected}")
            }
        }
    }
}

impl core::error::Error for ParseError {}
