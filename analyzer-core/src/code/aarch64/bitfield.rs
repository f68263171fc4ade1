//! Bit fields: `ubfm`, `sbfm` and `bfm`, of which the shifts by a constant
//! and the extensions are spellings.

use super::operand::binary;
use super::word::Word;
use crate::code::ir::{BinaryOp, Lifted, Op, Operand, Reg, Width};

/// A field of `count` bits: taken from bit `from` of the source, put at bit
/// `to` of the destination; one of the two is 0.
struct Field {
    from: u32,
    to: u32,
    count: u32,
    bits: u32,
}

impl Field {
    /// Arm ARM, `UBFM`: `immr` is the rotation, `imms` the last bit.
    fn new(immr: u32, imms: u32, width: Width) -> Option<Self> {
        let bits = u32::from(width.bytes()).checked_mul(8)?;
        if immr >= bits || imms >= bits {
            return None;
        }
        Some(match imms.checked_sub(immr) {
            Some(last) => Self { from: immr, to: 0, count: last.checked_add(1)?, bits },
            None => {
                Self { from: 0, to: bits.checked_sub(immr)?, count: imms.checked_add(1)?, bits }
            }
        })
    }

    /// The field's bits at bit 0.
    fn mask(&self) -> u64 {
        u64::MAX.checked_shr(64u32.saturating_sub(self.count)).unwrap_or(0)
    }
}

/// Lifts one of the three; `None` if it is none.
pub(super) fn lift(word: Word, out: &mut Lifted) -> Option<()> {
    let (opc, width) = (word.bits(29, 2), word.width());
    let field = Field::new(word.bits(16, 6), word.bits(10, 6), width)?;
    if opc == 3 || word.bit(31) != word.bit(22) {
        return None;
    }
    let src = word.gpr(5, width).value();
    let Some(reg) = word.register(0) else {
        return Some(());
    };
    match opc {
        0 => signed(&field, reg, src, width, out),
        2 => unsigned(&field, reg, src, width, out),
        _ => {
            unsigned(&field, Reg::TEMP0, src, width, out);
            let hole = field.mask().checked_shl(field.to).unwrap_or(0);
            let kept = Operand::Const(!hole & width.mask());
            binary(BinaryOp::And, Some(reg), Operand::Reg(reg), kept, width, out);
            let (left, right) = (Operand::Reg(reg), Operand::Reg(Reg::TEMP0));
            binary(BinaryOp::Or, Some(reg), left, right, width, out);
        }
    }
    Some(())
}

/// The field, zeroes around it.
fn unsigned(field: &Field, dst: Reg, src: Operand, width: Width, out: &mut Lifted) {
    let mut value = src;
    let mut step = |op, right| {
        binary(op, Some(dst), value, Operand::Const(right), width, out);
        value = Operand::Reg(dst);
    };
    if field.from != 0 {
        step(BinaryOp::Shr, u64::from(field.from));
    }
    // A shift drops what is beyond the register's ends by itself.
    if field.from.max(field.to).saturating_add(field.count) < field.bits
        || field.count == field.bits
    {
        step(BinaryOp::And, field.mask());
    }
    if field.to != 0 {
        step(BinaryOp::Shl, u64::from(field.to));
    }
}

/// The field, zeroes below it and its sign above it.
fn signed(field: &Field, dst: Reg, src: Operand, width: Width, out: &mut Lifted) {
    if field.from == 0 && field.to == 0 {
        let from = match field.count {
            8 => Some(Width::W8),
            16 => Some(Width::W16),
            32 => Some(Width::W32),
            64 => Some(Width::W64),
            _ => None,
        };
        if let Some(from) = from {
            out.ops.push(Op::Extend { dst, src, from, signed: true, width });
            return;
        }
    }
    // Its last bit up to the register's last bit, then back down.
    let up = field.bits.saturating_sub(field.from).saturating_sub(field.count);
    let down = up.saturating_add(field.from).saturating_sub(field.to);
    let mut value = src;
    for (op, by) in [(BinaryOp::Shl, up), (BinaryOp::Sar, down)] {
        if by != 0 {
            binary(op, Some(dst), value, Operand::Const(u64::from(by)), width, out);
            value = Operand::Reg(dst);
        }
    }
}
