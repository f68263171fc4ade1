//! The line of an instruction, from the line tables of each version.
//!
//! The tables come from another process's memory: every number is hostile,
//! and an answer may be wrong but is always reached.
//!
//! Formats: `Objects/lnotab_notes.txt` of CPython 3.9 (`co_lnotab`, unsigned
//! line increments to 3.5) and 3.10 (`co_linetable`), `Objects/locations.md`
//! of 3.11 (later `InternalDocs/code_objects.md`).

use analyzer_core::layout::walk::LineTable;

/// The line of the instruction `instruction` bytes into the bytecode; `None`
/// where the table does not reach that far.
///
/// An instruction to which the table gives no line (the compiler's own, at the
/// start of a function or on the way out of a block) has that of the one before
/// it, as a debugger would show it.
pub(crate) fn line(
    format: LineTable,
    table: &[u8],
    first_line: u32,
    instruction: i32,
) -> Option<u32> {
    // A frame that has not started is at its definition.
    let Ok(at) = u32::try_from(instruction) else { return Some(first_line) };
    let line = match format {
        LineTable::UnsignedPairs => pairs(table, first_line, at, i64::from),
        LineTable::SignedPairs => {
            pairs(table, first_line, at, |delta| i64::from(delta.cast_signed()))
        }
        LineTable::Ranges => ranges(table, first_line, at)?,
        LineTable::Locations => locations(table, first_line, at)?,
    };
    u32::try_from(line).ok()
}

/// Pairs of an address increment and a line increment.
fn pairs(table: &[u8], first_line: u32, at: u32, delta: impl Fn(u8) -> i64) -> i64 {
    let (mut address, mut line) = (0_u64, i64::from(first_line));
    for pair in table.chunks_exact(2) {
        address += u64::from(pair[0]);
        if address > u64::from(at) {
            break;
        }
        line += delta(pair[1]);
    }
    line
}

/// Pairs of a length and a line increment; -128 is a range without a line of its own.
fn ranges(table: &[u8], first_line: u32, at: u32) -> Option<i64> {
    let (mut end, mut line) = (0_u64, i64::from(first_line));
    for pair in table.chunks_exact(2) {
        end += u64::from(pair[0]);
        let delta = pair[1].cast_signed();
        if delta != i8::MIN {
            line += i64::from(delta);
        }
        if u64::from(at) < end {
            return Some(line);
        }
    }
    None
}

/// Entries of variable length, each starting with a byte whose highest bit is set.
fn locations(table: &[u8], first_line: u32, at: u32) -> Option<i64> {
    let (mut end, mut line) = (0_u64, i64::from(first_line));
    let mut rest = table;
    while let Some((&first, after)) = rest.split_first() {
        if first & 0x80 == 0 {
            return None;
        }
        let next = after.iter().position(|byte| byte & 0x80 != 0).unwrap_or(after.len());
        let (entry, following) = after.split_at(next);
        rest = following;
        let code = (first >> 3) & 0xf;
        // The length counts code units of two bytes, less one.
        end += (u64::from(first & 7) + 1) * 2;
        match code {
            10..=12 => line += i64::from(code - 10),
            13 | 14 => line = line.checked_add(signed(entry)?)?,
            _ => {}
        }
        if u64::from(at) < end {
            return Some(line);
        }
    }
    None
}

/// A signed number: the lowest bit is the sign.
fn signed(bytes: &[u8]) -> Option<i64> {
    let number = unsigned(bytes)?;
    let magnitude = i64::from(number >> 1);
    Some(if number & 1 == 0 { magnitude } else { -magnitude })
}

/// Groups of six bits, the least significant first; the seventh bit says that
/// another group follows.
fn unsigned(bytes: &[u8]) -> Option<u32> {
    let mut number = 0_u32;
    for (index, byte) in bytes.iter().enumerate() {
        let shift = u32::try_from(index).ok()?.checked_mul(6)?;
        number |= u32::from(byte & 0x3f).checked_shl(shift)?;
        if byte & 0x40 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `def f(a):\n  x = a\n\n\n  return x` of 3.9: lines 1, 2 and 5.
    #[test]
    fn pairs_of_3_9() {
        let table = [0, 1, 4, 3];
        let at = |instruction| line(LineTable::SignedPairs, &table, 1, instruction);
        assert_eq!(at(-1), Some(1));
        assert_eq!(at(0), Some(2));
        assert_eq!(at(2), Some(2));
        assert_eq!(at(4), Some(5));
        assert_eq!(at(4000), Some(5), "the last line has no end");
    }

    #[test]
    fn increments_are_unsigned_to_3_5_and_signed_after() {
        let table = [2, 0xff];
        assert_eq!(line(LineTable::UnsignedPairs, &table, 10, 2), Some(265));
        assert_eq!(line(LineTable::SignedPairs, &table, 10, 2), Some(9));
    }

    #[test]
    fn ranges_of_3_10_without_a_line_have_the_one_before() {
        let table = [4, 1, 2, 0x80, 0, 5, 6, 0xff];
        let at = |instruction| line(LineTable::Ranges, &table, 10, instruction);
        assert_eq!(at(0), Some(11));
        assert_eq!(at(4), Some(11));
        assert_eq!(at(6), Some(15));
        assert_eq!(at(12), None, "beyond the table");
    }

    #[test]
    fn locations_of_3_11() {
        // Two units on the first line (short form), one unit one line down
        // (one-line form), one unit without location, one unit ten lines up
        // (no columns).
        let table = [0x80 | 1, 0x11, 0x80 | 11 << 3, 1, 2, 0x80 | 15 << 3, 0x80 | 13 << 3, 21];
        let at = |instruction| line(LineTable::Locations, &table, 100, instruction);
        assert_eq!(at(0), Some(100));
        assert_eq!(at(2), Some(100));
        assert_eq!(at(4), Some(101));
        assert_eq!(at(6), Some(101), "no location: the line before");
        assert_eq!(at(8), Some(91));
        assert_eq!(at(10), None);
    }

    #[test]
    fn a_number_that_never_ends_is_none() {
        let table = [0x80 | 14 << 3, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f];
        assert_eq!(line(LineTable::Locations, &table, 1, 0), None);
    }

    #[test]
    fn any_bytes_are_answered() {
        // A small generator suffices: each format is a loop over bytes.
        let mut state = 1_u32;
        let mut byte = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        for length in 0..600 {
            let table: Vec<u8> = (0..length).map(|_| byte()).collect();
            for format in [
                LineTable::UnsignedPairs,
                LineTable::SignedPairs,
                LineTable::Ranges,
                LineTable::Locations,
            ] {
                for at in [i32::MIN, -1, 0, 7, 1000, i32::MAX] {
                    let _ = line(format, &table, u32::MAX, at);
                }
            }
        }
    }
}
