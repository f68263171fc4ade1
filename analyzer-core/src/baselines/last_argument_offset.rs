//! *Last offset of the argument register up to the first `b`*.
//!
//! Describes `decodeStubArgumentARM64` of the OpenTelemetry eBPF profiler as
//! of b442421 (2026; in 2024 without the load's own offset). For each register
//! only the last immediate added is kept, whatever it was added to; what is
//! added or loaded is taken as relative to `_PyRuntime`. `b.cond` ends the
//! search like `b`; `bl` does not. Any other write of `x0` spoils it: a copy
//! from another register, a comparison, a `cbz`.

use alloc::format;

use yaxpeax_arm::armv8::a64::{Instruction, Opcode, Operand};

use super::{Answer, Failure, stub::KeySearch};
use crate::{addr::VirtAddr, code::aarch64::decode, image::Image};

pub(super) fn find(image: &Image<'_>, has_runtime: bool) -> Result<Answer<VirtAddr>, Failure> {
    let search = KeySearch::new(image, has_runtime)?;
    let mut offsets = [0u64; 32];
    let mut argument: Option<u64> = None;
    let mut written = None;
    let mut at = search.stub.address;
    for bytes in search.stub.code.chunks(4) {
        let Ok((_, instruction)) = decode(bytes) else {
            let detail = "It cannot decode the instruction.";
            return Err(Failure::new("undecodable", at, detail));
        };
        if matches!(instruction.opcode, Opcode::B | Opcode::Bcc(_)) {
            let Some(offset) = argument else {
                let detail =
                    format!("The argument is neither a sum nor loaded when {at} branches.");
                return Err(Failure::new("argument-not-understood", written.unwrap_or(at), detail));
            };
            let value = search.runtime.wrapping_add(offset);
            return search.accept(Answer { value, at: written });
        }
        if let Some(target) = first_register(&instruction) {
            let kept = added(&instruction);
            if target == 0 {
                written = Some(at);
                argument = kept.or_else(|| {
                    let (base, offset) = loaded_from(&instruction)?;
                    Some(offsets.get(usize::from(base))?.wrapping_add(offset))
                });
            }
            if let Some(slot) = offsets.get_mut(usize::from(target)) {
                *slot = kept.unwrap_or(0);
            }
        }
        at = VirtAddr(at.0.wrapping_add(4));
    }
    let detail = "The 64 bytes it reads, or the function, end before a branch.";
    Err(Failure::new("code-ends", at, detail))
}

/// The register printed first, which the decoder takes for the one written.
pub(super) fn first_register(instruction: &Instruction) -> Option<u16> {
    let [first, second, ..] = instruction.operands;
    let is_comparison = matches!(instruction.opcode, Opcode::ADDS | Opcode::SUBS | Opcode::ANDS)
        && matches!(first, Operand::Register(_, 31));
    register(if is_comparison { second } else { first })
}

/// The number of a general-purpose register that is neither `sp` nor `xzr`.
pub(super) fn register(operand: Operand) -> Option<u16> {
    match operand {
        Operand::Register(_, number) | Operand::RegisterOrSP(_, number) if number < 31 => {
            Some(number)
        }
        _ => None,
    }
}

/// The immediate of an `add`; the decoder drops its shift.
pub(super) fn added(instruction: &Instruction) -> Option<u64> {
    if instruction.opcode != Opcode::ADD {
        return None;
    }
    let [target, base, immediate, _] = instruction.operands;
    let is_move =
        [target, base].iter().any(|operand| matches!(operand, Operand::RegisterOrSP(_, 31)));
    match immediate {
        // `mov` to or from the stack pointer is another instruction to it.
        Operand::Immediate(0) if is_move => None,
        Operand::Immediate(number) => Some(u64::from(number)),
        Operand::ImmShift(number, _) => Some(u64::from(number)),
        _ => None,
    }
}

/// Base register and offset of an `ldr`, whichever way it is indexed.
pub(super) fn loaded_from(instruction: &Instruction) -> Option<(u16, u64)> {
    if instruction.opcode != Opcode::LDR {
        return None;
    }
    match instruction.operands {
        [_, Operand::RegPreIndex(base, offset, _) | Operand::RegPostIndex(base, offset), ..]
            if base < 31 =>
        {
            Some((base, i64::from(offset) as u64))
        }
        _ => None,
    }
}
