//! Floating point and vectors (Arm ARM, DDI 0487, C4.1.96): no memory is
//! touched, and only moves and conversions to a general register write one.
//!
//! Of scalar floating point just what is allocated is taken. Of vector
//! instructions the groups are looked at, not what is allocated within each.

use super::operand::clobber;
use super::word::Word;
use crate::code::ir::Lifted;

/// Lifts one of these; `None` if nothing, or no group, is allocated there.
pub(super) fn lift(word: Word, out: &mut Lifted) -> Option<()> {
    let is_scalar_float = word.bit(28) && !word.bit(30);
    let writes_general = if is_scalar_float { scalar_float(word)? } else { vector(word)? };
    if writes_general {
        clobber(word.register(0), out);
    }
    Some(())
}

/// Whether it writes a general register.
fn scalar_float(word: Word) -> Option<bool> {
    let kind = word.bits(22, 2);
    if word.bit(29) {
        return None;
    }
    match (word.bit(24), word.bit(21)) {
        (false, true) if word.bits(10, 6) == 0 => return with_integer(word),
        (false, false) => return with_fixed_point(word),
        _ => {}
    }
    // There is no type 2, and no 64-bit form.
    let is_allocated = !word.bit(31)
        && kind != 2
        && (word.bit(24)
            || match word.bits(10, 3) {
                // A comparison; one source.
                0b000 if word.bit(13) => word.is(0xc007, 0),
                0b000 => word.bit(14) && one_source(word.bits(15, 6), kind),
                // An immediate.
                0b100 => word.number(5) == 0,
                // Two sources.
                0b010 | 0b110 => word.bits(12, 4) < 9,
                // Conditional comparison and selection.
                _ => true,
            });
    is_allocated.then_some(false)
}

const fn one_source(opcode: u32, kind: u32) -> bool {
    match opcode {
        0..=3 | 8..=12 | 14 | 15 => true,
        // Conversion to another type; to BFloat16.
        4 | 5 | 7 => opcode & 3 != kind,
        6 => kind == 1,
        16..=19 => kind < 2,
        _ => false,
    }
}

/// Conversions between floating point and integers, and moves.
fn with_integer(word: Word) -> Option<bool> {
    let (is_64_bit, kind, mode) = (word.bit(31), word.bits(22, 2), word.bits(19, 2));
    let opcode = word.bits(16, 3);
    let is_allocated = match (opcode, mode) {
        // `fmov` of the upper half, and of the others; `fjcvtzs`.
        (0b110 | 0b111, 1) => is_64_bit && kind == 2,
        (0b110 | 0b111, 0) => kind == 3 || kind == word.bits(31, 1),
        (0b110, 3) => !is_64_bit && kind == 1,
        (0b110 | 0b111, _) => false,
        (0b000 | 0b001, _) | (_, 0) => kind != 2,
        _ => false,
    };
    is_allocated.then_some(!matches!(opcode, 0b010 | 0b011 | 0b111))
}

/// Conversions between floating point and fixed point.
fn with_fixed_point(word: Word) -> Option<bool> {
    // No more fraction bits than the register has.
    if word.bits(22, 2) == 2 || !word.bit(31) && !word.bit(15) {
        return None;
    }
    match word.bits(16, 5) {
        0b0_0010 | 0b0_0011 => Some(false),
        0b1_1000 | 0b1_1001 => Some(true),
        _ => None,
    }
}

/// Whether it writes a general register.
fn vector(word: Word) -> Option<bool> {
    // Copies of an element have a size, the lowest bit set.
    if word.is(0x9fe0_8400, 0x0e00_0400) {
        return copy(word);
    }
    let (is_scalar, low) = (word.bit(28), word.bits(10, 2));
    let is_group = match (word.bit(24), word.bit(21)) {
        // Cryptography with three and four registers.
        _ if word.bit(31) => word.is(0xf100_0000, 0xc000_0000),
        // By element; by a constant.
        (true, _) => low & 1 == 0 || !word.bit(23),
        // Three registers; two registers, and across lanes.
        (false, true) => low != 2 || word.bits(17, 2) == 0,
        // More of three registers; copies; half precision.
        (false, false) if low & 1 == 1 => {
            word.bit(15) || word.bits(22, 2) == 0 || word.bit(22) && !word.bit(14)
        }
        // Tables, permutations, extraction; hashes.
        _ => !word.bit(15) && (!is_scalar || low == 0),
    };
    is_group.then_some(false)
}

/// `smov` and `umov` write a general register, the other copies do not.
fn copy(word: Word) -> Option<bool> {
    let (size, is_64_bit) = (word.bits(16, 4).trailing_zeros(), word.bit(30));
    let to_general = word.is(0x2000_6800, 0x2800);
    let is_allocated = match (to_general, word.bit(12)) {
        (true, false) => size < if is_64_bit { 3 } else { 2 },
        (true, true) if is_64_bit => size == 3,
        (true, true) => size < 3,
        _ => size < 4,
    };
    is_allocated.then_some(to_general)
}
