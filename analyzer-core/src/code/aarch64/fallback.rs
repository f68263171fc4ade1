//! Every instruction that is not lifted one by one: what its encoding class
//! can write becomes unknown (Arm ARM, DDI 0487, C4.1: bits 28 to 25 are the
//! class; destinations stand at fixed places).

use yaxpeax_arm::armv8::a64::{Instruction, Opcode, Operand as Arg};

use super::operand::{SP, base, clobber, numbered};
use crate::code::ir::{Address, Lifted, Op, Operand};

/// Clobbers all that the instruction can write.
pub(super) fn lift(word: u32, instruction: &Instruction, out: &mut Lifted) {
    match word >> 25 & 0xf {
        0b0100 | 0b0110 | 0b1100 | 0b1110 => memory(word, instruction, out),
        0b1000 | 0b1001 | 0b0101 | 0b1101 => integer(word, instruction, out),
        0b0111 | 0b1111 => vector(instruction, out),
        // System instructions: `sys` can be `dc zva`, which writes memory.
        _ => {
            if matches!(instruction.opcode, Opcode::SYS(_)) {
                out.ops.push(Op::ClobberAllMemory);
            }
            clobber(numbered(field(word, 0)), out);
        }
    }
}

/// The 5-bit register number at bit `at`.
const fn field(word: u32, at: u32) -> u16 {
    (word >> at & 31) as u16
}

fn integer(word: u32, instruction: &Instruction, out: &mut Lifted) {
    match instruction.opcode {
        // Bits 4 to 0 are flags.
        Opcode::CCMN | Opcode::CCMP | Opcode::SETF8 | Opcode::SETF16 | Opcode::RMIF => {}
        _ => match (field(word, 0), instruction.operands[0]) {
            (31, Arg::RegisterOrSP(..)) => out.ops.push(Op::Clobber { dst: SP }),
            (number, _) => clobber(numbered(number), out),
        },
    }
}

/// Moves and conversions from a vector register have a general one as first
/// operand, nothing else does.
fn vector(instruction: &Instruction, out: &mut Lifted) {
    if let Arg::Register(_, number) = instruction.operands[0] {
        clobber(numbered(number), out);
    }
}

fn memory(word: u32, instruction: &Instruction, out: &mut Lifted) {
    let mut written = 0u32;
    let mut writes = |number: u16| written |= 1u32.checked_shl(u32::from(number)).unwrap_or(0);
    if is_atomic(word) {
        // Read, modify, write: the old value to Rt, memory at Rn.
        let address = Address::offset(Operand::Reg(base(field(word, 5))), 0);
        let size = 1u32.checked_shl(word >> 30).unwrap_or(8);
        out.ops.push(Op::ClobberMemory { address, size });
        clobber(numbered(field(word, 0)), out);
        return;
    }
    out.ops.push(Op::ClobberAllMemory);
    let vector = word >> 26 & 1 == 1;
    if !vector {
        for at in [0, 10, 16] {
            if field(word, at) != 31 {
                writes(field(word, at));
            }
        }
        if matches!(instruction.opcode, Opcode::CASP(_)) && field(word, 16) < 30 {
            writes(field(word, 16).wrapping_add(1));
        }
    }
    let writes_back = instruction.operands.iter().any(|arg| {
        matches!(
            arg,
            Arg::RegPostIndex(..) | Arg::RegPostIndexReg(..) | Arg::RegPreIndex(_, _, true)
        )
    });
    if writes_back {
        writes(field(word, 5));
    }
    for number in (0..32u16).filter(|number| written >> number & 1 == 1) {
        out.ops.push(Op::Clobber { dst: base(number) });
    }
}

/// Atomic memory operations (Arm ARM, C4.1.94): bits 29 to 27 are 111, 25 and
/// 24 zero, 21 set, 11 and 10 zero; V, bit 26, zero.
const fn is_atomic(word: u32) -> bool {
    word & 0x3f20_0c00 == 0x3820_0000
}
