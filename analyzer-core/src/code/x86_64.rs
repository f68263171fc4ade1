//! x86-64: iced-x86's decoder, and what each instruction does.
//!
//! Instructions that make, move or compare addresses are lifted one by one,
//! by kind ([`data`], [`arithmetic`], [`flow`]). Vector instructions that
//! touch no general register are passed by ([`vector`]). For every other one
//! iced's register and memory usage says what to clobber ([`fallback`]).

mod arithmetic;
mod data;
mod fallback;
mod flow;
mod operand;
mod vector;

use iced_x86::{Decoder, DecoderError, DecoderOptions, Instruction, Mnemonic};

use super::MAX_INSTRUCTION_LEN;
use super::ir::{LiftError, Lifted};

/// Decodes one instruction at link-time address `address`.
pub(super) fn decode(bytes: &[u8], address: u64) -> Result<Instruction, LiftError> {
    let window = bytes.get(..MAX_INSTRUCTION_LEN).unwrap_or(bytes);
    let mut decoder = Decoder::with_ip(64, window, address, DecoderOptions::NONE);
    let mut instruction = Instruction::default();
    decoder.decode_out(&mut instruction);
    if !instruction.is_invalid() {
        Ok(instruction)
    } else if decoder.last_error() == DecoderError::NoMoreBytes && bytes.len() < MAX_INSTRUCTION_LEN
    {
        Err(LiftError::Truncated)
    } else {
        Err(LiftError::Undecodable)
    }
}

/// Lifts one instruction into `out`, which is empty but for its address.
pub(super) fn lift(bytes: &[u8], out: &mut Lifted) -> Result<(), LiftError> {
    let instruction = decode(bytes, out.address.0)?;
    out.len = instruction.len() as u8;
    let handled = flow::lift(&instruction, out)
        || data::lift(&instruction, out)
        || arithmetic::lift(&instruction, out)
        || vector::lift(&instruction, out);
    if !handled {
        fallback::lift(&instruction, out);
    }
    if instruction.mnemonic() == Mnemonic::Lea {
        out.data16 = has_data16_prefix(bytes);
    }
    Ok(())
}

/// Whether a `66` stands among the legacy prefixes.
fn has_data16_prefix(bytes: &[u8]) -> bool {
    bytes
        .iter()
        .take_while(|byte| {
            matches!(
                byte,
                0x66 | 0x67 | 0x26 | 0x2e | 0x36 | 0x3e | 0x64 | 0x65 | 0xf0 | 0xf2 | 0xf3
            )
        })
        .any(|byte| *byte == 0x66)
}
