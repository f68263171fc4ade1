//! Loads and stores of vector structures, `ld1` to `st4`.

use super::address::Access;
use super::operand::clobber;
use super::word::Word;
use crate::code::ir::{Lifted, Op};

/// Lifts one of these; `None` if nothing is allocated there.
pub(super) fn lift(word: Word, out: &mut Lifted) -> Option<()> {
    let is_post_indexed = word.bit(23);
    let is_single = word.bit(24);
    let is_allocated = if is_single { is_single_structure(word) } else { is_multiple(word) };
    // Without post-index, no register is added.
    if word.bit(31) || !is_allocated || !is_post_indexed && word.number(16) != 0 {
        return None;
    }
    out.ops.push(Op::ClobberAllMemory);
    clobber(Access::of(word).writeback.map(|(base, _)| base), out);
    Some(())
}

fn is_multiple(word: Word) -> bool {
    // Interleaved structures have no form with one element per register.
    let is_one_element = word.bits(10, 2) == 3 && !word.bit(30);
    !word.bit(21)
        && match word.bits(12, 4) {
            0 | 4 | 8 => !is_one_element,
            2 | 6 | 7 | 10 => true,
            _ => false,
        }
}

fn is_single_structure(word: Word) -> bool {
    let size = word.bits(10, 2);
    match word.bits(14, 2) {
        0 => true,
        1 => size & 1 == 0,
        2 => size == 0 || size == 1 && !word.bit(12),
        // Replicated: loads only.
        _ => word.bit(22) && !word.bit(12),
    }
}
