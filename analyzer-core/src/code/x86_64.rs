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
pub(crate) mod glance;
mod operand;
pub(crate) mod retpoline;
mod vector;

use iced_x86::{Decoder, DecoderError, DecoderOptions, Instruction};

use super::MAX_INSTRUCTION_LEN;
use super::ir::{LiftError, Lifted};
use crate::addr::VirtAddr;

/// Decodes instructions of one run of code.
///
/// Making iced's decoder costs twice as much as decoding an instruction, so
/// it is made once.
pub(crate) struct Reader<'a> {
    code: &'a [u8],
    address: VirtAddr,
    decoder: Decoder<'a>,
}

impl<'a> Reader<'a> {
    /// A reader of `code`, which lies at link-time address `address`.
    pub(crate) fn new(code: &'a [u8], address: VirtAddr) -> Self {
        let decoder = Decoder::with_ip(64, code, address.0, DecoderOptions::NONE);
        Self { code, address, decoder }
    }

    /// Link-time address of the code's first byte.
    pub(super) fn address(&self) -> VirtAddr {
        self.address
    }

    /// The instruction at `at`.
    pub(crate) fn decode(&mut self, at: VirtAddr) -> Result<Instruction, LiftError> {
        let (offset, bytes) = at
            .distance_from(self.address)
            .and_then(|distance| usize::try_from(distance).ok())
            .and_then(|offset| Some((offset, self.code.get(offset..)?)))
            .ok_or(LiftError::Truncated)?;
        self.decoder.set_position(offset).map_err(|_| LiftError::Truncated)?;
        self.decoder.set_ip(at.0);
        let mut instruction = Instruction::default();
        self.decoder.decode_out(&mut instruction);
        if !instruction.is_invalid() {
            Ok(instruction)
        } else if self.decoder.last_error() == DecoderError::NoMoreBytes
            && bytes.len() < MAX_INSTRUCTION_LEN
        {
            Err(LiftError::Truncated)
        } else {
            Err(LiftError::Undecodable)
        }
    }

    /// Lifts the instruction at `out.address` into `out`, which is empty but
    /// for that.
    pub(super) fn lift(&mut self, out: &mut Lifted) -> Result<(), LiftError> {
        let instruction = self.decode(out.address)?;
        out.len = instruction.len() as u8;
        let handled = flow::lift(&instruction, out)
            || data::lift(&instruction, out)
            || arithmetic::lift(&instruction, out)
            || vector::lift(&instruction, out);
        if !handled {
            fallback::lift(&instruction, out);
        }
        Ok(())
    }
}
