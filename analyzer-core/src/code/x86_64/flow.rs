//! Where control goes: jumps, calls, returns, traps.

use super::decode::{self, FS, File, Instruction, Kind, Register};
use super::operand::{Place, R11, RAX, RCX, RSP, load, move_stack, stack, store};
use crate::addr::VirtAddr;
use crate::code::ir::{Address, BinaryOp, Flow, Lifted, Op, Operand, Reg, Target, Width};

/// Lifts the instruction if control can go elsewhere than to the next one, or
/// if it enters the kernel.
pub(super) fn lift(instruction: &Instruction, out: &mut Lifted) -> bool {
    match instruction.kind() {
        Kind::Stop => out.flow = Flow::Stop,
        Kind::Mov | Kind::Pop if changes_system_register(instruction) => out.flow = Flow::Stop,
        Kind::Branch => branch(instruction, out),
        Kind::Loop => {
            count_down(instruction, out);
            branch(instruction, out);
        }
        Kind::Jmp => {
            out.flow = match near_target(instruction) {
                Some(target) => Flow::Jump(Target::Address(target)),
                None => match indirect_target(instruction, false, out) {
                    Some(target) => Flow::Jump(target),
                    None => Flow::Stop,
                },
            };
        }
        Kind::Call => call(instruction, out),
        Kind::Ret => near_return(instruction, out),
        Kind::Xbegin => {
            out.ops.push(Op::Clobber { dst: RAX });
            branch(instruction, out);
        }
        // The kernel keeps the other registers (psABI, A.2.1) and may write
        // to any buffer it is given.
        Kind::Syscall => {
            out.ops.push(Op::ClobberAllMemory);
            for dst in [RAX, RCX, R11] {
                out.ops.push(Op::Clobber { dst });
            }
        }
        _ => return false,
    }
    true
}

/// Whether the instruction needs privileges, or writes the thread pointer,
/// which would change what `fs:` means; no code that an analysis follows does
/// either.
fn changes_system_register(instruction: &Instruction) -> bool {
    let is_system = |number| match instruction.operand(number) {
        decode::Operand::Register(Register { file, .. }) => {
            matches!(file, File::Control | File::Debug)
        }
        _ => false,
    };
    let fs = Register { file: File::Segment, number: FS };
    instruction.operand(0) == decode::Operand::Register(fs) || is_system(0) || is_system(1)
}

fn near_target(instruction: &Instruction) -> Option<VirtAddr> {
    match instruction.operand(0) {
        decode::Operand::Target(target) => Some(target),
        _ => None,
    }
}

/// Counts `rcx` down, or `ecx` with an address-size prefix.
fn count_down(instruction: &Instruction, out: &mut Lifted) {
    out.ops.push(if instruction.has_32_bit_addresses() {
        Op::Clobber { dst: RCX }
    } else {
        Op::Binary {
            op: BinaryOp::Sub,
            dst: RCX,
            left: Operand::Reg(RCX),
            right: Operand::Const(1),
            width: Width::W64,
        }
    });
}

fn branch(instruction: &Instruction, out: &mut Lifted) {
    out.flow = match near_target(instruction) {
        Some(target) => Flow::Branch(target),
        None => Flow::Stop,
    };
}

fn call(instruction: &Instruction, out: &mut Lifted) {
    let target = match near_target(instruction) {
        Some(target) => Some(Target::Address(target)),
        None => indirect_target(instruction, true, out),
    };
    out.flow = match target {
        Some(target) => {
            push_return_address(instruction, out);
            Flow::Call(target)
        }
        None => Flow::Stop,
    };
}

fn push_return_address(instruction: &Instruction, out: &mut Lifted) {
    let below = 8u64.wrapping_neg();
    let src = Operand::Pc(instruction.next());
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
    let dropped = match instruction.operand(0) {
        decode::Operand::Immediate(bytes) => bytes,
        _ => 0,
    };
    move_stack(dropped.wrapping_add(8), out);
    out.flow = Flow::Return;
}
