//! Every instruction that is not lifted one by one: what it writes becomes
//! unknown.

use super::decode::{Base, Instruction, Kind, MOST_OPERANDS, Operand, RAX, RBX, RCX, RDX};
use super::operand::{Part, address, clobber_memory};
use crate::code::ir::{Lifted, Op, Reg};

/// Bytes of a 512-bit register: what saves more saves state, of which
/// processors have more and less.
const LARGEST_VECTOR: u16 = 64;

/// Clobbers all that `instruction` writes.
pub(super) fn lift(instruction: &Instruction, out: &mut Lifted) {
    let mut written = 0u16;
    let mut write = |number: u8| written |= 1u16.checked_shl(number.into()).unwrap_or(0);
    if let Some(unnamed) = instruction.unnamed() {
        if unnamed.memory {
            out.ops.push(Op::ClobberAllMemory);
        }
        unnamed.registers.into_iter().flatten().for_each(&mut write);
    }
    for (register, number) in [(RAX, 0), (RCX, 1), (RDX, 2), (RBX, 3)] {
        if instruction.clobbers() & register != 0 {
            write(number);
        }
    }
    let count = match instruction.kind() {
        Kind::Reads => 0,
        Kind::WritesTwo => 2,
        _ => 1,
    };
    let mut is_string = false;
    for number in 0..MOST_OPERANDS {
        let operand = instruction.operand(number);
        // Addresses are computed from registers as they were: memory goes first.
        match operand {
            Operand::String(memory, _) => {
                is_string = true;
                if let Base::Register(register) = memory.base {
                    write(register);
                }
                if number < count {
                    out.ops.push(Op::ClobberAllMemory);
                }
            }
            Operand::None => break,
            _ if number >= count => {}
            Operand::Register(register) => {
                if let Some(part) = Part::of(register) {
                    write(part.reg.0);
                }
            }
            Operand::Memory(memory, size) => {
                let known = size <= LARGEST_VECTOR && !has_bit_offset(instruction);
                clobber_memory(address(&memory).filter(|_| known), size, out);
            }
            Operand::Immediate(_) | Operand::Target(_) => {}
        }
    }
    if is_string && instruction.is_repeated() {
        write(1);
    }
    if instruction.kind() == Kind::Saves {
        // How much that is depends on the processor.
        out.ops.push(Op::ClobberAllMemory);
    }
    for number in (0..16u8).filter(|number| written >> number & 1 == 1) {
        out.ops.push(Op::Clobber { dst: Reg(number) });
    }
}

/// Whether the memory written is not where the operand says: `bts [rdi], rsi`
/// changes bit `rsi` of a bit string that starts there.
fn has_bit_offset(instruction: &Instruction) -> bool {
    instruction.kind() == Kind::Bit && matches!(instruction.operand(1), Operand::Register(_))
}
