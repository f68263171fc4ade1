//! Every instruction that is not lifted one by one: what it writes becomes
//! unknown.

use iced_x86::{
    CodeSize, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register, UsedMemory,
};

use super::operand::{Part, RSP, clobber_memory, move_stack, shift_of};
use crate::addr::VirtAddr;
use crate::code::ir::{Address, Flow, Index, Lifted, Op, Operand, Reg, Width};

/// Bytes of a 512-bit register.
const LARGEST_VECTOR: usize = 64;

/// Clobbers all that `instruction` writes.
pub(super) fn lift(instruction: &Instruction, out: &mut Lifted) {
    if instruction.is_privileged() {
        out.flow = Flow::Stop;
    }
    let mut factory = InstructionInfoFactory::new();
    let info = factory.info(instruction);
    // Addresses are computed from registers as they were: memory goes first.
    for memory in info.used_memory().iter().filter(|memory| writes(memory.access())) {
        if instruction.is_string_instruction() || has_bit_offset(instruction) {
            out.ops.push(Op::ClobberAllMemory);
        } else {
            let size = memory.memory_size().size();
            // What saves more than a vector register saves state, of which
            // processors have more and less.
            let size = if size > LARGEST_VECTOR { 0 } else { size };
            clobber_memory(address(memory), size, out);
        }
    }
    if instruction.is_save_restore_instruction() {
        // Their memory size depends on the processor.
        out.ops.push(Op::ClobberAllMemory);
    }
    let names_stack_pointer =
        Part::of(instruction.op0_register()).is_some_and(|part| part.reg == RSP);
    let stack_increment = i64::from(instruction.stack_pointer_increment());
    let mut written = 0u16;
    for register in info.used_registers().iter().filter(|register| writes(register.access())) {
        if let Some(part) = Part::of(register.register()) {
            written |= 1u16.checked_shl(u32::from(part.reg.0)).unwrap_or(0);
        }
    }
    for number in (0..16u8).filter(|number| written >> number & 1 == 1) {
        let dst = Reg(number);
        if dst == RSP && stack_increment != 0 && !names_stack_pointer {
            move_stack(stack_increment as u64, out);
        } else {
            out.ops.push(Op::Clobber { dst });
        }
    }
}

/// Whether the memory written is not where the operand says: `bts [rdi], rsi`
/// changes bit `rsi` of a bit string that starts there.
fn has_bit_offset(instruction: &Instruction) -> bool {
    matches!(instruction.mnemonic(), Mnemonic::Bts | Mnemonic::Btr | Mnemonic::Btc)
        && instruction.op1_kind() == OpKind::Register
}

const fn writes(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}

fn address(memory: &UsedMemory) -> Option<Address> {
    if matches!(memory.address_size(), CodeSize::Code16 | CodeSize::Code32) {
        return None;
    }
    let thread_pointer = match memory.segment() {
        Register::FS => true,
        Register::GS => return None,
        _ => false,
    };
    let (base, displacement) = match memory.base() {
        Register::None => (Operand::Const(0), memory.displacement()),
        Register::RIP => (Operand::Pc(VirtAddr(memory.displacement())), 0),
        register if register.is_gpr64() => {
            (Operand::Reg(Part::of(register)?.reg), memory.displacement())
        }
        _ => return None,
    };
    let index = match memory.index() {
        Register::None => None,
        register if register.is_gpr64() => Some(Index {
            reg: Part::of(register)?.reg,
            width: Width::W64,
            signed: false,
            shift: shift_of(memory.scale())?,
        }),
        _ => return None,
    };
    Some(Address { thread_pointer, base, index, displacement })
}
