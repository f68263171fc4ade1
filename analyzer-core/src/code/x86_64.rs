//! x86-64: what each instruction does.
//!
//! Instructions that make, move or compare addresses are lifted one by one,
//! by kind ([`data`], [`arithmetic`], [`flow`]). For every other one its
//! operands say what to clobber ([`fallback`]).

mod arithmetic;
mod data;
pub(crate) mod decode;
mod fallback;
mod flow;
pub(crate) mod glance;
mod operand;
pub(crate) mod retpoline;

use super::ir::{LiftError, Lifted};
use crate::addr::VirtAddr;
use decode::Instruction;

/// Decodes instructions of one run of code.
pub(crate) struct Reader<'a> {
    code: &'a [u8],
    address: VirtAddr,
    /// The one decoded last; copying it would cost as much as decoding.
    instruction: Instruction,
}

impl<'a> Reader<'a> {
    /// A reader of `code`, which lies at link-time address `address`.
    pub(crate) fn new(code: &'a [u8], address: VirtAddr) -> Self {
        Self { code, address, instruction: Instruction::new() }
    }

    /// Link-time address of the code's first byte.
    pub(super) fn address(&self) -> VirtAddr {
        self.address
    }

    /// The instruction at `at`.
    pub(crate) fn decode(&mut self, at: VirtAddr) -> Result<&Instruction, LiftError> {
        let bytes = at
            .distance_from(self.address)
            .and_then(|distance| usize::try_from(distance).ok())
            .and_then(|offset| self.code.get(offset..))
            .ok_or(LiftError::Truncated)?;
        self.instruction.decode(bytes, at)?;
        Ok(&self.instruction)
    }

    /// Lifts the instruction at `out.address` into `out`, which is empty but
    /// for that.
    pub(super) fn lift(&mut self, out: &mut Lifted) -> Result<(), LiftError> {
        let instruction = self.decode(out.address)?;
        out.len = instruction.len;
        let handled = flow::lift(instruction, out)
            || data::lift(instruction, out)
            || arithmetic::lift(instruction, out);
        if !handled {
            fallback::lift(instruction, out);
        }
        Ok(())
    }
}
