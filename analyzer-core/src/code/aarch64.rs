//! AArch64: yaxpeax-arm's decoder, and what each instruction does.
//!
//! Instructions that make, move or compare addresses are lifted one by one,
//! by kind ([`flow`], [`memory`], [`arithmetic`]). For every other one its
//! encoding class says which registers and memory it can write
//! ([`fallback`]).

mod arithmetic;
mod bitfield;
mod fallback;
mod flow;
mod memory;
mod operand;

use yaxpeax_arch::{Decoder, U8Reader};
use yaxpeax_arm::armv8::a64::{InstDecoder, Instruction, Opcode};

use super::ir::{LiftError, Lifted};

/// Bytes of every A64 instruction.
const INSTRUCTION_LEN: u8 = 4;

/// Decodes one instruction; gives its 32 bits, too.
pub(crate) fn decode(bytes: &[u8]) -> Result<(u32, Instruction), LiftError> {
    let Some(bytes) = bytes.first_chunk::<4>() else {
        return Err(LiftError::Truncated);
    };
    let word = u32::from_le_bytes(*bytes);
    let mut instruction = Instruction::default();
    InstDecoder::default()
        .decode_into(&mut instruction, &mut U8Reader::new(bytes))
        .map_err(|_| LiftError::Undecodable)?;
    if instruction.opcode == Opcode::Invalid || is_unallocated(word) {
        return Err(LiftError::Undecodable);
    }
    Ok((word, instruction))
}

/// Words that yaxpeax-arm 0.5.0 decodes although the architecture (Arm ARM,
/// DDI 0487, C4.1) has no instruction there: 32-bit forms that shift by 32 or
/// more.
const fn is_unallocated(word: u32) -> bool {
    let is_32_bit = word >> 31 == 0;
    // Move wide (immediate) with `hw` above 1.
    let move_wide = word >> 23 & 0x3f == 0b10_0101 && word >> 22 & 1 == 1;
    // Logical (shifted register) with `imm6` above 31.
    let logical = word >> 24 & 0x1f == 0b0_1010 && word >> 15 & 1 == 1;
    is_32_bit && (move_wide || logical)
}

/// Lifts one instruction into `out`, which is empty but for its address.
pub(super) fn lift(bytes: &[u8], out: &mut Lifted) -> Result<(), LiftError> {
    let (word, instruction) = decode(bytes)?;
    out.len = INSTRUCTION_LEN;
    let handled = arithmetic::lift(&instruction, out)
        || memory::lift(&instruction, out)
        || flow::lift(&instruction, out);
    if !handled {
        fallback::lift(word, &instruction, out);
    }
    Ok(())
}
