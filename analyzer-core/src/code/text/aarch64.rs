//! AArch64 text, by yaxpeax-arm's `Display`.

use alloc::format;
use alloc::string::{String, ToString};

use yaxpeax_arm::armv8::a64::{Instruction, Opcode, Operand as Arg, ShiftStyle, SizeCode};

use super::{BAD, Names};
use crate::addr::VirtAddr;
use crate::code::aarch64::decode;

pub(super) fn format(bytes: &[u8], address: VirtAddr, names: &dyn Names) -> String {
    let Ok((_, mut instruction)) = decode(bytes) else {
        return BAD.into();
    };
    if let Some(name) = branch_target_hint(&instruction) {
        return name.into();
    }
    if let [Arg::RegisterOrSP(SizeCode::X, _), _, third, _] = &mut instruction.operands
        && let Arg::RegShift(ShiftStyle::LSL, amount, SizeCode::W, number) = *third
    {
        // The decoder's word for the extension of a 32-bit register.
        *third = Arg::RegShift(ShiftStyle::UXTW, amount, SizeCode::W, number);
    }
    let text = instruction.to_string();
    let offset = instruction.operands.iter().find_map(|arg| match arg {
        Arg::PCOffset(offset) => Some(*offset),
        _ => None,
    });
    let Some(offset) = offset else {
        return text;
    };
    let origin = match instruction.opcode {
        Opcode::ADRP => address.0 & !0xfff,
        _ => address.0,
    };
    let target = VirtAddr(origin.wrapping_add(offset as u64));
    let printed = match (names.name_at(target), instruction.opcode) {
        (Some(name), Opcode::ADR | Opcode::LDR | Opcode::LDRSW | Opcode::PRFM) => {
            format!("{target} <{name}>")
        }
        (None, _) | (_, Opcode::ADRP) => target.to_string(),
        (Some(name), _) => name,
    };
    text.replacen(&Arg::PCOffset(offset).to_string(), &printed, 1)
}

/// Hints 32 to 38, which the decoder has no name for (Arm ARM, C6.2, `BTI`).
fn branch_target_hint(instruction: &Instruction) -> Option<&'static str> {
    match (instruction.opcode, instruction.operands) {
        (Opcode::HINT, [Arg::ControlReg(4), Arg::Immediate(kind), ..]) => match kind {
            0 => Some("bti"),
            2 => Some("bti c"),
            4 => Some("bti j"),
            6 => Some("bti jc"),
            _ => None,
        },
        _ => None,
    }
}
