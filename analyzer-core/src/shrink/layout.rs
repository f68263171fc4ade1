//! Where bytes go: which loadable segments there are, and where in the file
//! their bytes lie.

use alloc::{vec, vec::Vec};

use super::builder::{BuildError, ElfBuilder, Permissions};
use crate::{addr::VirtAddr, ordered::sort_by_key, report::Arch};

/// Page size that file offsets agree with addresses by. The smallest that
/// either architecture uses: a larger one would only make files larger.
pub(super) const PAGE: u64 = 0x1000;

/// Bytes between two pieces of content up to which they become one.
const SMALL_GAP: u64 = 128;

/// Bytes and where they go.
type Piece = (VirtAddr, Vec<u8>);

/// One `PT_LOAD` to write.
#[derive(Clone, Debug)]
pub(super) struct Load {
    pub(super) address: VirtAddr,
    pub(super) memory_size: u64,
    pub(super) permissions: Permissions,
    pub(super) bytes: Vec<u8>,
    /// File offset; set by [`pack`].
    pub(super) offset: u64,
}

impl Load {
    /// Address after its last byte in the file.
    pub(super) fn file_end(&self) -> u64 {
        self.address.0.saturating_add(self.bytes.len() as u64)
    }
}

/// Divides the mappings into segments: one for each piece of content, which
/// reaches, filled with zeros, to the next.
pub(super) fn loads(file: &ElfBuilder) -> Result<Vec<Load>, BuildError> {
    let mut mappings = file.mappings.clone();
    mappings.retain(|mapping| mapping.range.size() > 0);
    sort_by_key(&mut mappings, |mapping| (mapping.range.start.0, 0));
    for pair in mappings.windows(2) {
        if let [before, after] = pair
            && after.range.start < before.range.end
        {
            return Err(BuildError::Overlap { address: after.range.start });
        }
    }
    let mut pieces: Vec<Vec<&Piece>> = vec![Vec::new(); mappings.len()];
    for piece in file.contents.iter().filter(|(_, bytes)| !bytes.is_empty()) {
        let (address, size) = (piece.0, piece.1.len() as u64);
        let after = mappings.partition_point(|mapping| mapping.range.start <= address);
        let fits = after
            .checked_sub(1)
            .filter(|&index| {
                let end = address.checked_add(size);
                let mapping = mappings.get(index);
                mapping.zip(end).is_some_and(|(mapping, end)| end <= mapping.range.end)
            })
            .and_then(|index| pieces.get_mut(index));
        fits.ok_or(BuildError::NotMapped { address, size })?.push(piece);
    }
    let mut loads = Vec::new();
    for (mapping, here) in mappings.iter().zip(&pieces) {
        let mut parts = vec![Load {
            address: mapping.range.start,
            memory_size: mapping.range.size(),
            permissions: mapping.permissions,
            bytes: Vec::new(),
            offset: 0,
        }];
        for (start, end) in merged(here) {
            let Some(last) = parts.last_mut() else { break };
            if start == last.address {
                last.bytes = content(file.arch, last.permissions, here, start, end);
                continue;
            }
            let before = start.0.saturating_sub(last.address.0);
            let part = Load {
                address: start,
                memory_size: last.memory_size.saturating_sub(before),
                bytes: content(file.arch, last.permissions, here, start, end),
                ..*last
            };
            last.memory_size = before;
            parts.push(part);
        }
        loads.append(&mut parts);
    }
    Ok(loads)
}

/// The ranges that pieces of content cover, those that share a page or almost
/// touch taken together: a loader maps whole pages.
fn merged(pieces: &[&Piece]) -> Vec<(VirtAddr, VirtAddr)> {
    let mut ranges: Vec<(VirtAddr, VirtAddr)> = pieces
        .iter()
        .map(|(start, bytes)| (*start, VirtAddr(start.0.saturating_add(bytes.len() as u64))))
        .collect();
    sort_by_key(&mut ranges, |(start, end)| (start.0, end.0));
    let mut merged: Vec<(VirtAddr, VirtAddr)> = Vec::new();
    for (start, end) in ranges {
        match merged.last_mut() {
            Some(last)
                if start.0 / PAGE <= last.1.0.saturating_sub(1) / PAGE
                    || start.0.saturating_sub(last.1.0) <= SMALL_GAP =>
            {
                last.1 = last.1.max(end);
            }
            _ => merged.push((start, end)),
        }
    }
    merged
}

/// The bytes from `start` to `end`. Where no piece has any they are zero, and
/// in code instructions that do nothing: one that reads the code through comes
/// to each piece at its start.
fn content(
    arch: Arch,
    permissions: Permissions,
    pieces: &[&Piece],
    start: VirtAddr,
    end: VirtAddr,
) -> Vec<u8> {
    let size = usize::try_from(end.0.saturating_sub(start.0)).unwrap_or(0);
    let filler = match arch {
        _ if !permissions.executable => [0; 4],
        Arch::X86_64 => [0x90; 4],
        Arch::Aarch64 => 0xd503_201f_u32.to_le_bytes(),
    };
    let phase = usize::try_from(start.0 % 4).unwrap_or(0);
    let mut content: Vec<u8> = filler.into_iter().cycle().skip(phase).take(size).collect();
    for (address, bytes) in pieces {
        let place = address
            .distance_from(start)
            .and_then(|into| usize::try_from(into).ok())
            .and_then(|into| content.get_mut(into..into.checked_add(bytes.len())?));
        if let Some(place) = place {
            place.copy_from_slice(bytes);
        }
    }
    content
}

/// Gives each segment a file offset from `start` on that agrees with its
/// address modulo [`PAGE`], always taking next the one that wastes least.
/// Returns the offset after the last.
pub(super) fn pack(loads: &mut [Load], start: u64) -> u64 {
    let mut waiting: Vec<&mut Load> = loads.iter_mut().collect();
    for load in waiting.iter_mut().filter(|load| load.bytes.is_empty()) {
        load.offset = load.address.0 % PAGE;
    }
    waiting.retain(|load| !load.bytes.is_empty());
    let mut at = start;
    while !waiting.is_empty() {
        let waste = |load: &Load| load.address.0.wrapping_sub(at) % PAGE;
        let Some(next) =
            (0..waiting.len()).min_by_key(|&index| waiting.get(index).map(|l| waste(l)))
        else {
            break;
        };
        let load = waiting.swap_remove(next);
        load.offset = at.saturating_add(waste(load));
        at = load.offset.saturating_add(load.bytes.len() as u64);
    }
    at
}
