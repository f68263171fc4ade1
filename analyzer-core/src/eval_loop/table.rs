//! Dispatch tables: one code address for each opcode.

use alloc::vec::Vec;

use super::{keep, sweep::Reference};
use crate::{addr::VirtAddr, image::Image};

/// Opcodes: a byte each in every version.
const OPCODES: u64 = 256;
/// Words that are looked at in all. Most addresses are given up at the first.
const MOST_WORDS: u32 = 1 << 17;

/// The targets of each table that begins at one of `addresses`: 256 words
/// that all hold addresses of code. Opcodes that do not exist have a target
/// too, so no word is empty.
pub(super) fn dispatch_tables(image: &Image<'_>, addresses: &[Reference]) -> Vec<Vec<VirtAddr>> {
    let mut tables = Vec::new();
    let mut behind_last = VirtAddr(0);
    let mut words_left = MOST_WORDS;
    for &Reference { to: address, site } in addresses {
        // An address inside a table that was found is not another one.
        if address < behind_last {
            continue;
        }
        let entry = |index: u64| code_pointer(image, address.checked_add(index.checked_mul(8)?)?);
        let limited = |index| {
            words_left = words_left.checked_sub(1)?;
            entry(index)
        };
        let targets: Option<Vec<VirtAddr>> = image.aside(|| (0..OPCODES).map(limited).collect());
        if let Some(targets) = targets {
            keep(image, site);
            if image.is_recording() {
                (0..OPCODES).for_each(|index| _ = entry(index));
            }
            behind_last =
                address.checked_add(OPCODES.saturating_mul(8)).unwrap_or(VirtAddr(u64::MAX));
            tables.push(targets);
        }
    }
    tables
}

/// The code address a word holds once it is relocated.
fn code_pointer(image: &Image<'_>, word: VirtAddr) -> Option<VirtAddr> {
    let target = match image.relocation_at(word) {
        Some(relocation) => image.stored_address(relocation)?,
        None if image.is_fixed() || !image.has_dynamic() => VirtAddr(image.u64_at(word)?),
        None => return None,
    };
    image.is_executable(target).then_some(target)
}
