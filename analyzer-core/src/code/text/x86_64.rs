//! x86-64 text, by iced-x86's small formatter.

use alloc::format;
use alloc::string::String;

use iced_x86::{
    Instruction, OpKind, Register, SpecializedFormatter, SpecializedFormatterTraitOptions,
};

use super::{BAD, Names};
use crate::addr::VirtAddr;
use crate::code::MAX_INSTRUCTION_LEN;
use crate::code::x86_64::Reader;

struct Style;

impl SpecializedFormatterTraitOptions for Style {
    const ENABLE_DB_DW_DD_DQ: bool = false;

    fn space_after_operand_separator(_: &iced_x86::FastFormatterOptions) -> bool {
        true
    }

    fn rip_relative_addresses(_: &iced_x86::FastFormatterOptions) -> bool {
        false
    }

    fn uppercase_hex(_: &iced_x86::FastFormatterOptions) -> bool {
        false
    }

    fn use_hex_prefix(_: &iced_x86::FastFormatterOptions) -> bool {
        true
    }
}

pub(super) fn format(bytes: &[u8], address: VirtAddr, names: &dyn Names) -> String {
    let window = bytes.get(..MAX_INSTRUCTION_LEN).unwrap_or(bytes);
    let Ok(instruction) = Reader::new(window, address).decode(address) else {
        return BAD.into();
    };
    let mut text = String::new();
    SpecializedFormatter::<Style>::new().format(&instruction, &mut text);
    if let Some(target) = branch_target(&instruction) {
        if let Some(name) = names.name_at(VirtAddr(target)) {
            text = text.replacen(&format!("{target:#x}"), &name, 1);
        }
    } else if let Some(displacement) = fixed_displacement(&instruction) {
        let printed = format!("[{displacement:#x}]");
        if matches!(instruction.memory_segment(), Register::FS | Register::GS) {
            let distance = (displacement as i64).unsigned_abs();
            if distance != displacement {
                text = text.replacen(&printed, &format!("[-{distance:#x}]"), 1);
            }
        } else if let Some(name) = names.name_at(VirtAddr(displacement)) {
            text = text.replacen(&printed, &format!("[{displacement:#x} <{name}>]"), 1);
        }
    }
    text
}

fn branch_target(instruction: &Instruction) -> Option<u64> {
    matches!(instruction.op0_kind(), OpKind::NearBranch64).then(|| instruction.near_branch64())
}

/// The address of a memory operand that no register but `rip` is part of,
/// relative to its segment.
fn fixed_displacement(instruction: &Instruction) -> Option<u64> {
    let has_memory = instruction.op_kinds().any(|kind| kind == OpKind::Memory);
    let fixed = matches!(instruction.memory_base(), Register::RIP | Register::None)
        && instruction.memory_index() == Register::None;
    (has_memory && fixed).then(|| instruction.memory_displacement64())
}
