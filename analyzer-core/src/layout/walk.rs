//! How the frames of each version are walked, as data.
//!
//! Read in CPython's `Include/internal/pycore_frame.h`,
//! `Include/internal/pycore_stackref.h`, `Objects/codeobject.c` and
//! `Objects/lnotab_notes.txt` (`Objects/locations.md` from 3.11, later
//! `InternalDocs/code_objects.md`) of each series.

use crate::{report::Flavour, version::PyVersion};

/// Rules for walking frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WalkRules {
    /// Where the chain of frames begins.
    pub start: FrameStart,
    /// How a frame tells its last instruction.
    pub instruction: LastInstruction,
    /// And the executable of a frame with this to get the code object's address.
    pub executable_mask: u64,
    /// How frames entered from C are told.
    pub entry: EntryMark,
    /// Frames whose executable is not a code object end the calls of one
    /// native evaluation; false where even those have a code object.
    pub shim_has_no_code: bool,
    /// Below every frame of a thread lies a shim, so that the chain is never empty.
    pub base_shim: bool,
    /// How lines are encoded.
    pub line_table: LineTable,
    /// How names are kept.
    pub strings: Strings,
}

/// Where the chain of frames begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameStart {
    /// `tstate->frame`, a chain of `PyFrameObject` (to 3.10).
    FrameObject,
    /// `tstate->cframe->current_frame` (3.11, 3.12).
    CFrame,
    /// `tstate->current_frame` (3.13 and later).
    Direct,
}

/// How a frame tells its last instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LastInstruction {
    /// `f_lasti` times this is a byte offset into the bytecode; a negative
    /// value means that the frame has not started.
    Index {
        /// 1, or 2 where the index counts code units.
        scale: u8,
    },
    /// A pointer; the byte offset is its distance from `co_code_adaptive` of
    /// the code object, below 0 when the frame has not started.
    Pointer {
        /// The distance counts from the thread's own copy of the bytecode,
        /// entry `tlbc_index` of `co_tlbc`: `*(tlbc + 8 + 8 * tlbc_index)`.
        per_thread: bool,
    },
}

/// How frames entered from C are told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EntryMark {
    /// Each Python frame is one native evaluation (to 3.10).
    Every,
    /// `is_entry` is 1 in the outermost frame of a native evaluation (3.11).
    Flag,
    /// A frame whose `owner` is at least this is a shim and no Python frame;
    /// it ends the frames of one native evaluation (3.12 and later).
    ShimOwner(u8),
}

/// How lines are encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LineTable {
    /// `co_lnotab`: pairs of address and line increments, both unsigned (to 3.5).
    UnsignedPairs,
    /// `co_lnotab`: the line increment is signed (3.6 to 3.9).
    SignedPairs,
    /// `co_linetable` of 3.10: pairs of length and signed line increment,
    /// -128 for no line.
    Ranges,
    /// `co_linetable` of 3.11 and later: entries of variable length.
    Locations,
}

/// How names are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strings {
    /// As byte strings (2.7).
    Bytes,
    /// As `str`; the 32 bits at `PyASCIIObject.state` say how (3.3 and later).
    Unicode {
        /// Lowest of the three bits that give the bytes of one character: 1,
        /// 2 or 4, and 0 for the legacy `wchar_t` form (to 3.11).
        kind_bit: u8,
        /// Set when the characters follow the object's header.
        compact_bit: u8,
        /// Set when all characters are ASCII.
        ascii_bit: u8,
    },
}

/// The rules of a series; `None` for one that is not known.
#[must_use]
pub fn walk_rules(version: PyVersion, flavour: Flavour) -> Option<WalkRules> {
    let free_threaded = matches!(flavour, Flavour::FreeThreaded | Flavour::FreeThreadedDebug);
    let minor = match version.minor_pair() {
        (2, 7) => 0,
        (3, minor @ 3..=15) if minor >= 13 || !free_threaded => minor,
        _ => return None,
    };
    Some(WalkRules {
        start: match minor {
            ..=10 => FrameStart::FrameObject,
            11 | 12 => FrameStart::CFrame,
            _ => FrameStart::Direct,
        },
        instruction: match minor {
            ..=9 => LastInstruction::Index { scale: 1 },
            10 => LastInstruction::Index { scale: 2 },
            _ => LastInstruction::Pointer { per_thread: minor >= 14 && free_threaded },
        },
        executable_mask: if minor >= 14 { !3 } else { !0 },
        entry: match minor {
            ..=10 => EntryMark::Every,
            11 => EntryMark::Flag,
            _ => EntryMark::ShimOwner(3),
        },
        shim_has_no_code: minor >= 13,
        base_shim: minor >= 15,
        line_table: match minor {
            ..=5 => LineTable::UnsignedPairs,
            6..=9 => LineTable::SignedPairs,
            10 => LineTable::Ranges,
            _ => LineTable::Locations,
        },
        strings: match (minor, free_threaded) {
            (0, _) => Strings::Bytes,
            (14.., true) => Strings::Unicode { kind_bit: 8, compact_bit: 11, ascii_bit: 12 },
            _ => Strings::Unicode { kind_bit: 2, compact_bit: 5, ascii_bit: 6 },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_nobody_looked_at_has_no_rules() {
        for version in [PyVersion::series(3, 2), PyVersion::series(3, 16), PyVersion::series(2, 6)]
        {
            assert_eq!(walk_rules(version, Flavour::Release), None, "{version}");
        }
        assert_eq!(walk_rules(PyVersion::series(3, 12), Flavour::FreeThreaded), None);
    }

    #[test]
    fn the_index_counts_units_only_in_3_10() {
        let scale = |minor| {
            walk_rules(PyVersion::series(3, minor), Flavour::Release).map(|rules| rules.instruction)
        };
        assert_eq!(scale(9), Some(LastInstruction::Index { scale: 1 }));
        assert_eq!(scale(10), Some(LastInstruction::Index { scale: 2 }));
        assert_eq!(scale(11), Some(LastInstruction::Pointer { per_thread: false }));
    }

    #[test]
    fn tags_and_moved_string_bits_come_with_3_14() {
        let rules = |minor| {
            walk_rules(PyVersion::series(3, minor), Flavour::FreeThreaded)
                .map(|rules| (rules.executable_mask, rules.strings))
        };
        let packed = Strings::Unicode { kind_bit: 2, compact_bit: 5, ascii_bit: 6 };
        let moved = Strings::Unicode { kind_bit: 8, compact_bit: 11, ascii_bit: 12 };
        assert_eq!(rules(13), Some((u64::MAX, packed)));
        assert_eq!(rules(14), Some((u64::MAX - 3, moved)));
    }
}
