//! Integer arithmetic and logic.

use iced_x86::{Instruction, Mnemonic};

use super::operand::{Place, RAX, RDX, store};
use crate::code::ir::{BinaryOp, Lifted, Op, Operand, Reg, Width};

/// Lifts the instruction if it is one of these.
pub(super) fn lift(instruction: &Instruction, out: &mut Lifted) -> bool {
    match instruction.mnemonic() {
        Mnemonic::Add => two_operands(BinaryOp::Add, instruction, out),
        Mnemonic::Sub => two_operands(BinaryOp::Sub, instruction, out),
        Mnemonic::And => two_operands(BinaryOp::And, instruction, out),
        Mnemonic::Or => two_operands(BinaryOp::Or, instruction, out),
        Mnemonic::Xor => two_operands(BinaryOp::Xor, instruction, out),
        Mnemonic::Shl | Mnemonic::Sal => shift(BinaryOp::Shl, instruction, out),
        Mnemonic::Shr => shift(BinaryOp::Shr, instruction, out),
        Mnemonic::Sar => shift(BinaryOp::Sar, instruction, out),
        Mnemonic::Inc => {
            let target = Place::of(instruction, 0);
            in_place(target, BinaryOp::Add, Operand::Const(1), false, out)
        }
        Mnemonic::Dec => {
            let target = Place::of(instruction, 0);
            in_place(target, BinaryOp::Sub, Operand::Const(1), false, out)
        }
        Mnemonic::Neg => {
            let target = Place::of(instruction, 0);
            in_place(target, BinaryOp::Sub, Operand::Const(0), true, out)
        }
        Mnemonic::Not => {
            let target = Place::of(instruction, 0);
            in_place(target, BinaryOp::Xor, Operand::Const(u64::MAX), false, out)
        }
        Mnemonic::Imul | Mnemonic::Mul => multiply(instruction, out),
        Mnemonic::Cdqe => sign_extend(Width::W32, Width::W64, out),
        Mnemonic::Cwde => sign_extend(Width::W16, Width::W32, out),
        Mnemonic::Cdq => sign_fill(31, Width::W32, out),
        Mnemonic::Cqo => sign_fill(63, Width::W64, out),
        // They set flags at most.
        Mnemonic::Cmp
        | Mnemonic::Test
        | Mnemonic::Bt
        | Mnemonic::Nop
        | Mnemonic::Endbr64
        | Mnemonic::Endbr32
        | Mnemonic::Pause
        | Mnemonic::Lfence
        | Mnemonic::Mfence
        | Mnemonic::Sfence
        | Mnemonic::Prefetchw
        | Mnemonic::Prefetcht0
        | Mnemonic::Prefetcht1
        | Mnemonic::Prefetcht2
        | Mnemonic::Prefetchnta
        | Mnemonic::Cld
        | Mnemonic::Std
        | Mnemonic::Clc
        | Mnemonic::Stc
        | Mnemonic::Cmc
        | Mnemonic::Wait
        | Mnemonic::Reservednop => true,
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
    if instruction.op_count() == 1 {
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
    let (left, right) = if instruction.op_count() == 2 {
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
    let Some(width @ (Width::W32 | Width::W64)) = source.width() else {
        return false;
    };
    let Some(right) = source.read(Reg::TEMP0, out) else {
        return false;
    };
    let left = Operand::Reg(RAX);
    out.ops.push(Op::Binary { op: BinaryOp::Mul, dst: RAX, left, right, width });
    out.ops.push(Op::Clobber { dst: RDX });
    true
}

fn sign_extend(from: Width, width: Width, out: &mut Lifted) -> bool {
    out.ops.push(Op::Extend { dst: RAX, src: Operand::Reg(RAX), from, signed: true, width });
    true
}

/// `rdx :=` the sign of `rax`, in every bit.
fn sign_fill(sign_bit: u64, width: Width, out: &mut Lifted) -> bool {
    out.ops.push(Op::Binary {
        op: BinaryOp::Sar,
        dst: RDX,
        left: Operand::Reg(RAX),
        right: Operand::Const(sign_bit),
        width,
    });
    true
}
