//! Data processing: addresses, sums, logic, moves, products, selections.

use yaxpeax_arm::armv8::a64::{Instruction, Opcode, Operand as Arg};

use super::bitfield;
use super::operand::{Gpr, assign, binary, flexible, relative};
use crate::addr::VirtAddr;
use crate::code::ir::{BinaryOp, Lifted, Op, Operand, Reg, Width};

/// Bytes of the page `adrp` computes with.
const PAGE: u64 = 4096;

/// Lifts the instruction if it is one of these.
pub(super) fn lift(instruction: &Instruction, out: &mut Lifted) -> bool {
    lift_kind(instruction, out).is_some()
}

fn lift_kind(instruction: &Instruction, out: &mut Lifted) -> Option<()> {
    match instruction.opcode {
        Opcode::ADR => address(instruction, out.address, out),
        Opcode::ADRP => {
            let page = VirtAddr(out.address.0 & !(PAGE - 1));
            address(instruction, page, out)
        }
        Opcode::ADD | Opcode::ADDS => three_operands(BinaryOp::Add, false, instruction, out),
        Opcode::SUB | Opcode::SUBS => three_operands(BinaryOp::Sub, false, instruction, out),
        Opcode::AND | Opcode::ANDS => three_operands(BinaryOp::And, false, instruction, out),
        Opcode::BIC | Opcode::BICS => three_operands(BinaryOp::And, true, instruction, out),
        Opcode::ORR => three_operands(BinaryOp::Or, false, instruction, out),
        Opcode::ORN => three_operands(BinaryOp::Or, true, instruction, out),
        Opcode::EOR => three_operands(BinaryOp::Xor, false, instruction, out),
        Opcode::EON => three_operands(BinaryOp::Xor, true, instruction, out),
        Opcode::MOVZ | Opcode::MOVN | Opcode::MOVK => move_wide(instruction, out),
        Opcode::UBFM | Opcode::SBFM | Opcode::BFM => bitfield::lift(instruction, out),
        Opcode::MADD => multiply_add(BinaryOp::Add, None, instruction, out),
        Opcode::MSUB => multiply_add(BinaryOp::Sub, None, instruction, out),
        Opcode::UMADDL => multiply_add(BinaryOp::Add, Some(false), instruction, out),
        Opcode::UMSUBL => multiply_add(BinaryOp::Sub, Some(false), instruction, out),
        Opcode::SMADDL => multiply_add(BinaryOp::Add, Some(true), instruction, out),
        Opcode::SMSUBL => multiply_add(BinaryOp::Sub, Some(true), instruction, out),
        Opcode::CSEL | Opcode::CSINC | Opcode::CSINV | Opcode::CSNEG => select(instruction, out),
        _ => None,
    }
}

fn address(instruction: &Instruction, origin: VirtAddr, out: &mut Lifted) -> Option<()> {
    let [dst, Arg::PCOffset(offset), ..] = instruction.operands else {
        return None;
    };
    let src = Operand::Pc(relative(origin, offset));
    assign(Gpr::of(dst)?.reg, src, Width::W64, out);
    Some(())
}

/// `dst := left op right`, with the right operand inverted for the forms
/// whose name says "not".
fn three_operands(
    op: BinaryOp,
    inverted: bool,
    instruction: &Instruction,
    out: &mut Lifted,
) -> Option<()> {
    let [dst, left, right, _] = instruction.operands;
    let (dst, left) = (Gpr::of(dst)?, Gpr::of(left)?);
    let width = dst.width;
    let mut right = flexible(right, width, Reg::TEMP0, out)?;
    if inverted {
        let ones = Operand::Const(u64::MAX);
        binary(BinaryOp::Xor, Some(Reg::TEMP0), right, ones, width, out);
        right = Operand::Reg(Reg::TEMP0);
    }
    match (op, left.value(), right) {
        (BinaryOp::Or | BinaryOp::Add, Operand::Const(0), value)
        | (BinaryOp::Add | BinaryOp::Sub, value, Operand::Const(0)) => {
            assign(dst.reg, value, width, out);
        }
        (_, left, right) => binary(op, dst.reg, left, right, width, out),
    }
    Some(())
}

fn move_wide(instruction: &Instruction, out: &mut Lifted) -> Option<()> {
    let [dst, Arg::ImmShift(immediate, shift), ..] = instruction.operands else {
        return None;
    };
    let dst = Gpr::of(dst)?;
    let bits = u64::from(immediate).checked_shl(u32::from(shift))?;
    match instruction.opcode {
        Opcode::MOVK => {
            let hole = !0xffffu64.checked_shl(u32::from(shift))?;
            let kept = Operand::Const(hole & dst.width.mask());
            binary(BinaryOp::And, dst.reg, dst.value(), kept, dst.width, out);
            binary(BinaryOp::Or, dst.reg, dst.value(), Operand::Const(bits), dst.width, out);
        }
        Opcode::MOVN => assign(dst.reg, Operand::Const(!bits & dst.width.mask()), dst.width, out),
        _ => assign(dst.reg, Operand::Const(bits), dst.width, out),
    }
    Some(())
}

/// `dst := addend ± left * right`; `widened` says that the factors are
/// 32-bit registers, and whether they are signed.
fn multiply_add(
    op: BinaryOp,
    widened: Option<bool>,
    instruction: &Instruction,
    out: &mut Lifted,
) -> Option<()> {
    let [dst, left, right, addend] = instruction.operands.map(Gpr::of);
    let (dst, left, right, addend) = (dst?, left?, right?, addend?);
    let width = dst.width;
    let (mut left, mut right) = (left.value(), right.value());
    if let Some(signed) = widened {
        for (factor, temp) in [(&mut left, Reg::TEMP0), (&mut right, Reg::TEMP1)] {
            out.ops.push(Op::Extend { dst: temp, src: *factor, from: Width::W32, signed, width });
            *factor = Operand::Reg(temp);
        }
    }
    if op == BinaryOp::Add && addend.reg.is_none() {
        binary(BinaryOp::Mul, dst.reg, left, right, width, out);
    } else {
        let product = Operand::Reg(Reg::TEMP0);
        binary(BinaryOp::Mul, Some(Reg::TEMP0), left, right, width, out);
        binary(op, dst.reg, addend.value(), product, width, out);
    }
    Some(())
}

fn select(instruction: &Instruction, out: &mut Lifted) -> Option<()> {
    let [dst, left, right, _] = instruction.operands.map(Gpr::of);
    let (dst, left, right) = (dst?, left?.value(), right?.value());
    let width = dst.width;
    let (op, first, second) = match instruction.opcode {
        Opcode::CSINC => (BinaryOp::Add, right, Operand::Const(1)),
        Opcode::CSINV => (BinaryOp::Xor, right, Operand::Const(u64::MAX)),
        Opcode::CSNEG => (BinaryOp::Sub, Operand::Const(0), right),
        _ => {
            if let Some(dst) = dst.reg {
                out.ops.push(Op::Select { dst, left, right, width });
            }
            return Some(());
        }
    };
    if let Some(dst) = dst.reg {
        binary(op, Some(Reg::TEMP0), first, second, width, out);
        out.ops.push(Op::Select { dst, left, right: Operand::Reg(Reg::TEMP0), width });
    }
    Some(())
}
