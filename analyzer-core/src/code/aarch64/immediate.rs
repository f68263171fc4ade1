//! Data processing with an immediate (Arm ARM, DDI 0487, C4.1.92).

use super::bitfield;
use super::operand::{Gpr, Logic, assign, binary, clobber, three_operands};
use super::word::{Word, bit_mask};
use crate::code::ir::{BinaryOp, Lifted, Operand, Width};

/// Lifts one of these; `None` if nothing is allocated there.
pub(super) fn lift(word: Word, out: &mut Lifted) -> Option<()> {
    match word.bits(23, 3) {
        0b000 | 0b001 => {
            let target = Operand::Pc(word.target(out.address));
            assign(word.register(0), target, Width::W64, out);
        }
        0b010 => add_sub(word, out),
        0b100 => logical(word, out)?,
        0b101 => move_wide(word, out)?,
        0b110 => bitfield::lift(word, out)?,
        0b111 => extract(word, out)?,
        // With tags.
        _ => return None,
    }
    Some(())
}

/// A destination that is the stack pointer unless flags are set.
fn destination(word: Word, sets_flags: bool) -> Gpr {
    let width = word.width();
    if sets_flags { word.gpr(0, width) } else { Gpr { reg: Some(word.register_or_sp(0)), width } }
}

fn add_sub(word: Word, out: &mut Lifted) {
    let op = if word.bit(30) { BinaryOp::Sub } else { BinaryOp::Add };
    let shift = word.bits(22, 1).wrapping_mul(12);
    let right = Operand::Const(u64::from(word.bits(10, 12).wrapping_shl(shift)));
    let left = Operand::Reg(word.register_or_sp(5));
    three_operands(op, destination(word, word.bit(29)), left, right, out);
}

fn logical(word: Word, out: &mut Lifted) -> Option<()> {
    let right = Operand::Const(bit_mask(word)?);
    let logic = Logic::of(word);
    let left = word.gpr(5, word.width()).value();
    three_operands(logic.op, destination(word, logic.sets_flags), left, right, out);
    Some(())
}

fn move_wide(word: Word, out: &mut Lifted) -> Option<()> {
    let dst = word.gpr(0, word.width());
    let shift = word.bits(21, 2).wrapping_mul(16);
    let opc = word.bits(29, 2);
    if opc == 1 || shift > 16 && dst.width == Width::W32 {
        return None;
    }
    let bits = u64::from(word.bits(5, 16)).wrapping_shl(shift);
    match opc {
        0 => assign(dst.reg, Operand::Const(!bits & dst.width.mask()), dst.width, out),
        2 => assign(dst.reg, Operand::Const(bits), dst.width, out),
        _ => {
            let hole = !0xffffu64.wrapping_shl(shift);
            let kept = Operand::Const(hole & dst.width.mask());
            binary(BinaryOp::And, dst.reg, dst.value(), kept, dst.width, out);
            binary(BinaryOp::Or, dst.reg, dst.value(), Operand::Const(bits), dst.width, out);
        }
    }
    Some(())
}

fn extract(word: Word, out: &mut Lifted) -> Option<()> {
    // `autiasppc`, `autibsppc`: the same return address.
    if word.is(0xffc0_001f, 0xf380_001f) {
        return Some(());
    }
    // `N` is `sf`, and a 32-bit register has no bit 32.
    let is_64_bit = word.is(0xffe0_0000, 0x93c0_0000);
    if !is_64_bit && !word.is(0xffe0_8000, 0x1380_0000) {
        return None;
    }
    clobber(word.register(0), out);
    Some(())
}
