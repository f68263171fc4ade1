//! Integer arithmetic and logic.

use super::decode::{self, Instruction, Kind, MOST_OPERANDS};
use super::operand::{Place, RAX, RDX, store};
use crate::code::ir::{BinaryOp, Lifted, Op, Operand, Reg, Width};

/// Lifts the instruction if it is one of these.
pub(super) fn lift(instruction: &Instruction, out: &mut Lifted) -> bool {
    let first = || Place::of(instruction, 0);
    match instruction.kind() {
        Kind::Binary(op) => two_operands(op, instruction, out),
        Kind::Shift(op) => shift(op, instruction, out),
        Kind::Inc => in_place(first(), BinaryOp::Add, Operand::Const(1), false, out),
        Kind::Dec => in_place(first(), BinaryOp::Sub, Operand::Const(1), false, out),
        Kind::Neg => in_place(first(), BinaryOp::Sub, Operand::Const(0), true, out),
        Kind::Not => in_place(first(), BinaryOp::Xor, Operand::Const(u64::MAX), false, out),
        Kind::Multiply => multiply(instruction, out),
        Kind::ExtendRax => sign_extend(instruction.size(), out),
        Kind::FillRdx => sign_fill(instruction.size(), out),
        _ => false,
    }
}

/// `target := target op source`.
fn two_operands(op: BinaryOp, instruction: &Instruction, out: &mut Lifted) -> bool {
    let (target, source) = (Place::of(instruction, 0), Place::of(instruction, 1));
    if let (Place::Part(left), Place::Part(right)) = (target, source)
        && matches!(op, BinaryOp::Xor | BinaryOp::Sub)
        && left.reg == right.reg
        && !left.keeps_rest()
    {
        out.ops.push(Op::Move { dst: left.reg, src: Operand::Const(0), width: left.width });
        return true;
    }
    if let Place::Part(part) = target
        && part.keeps_rest()
    {
        out.ops.push(Op::Clobber { dst: part.reg });
        return true;
    }
    match source.read(Reg::TEMP1, out) {
        Some(right) => in_place(target, op, right, false, out),
        None => false,
    }
}

/// `target := target op right`, or `right op target` when `reversed`.
fn in_place(target: Place, op: BinaryOp, right: Operand, reversed: bool, out: &mut Lifted) -> bool {
    let (dst, width) = match target {
        Place::Part(part) if part.keeps_rest() => {
            out.ops.push(Op::Clobber { dst: part.reg });
            return true;
        }
        Place::Part(part) => (part.reg, part.width),
        Place::Memory(..) => match target.width() {
            Some(width) => (Reg::TEMP0, width),
            None => return false,
        },
        Place::Immediate(_) | Place::Other => return false,
    };
    let Some(value) = target.read(dst, out) else {
        return false;
    };
    let (left, right) = if reversed { (right, value) } else { (value, right) };
    out.ops.push(Op::Binary { op, dst, left, right, width });
    if let Place::Memory(address, _) = target {
        store(address, Operand::Reg(dst), width, out);
    }
    true
}

/// A shift by a constant; others are left to the fallback.
fn shift(op: BinaryOp, instruction: &Instruction, out: &mut Lifted) -> bool {
    let target = Place::of(instruction, 0);
    let (Some(width), Place::Immediate(count)) = (target.width(), Place::of(instruction, 1)) else {
        return false;
    };
    let count = count & if width == Width::W64 { 63 } else { 31 };
    in_place(target, op, Operand::Const(count), false, out)
}

fn multiply(instruction: &Instruction, out: &mut Lifted) -> bool {
    let (Place::Part(_) | Place::Memory(..)) = Place::of(instruction, 0) else {
        return false;
    };
    let operands = (0..MOST_OPERANDS)
        .take_while(|number| instruction.operand(*number) != decode::Operand::None)
        .count();
    if operands == 1 {
        return wide_multiply(instruction, out);
    }
    let Place::Part(dst) = Place::of(instruction, 0) else {
        return false;
    };
    if dst.keeps_rest() {
        out.ops.push(Op::Clobber { dst: dst.reg });
        return true;
    }
    let first = Place::of(instruction, 1).read(Reg::TEMP0, out);
    let (left, right) = if operands == 2 {
        (Some(Operand::Reg(dst.reg)), first)
    } else {
        (first, Place::of(instruction, 2).read(Reg::TEMP1, out))
    };
    let (Some(left), Some(right)) = (left, right) else {
        return false;
    };
    out.ops.push(Op::Binary { op: BinaryOp::Mul, dst: dst.reg, left, right, width: dst.width });
    true
}

/// `rdx:rax := rax * source`: the low half is known, the high half is not.
fn wide_multiply(instruction: &Instruction, out: &mut Lifted) -> bool {
    let source = Place::of(instruction, 0);
    let right = match source.width() {
        Some(width @ (Width::W32 | Width::W64)) => {
            source.read(Reg::TEMP0, out).map(|right| (right, width))
        }
        _ => None,
    };
    out.ops.push(match right {
        Some((right, width)) => {
            let left = Operand::Reg(RAX);
            Op::Binary { op: BinaryOp::Mul, dst: RAX, left, right, width }
        }
        None => Op::Clobber { dst: RAX },
    });
    out.ops.push(Op::Clobber { dst: RDX });
    true
}

/// `rax := ` its low half, sign-extended; both of the operand size.
fn sign_extend(size: u8, out: &mut Lifted) -> bool {
    let (from, width) = match size {
        64 => (Width::W32, Width::W64),
        32 => (Width::W16, Width::W32),
        _ => {
            out.ops.push(Op::Clobber { dst: RAX });
            return true;
        }
    };
    out.ops.push(Op::Extend { dst: RAX, src: Operand::Reg(RAX), from, signed: true, width });
    true
}

/// `rdx :=` the sign of `rax`, in every bit.
fn sign_fill(size: u8, out: &mut Lifted) -> bool {
    let (sign_bit, width) = match size {
        64 => (63, Width::W64),
        32 => (31, Width::W32),
        _ => {
            out.ops.push(Op::Clobber { dst: RDX });
            return true;
        }
    };
    out.ops.push(Op::Binary {
        op: BinaryOp::Sar,
        dst: RDX,
        left: Operand::Reg(RAX),
        right: Operand::Const(sign_bit),
        width,
    });
    true
}
