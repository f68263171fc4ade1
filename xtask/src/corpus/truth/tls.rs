//! The ways by which a file can reach a thread-local variable, from its
//! relocations.

use std::path::Path;

use anyhow::Result;

use super::elf::{self, TlsSegment};
use super::hex;
use crate::corpus::manifest::TlsWay;

/// Bytes of the thread control block between the thread pointer and the
/// executable's TLS block in variant I (ELF for the Arm 64-bit Architecture,
/// "Thread Local Storage").
const VARIANT_I_HEAD: u64 = 16;

/// Offset from the thread pointer of a variable at `module_offset`, when the
/// file is an executable: only there the file alone fixes it.
pub(super) fn executable_offset(
    file: &Path,
    segment: TlsSegment,
    module_offset: u64,
) -> Result<Option<i64>> {
    if !elf::is_executable(file)? {
        return Ok(None);
    }
    let TlsSegment { address, memory_size, align } = segment;
    // The block lies where its address is as far from a multiple of the
    // alignment as `p_vaddr` is; both loaders take the nearest such place.
    let offset = if elf::machine(file)? == "AArch64" {
        let start = VARIANT_I_HEAD + address.wrapping_sub(VARIANT_I_HEAD) % align;
        (start + module_offset).cast_signed()
    } else {
        let padding = address.wrapping_add(memory_size).wrapping_neg() % align;
        module_offset.cast_signed() - (memory_size + padding).cast_signed()
    };
    Ok(Some(offset))
}

/// Every way that the file's relocations allow for the variable at
/// `module_offset`, those that lead to the variable itself first. Without any
/// relocation for TLS the code must hold the offset itself: local-exec.
///
/// From the place that an initial-exec or descriptor slot leads to, code can
/// go on to any other in the same block (section anchors do), so all of them
/// are ways.
pub(super) fn ways(file: &Path, module_offset: u64) -> Result<Vec<TlsWay>> {
    let mut ways = Vec::new();
    for relocation in elf::relocations(file)? {
        let (model, slot_offset) = match relocation.kind.as_str() {
            "R_X86_64_DTPMOD64" | "R_AARCH64_TLS_DTPMOD" | "R_AARCH64_TLS_DTPMOD64" => {
                match elf::word(file, relocation.address + 8)? {
                    // Either the variable at offset 0, or the module's block.
                    Some(0) => ("local_dynamic", None),
                    Some(offset) if offset == module_offset => ("general_dynamic", None),
                    _ => continue,
                }
            }
            // A relocation with a symbol is for another module's variable.
            "R_X86_64_TPOFF64" | "R_AARCH64_TLS_TPREL" | "R_AARCH64_TLS_TPREL64"
                if relocation.addend.is_some() =>
            {
                ("initial_exec", relocation.addend)
            }
            "R_X86_64_TLSDESC" | "R_AARCH64_TLSDESC" if relocation.addend.is_some() => {
                ("descriptor", relocation.addend)
            }
            _ => continue,
        };
        ways.push(TlsWay {
            model: model.into(),
            got_slot: Some(hex(relocation.address)),
            slot_offset,
        });
    }
    ways.sort_by_key(|way| way.slot_offset.is_some_and(|slot_offset| slot_offset != module_offset));
    if ways.is_empty() {
        ways.push(TlsWay { model: "local_exec".into(), got_slot: None, slot_offset: None });
    }
    Ok(ways)
}
