//! Operands of an A64 instruction in terms of the lifted form.

use super::word::Word;
use crate::code::ir::{BinaryOp, Lifted, Op, Operand, Reg, Width};

/// A register operand; `reg` is `None` for the zero register.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Gpr {
    pub(super) reg: Option<Reg>,
    pub(super) width: Width,
}

impl Gpr {
    /// Its value.
    pub(super) fn value(self) -> Operand {
        self.reg.map_or(Operand::Const(0), Operand::Reg)
    }
}

/// What the two bits `opc` of a logical operation say.
pub(super) struct Logic {
    pub(super) op: BinaryOp,
    pub(super) sets_flags: bool,
}

impl Logic {
    pub(super) const fn of(word: Word) -> Self {
        let (op, sets_flags) = match word.bits(29, 2) {
            0 => (BinaryOp::And, false),
            1 => (BinaryOp::Or, false),
            2 => (BinaryOp::Xor, false),
            _ => (BinaryOp::And, true),
        };
        Self { op, sets_flags }
    }
}

/// Register `number` where 31 is the zero register.
pub(super) fn numbered(number: u8) -> Option<Reg> {
    (number < 31).then_some(Reg(number))
}

/// Emits `dst := left op right`; nothing for the zero register.
pub(super) fn binary(
    op: BinaryOp,
    dst: Option<Reg>,
    left: Operand,
    right: Operand,
    width: Width,
    out: &mut Lifted,
) {
    if let Some(dst) = dst {
        out.ops.push(Op::Binary { op, dst, left, right, width });
    }
}

/// Emits `dst := src`; nothing for the zero register.
pub(super) fn assign(dst: Option<Reg>, src: Operand, width: Width, out: &mut Lifted) {
    if let Some(dst) = dst {
        out.ops.push(Op::Move { dst, src, width });
    }
}

/// Emits that `dst` becomes unknown; nothing for the zero register.
pub(super) fn clobber(dst: Option<Reg>, out: &mut Lifted) {
    if let Some(dst) = dst {
        out.ops.push(Op::Clobber { dst });
    }
}

/// Emits `dst := left op right`, as a copy where it is one.
pub(super) fn three_operands(
    op: BinaryOp,
    dst: Gpr,
    left: Operand,
    right: Operand,
    out: &mut Lifted,
) {
    match (op, left, right) {
        (BinaryOp::Or | BinaryOp::Add, Operand::Const(0), value)
        | (BinaryOp::Add | BinaryOp::Sub, value, Operand::Const(0)) => {
            assign(dst.reg, value, dst.width, out);
        }
        (_, left, right) => binary(op, dst.reg, left, right, dst.width, out),
    }
}
