//! Where control goes: jumps, calls, returns, traps.

use iced_x86::{Code, FlowControl, Instruction, Mnemonic, OpKind, Register};

use super::operand::{Place, R11, RAX, RCX, RSP, load, move_stack, stack, store};
use crate::addr::VirtAddr;
use crate::code::ir::{Address, BinaryOp, Flow, Lifted, Op, Operand, Reg, Target, Width};

/// Lifts the instruction if control can go elsewhere than to the next one, or
/// if it enters the kernel.
pub(super) fn lift(instruction: &Instruction, out: &mut Lifted) -> bool {
    match instruction.flow_control() {
        FlowControl::Next => match instruction.mnemonic() {
            // Writing the thread pointer would change what `fs:` means; no
            // code that an analysis follows does it.
            Mnemonic::Wrfsbase | Mnemonic::Lfs | Mnemonic::Hlt => out.flow = Flow::Stop,
            Mnemonic::Mov | Mnemonic::Pop if instruction.op0_register() == Register::FS => {
                out.flow = Flow::Stop;
            }
            _ => return false,
        },
        FlowControl::ConditionalBranch => branch(instruction, out),
        FlowControl::UnconditionalBranch => match near_target(instruction) {
            Some(target) => out.flow = Flow::Jump(Target::Address(target)),
            None => out.flow = Flow::Stop,
        },
        FlowControl::Call => call(instruction, out),
        FlowControl::IndirectBranch => match indirect_target(instruction, false, out) {
            Some(target) => out.flow = Flow::Jump(target),
            None => out.flow = Flow::Stop,
        },
        FlowControl::IndirectCall => match indirect_target(instruction, true, out) {
            Some(target) => {
                push_return_address(instruction, out);
                out.flow = Flow::Call(target);
            }
            None => out.flow = Flow::Stop,
        },
        FlowControl::Return => near_return(instruction, out),
        FlowControl::XbeginXabortXend => match near_target(instruction) {
            Some(target) => {
                out.ops.push(Op::Clobber { dst: RAX });
                out.flow = Flow::Branch(target);
            }
            None => out.flow = Flow::Next,
        },
        FlowControl::Interrupt | FlowControl::Exception => out.flow = Flow::Stop,
    }
    true
}

fn near_target(instruction: &Instruction) -> Option<VirtAddr> {
    match instruction.op0_kind() {
        OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64 => {
            Some(VirtAddr(instruction.near_branch_target()))
        }
        _ => None,
    }
}

fn branch(instruction: &Instruction, out: &mut Lifted) {
    match instruction.mnemonic() {
        Mnemonic::Loop | Mnemonic::Loope | Mnemonic::Loopne => match instruction.code() {
            Code::Loop_rel8_64_RCX | Code::Loope_rel8_64_RCX | Code::Loopne_rel8_64_RCX => {
                out.ops.push(Op::Binary {
                    op: BinaryOp::Sub,
                    dst: RCX,
                    left: Operand::Reg(RCX),
                    right: Operand::Const(1),
                    width: Width::W64,
                });
            }
            _ => out.ops.push(Op::Clobber { dst: RCX }),
        },
        _ => {}
    }
    out.flow = match near_target(instruction) {
        Some(target) => Flow::Branch(target),
        None => Flow::Stop,
    };
}

fn call(instruction: &Instruction, out: &mut Lifted) {
    if let Some(target) = near_target(instruction) {
        push_return_address(instruction, out);
        out.flow = Flow::Call(Target::Address(target));
        return;
    }
    match instruction.mnemonic() {
        // The kernel keeps the other registers (psABI, A.2.1) and may write
        // to any buffer it is given.
        Mnemonic::Syscall => {
            out.ops.push(Op::ClobberAllMemory);
            for dst in [RAX, RCX, R11] {
                out.ops.push(Op::Clobber { dst });
            }
        }
        _ => out.flow = Flow::Stop,
    }
}

fn push_return_address(instruction: &Instruction, out: &mut Lifted) {
    let below = 8u64.wrapping_neg();
    let src = Operand::Pc(VirtAddr(instruction.next_ip()));
    store(Some(stack(below)), src, Width::W64, out);
    move_stack(below, out);
}

/// The target, which is to be evaluated after the effects: where a call's own
/// push would change it, it is put into a temporary first.
fn indirect_target(instruction: &Instruction, call: bool, out: &mut Lifted) -> Option<Target> {
    match Place::of(instruction, 0) {
        Place::Part(part) if part.width == Width::W64 => {
            if !(call && part.reg == RSP) {
                return Some(Target::Reg(part.reg));
            }
            let src = Operand::Reg(RSP);
            out.ops.push(Op::Move { dst: Reg::TEMP0, src, width: Width::W64 });
            Some(Target::Reg(Reg::TEMP0))
        }
        Place::Memory(Some(address), 8) if !(call && uses_stack_pointer(&address)) => {
            Some(Target::Memory(address))
        }
        Place::Memory(address, 8) => {
            load(Reg::TEMP0, address, Width::W64, false, Width::W64, out);
            Some(Target::Reg(Reg::TEMP0))
        }
        _ => None,
    }
}

fn uses_stack_pointer(address: &Address) -> bool {
    address.base == Operand::Reg(RSP) || address.index.is_some_and(|index| index.reg == RSP)
}

fn near_return(instruction: &Instruction, out: &mut Lifted) {
    match instruction.code() {
        Code::Retnq => {
            move_stack(8, out);
            out.flow = Flow::Return;
        }
        Code::Retnq_imm16 => {
            move_stack(u64::from(instruction.immediate16()).wrapping_add(8), out);
            out.flow = Flow::Return;
        }
        _ => out.flow = Flow::Stop,
    }
}
