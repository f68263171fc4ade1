//! AArch64 text, by yaxpeax-arm's `Display`.

use alloc::format;
use alloc::string::{String, ToString};

use yaxpeax_arm::armv8::a64::{Opcode, Operand as Arg};

use super::{BAD, Names};
use crate::addr::VirtAddr;
use crate::code::aarch64::decode;

pub(super) fn format(bytes: &[u8], address: VirtAddr, names: &dyn Names) -> String {
    let Ok((_, instruction)) = decode(bytes) else {
        return BAD.into();
    };
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
