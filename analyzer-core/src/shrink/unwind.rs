//! Unwind tables that bound functions.
//!
//! Layouts: LSB core, "Exception Frames" (`.eh_frame`, `.eh_frame_hdr`);
//! DWARF 5, section 6.4; register numbers from the psABIs.

use alloc::vec::Vec;

use gimli::constants::{
    DW_CFA_def_cfa, DW_CFA_offset, DW_EH_PE_datarel, DW_EH_PE_pcrel, DW_EH_PE_sdata4,
    DW_EH_PE_udata4,
};

use super::builder::BuildError;
use crate::{addr::VirtAddr, image::Range, report::Arch};

/// The `.eh_frame` section for `ranges`, which are in order of address, with
/// the address of each entry.
pub(super) fn frames(
    arch: Arch,
    ranges: &[Range],
    at: VirtAddr,
) -> Result<(Vec<u8>, Vec<VirtAddr>), BuildError> {
    let pointers = DW_EH_PE_pcrel.0 | DW_EH_PE_sdata4.0;
    // At a function's first instruction the frame address is the stack
    // pointer, plus the return address where a call pushes it.
    let (return_register, rules): (u8, &[u8]) = match arch {
        Arch::X86_64 => (16, &[DW_CFA_def_cfa.0, 7, 8, DW_CFA_offset.0 | 16, 1]),
        Arch::Aarch64 => (30, &[DW_CFA_def_cfa.0, 31, 0]),
    };
    let mut common = Vec::new();
    common.extend(0_u32.to_le_bytes());
    common.push(1);
    common.extend(b"zR\0");
    // Code alignment 1, data alignment -8 (as SLEB128).
    common.extend([1, 0x78, return_register, 1, pointers]);
    common.extend(rules);
    let mut table = Vec::new();
    push_entry(&mut table, &common);

    let mut entries = Vec::new();
    for range in ranges {
        let too_far = BuildError::TooFar { address: range.start };
        let start = at.checked_add(table.len() as u64).ok_or(too_far)?;
        entries.push(start);
        let mut entry = Vec::new();
        // Distance from this field back to the common entry, which is first.
        let back = u32::try_from(table.len().saturating_add(4)).map_err(|_| too_far)?;
        entry.extend(back.to_le_bytes());
        let field = start.checked_add(8).ok_or(too_far)?;
        entry.extend(distance(range.start, field)?);
        entry.extend(u32::try_from(range.size()).map_err(|_| too_far)?.to_le_bytes());
        entry.push(0);
        push_entry(&mut table, &entry);
    }
    table.extend(0_u32.to_le_bytes());
    Ok((table, entries))
}

/// The `.eh_frame_hdr` section: where `.eh_frame` is, and the search table.
pub(super) fn header(
    ranges: &[Range],
    frames_at: VirtAddr,
    entries: &[VirtAddr],
    at: VirtAddr,
) -> Result<Vec<u8>, BuildError> {
    let mut table = alloc::vec![
        1,
        DW_EH_PE_pcrel.0 | DW_EH_PE_sdata4.0,
        DW_EH_PE_udata4.0,
        DW_EH_PE_datarel.0 | DW_EH_PE_sdata4.0,
    ];
    let field = at.checked_add(4).ok_or(BuildError::TooFar { address: at })?;
    table.extend(distance(frames_at, field)?);
    let count = entries.len();
    let too_many = BuildError::TooMany { what: "unwind entries", count };
    table.extend(u32::try_from(count).map_err(|_| too_many)?.to_le_bytes());
    for (range, &entry) in ranges.iter().zip(entries) {
        table.extend(distance(range.start, at)?);
        table.extend(distance(entry, at)?);
    }
    Ok(table)
}

/// Adds an entry with its length, padded with `DW_CFA_nop` to eight bytes.
fn push_entry(table: &mut Vec<u8>, entry: &[u8]) {
    let padded = entry.len().saturating_add(4).next_multiple_of(8);
    let length = u32::try_from(padded.saturating_sub(4)).unwrap_or(u32::MAX);
    table.extend(length.to_le_bytes());
    table.extend(entry);
    table.resize(table.len().next_multiple_of(8), 0);
}

/// `to` as seen from `from`, in four bytes.
fn distance(to: VirtAddr, from: VirtAddr) -> Result<[u8; 4], BuildError> {
    let distance = to.0.wrapping_sub(from.0).cast_signed();
    i32::try_from(distance).map(i32::to_le_bytes).map_err(|_| BuildError::TooFar { address: to })
}
