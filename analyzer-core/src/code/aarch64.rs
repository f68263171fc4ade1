//! AArch64: what each instruction does, read from its 32 bits.
//!
//! The encodings are those of the Arm Architecture Reference Manual (DDI
//! 0487), C4.1. Each of its main groups has a module here, which lifts the
//! instructions that make, move or compare addresses one by one and clobbers
//! what the others can write. What the manual leaves unallocated there is no
//! instruction; neither are SVE and SME, which nothing here reads.

pub(crate) mod address;
mod bitfield;
pub(crate) mod flow;
mod immediate;
mod memory;
mod operand;
mod register;
mod structures;
mod vector;
pub(crate) mod word;

use super::ir::{Flow, LiftError, Lifted};
use word::Word;

/// Bytes of every A64 instruction.
const INSTRUCTION_LEN: u8 = 4;

/// The instruction at the start of `bytes`, if it is one.
pub(crate) fn decode(bytes: &[u8]) -> Result<Word, LiftError> {
    lift(bytes, &mut Lifted::new())?;
    word(bytes)
}

fn word(bytes: &[u8]) -> Result<Word, LiftError> {
    let bytes = bytes.first_chunk::<4>().ok_or(LiftError::Truncated)?;
    Ok(Word(u32::from_le_bytes(*bytes)))
}

/// Lifts one instruction into `out`, which is empty but for its address.
pub(super) fn lift(bytes: &[u8], out: &mut Lifted) -> Result<(), LiftError> {
    let word = word(bytes)?;
    let lifted = match word.bits(25, 4) {
        0b1000 | 0b1001 => immediate::lift(word, out),
        0b1010 | 0b1011 => flow::lift(word, out),
        0b0100 | 0b0110 | 0b1100 | 0b1110 => memory::lift(word, out),
        0b0101 | 0b1101 => register::lift(word, out),
        0b0111 | 0b1111 => vector::lift(word, out),
        // `udf`.
        0 if word.0 >> 16 == 0 => {
            out.flow = Flow::Stop;
            Some(())
        }
        _ => None,
    };
    out.len = INSTRUCTION_LEN;
    lifted.ok_or(LiftError::Undecodable)
}
