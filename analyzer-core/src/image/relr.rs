//! `DT_RELR`: relative relocations as runs of addresses and bitmaps.
//!
//! Layout: ELF gABI, "Relative Relocation Table". An even word is the address
//! of a relocated word; each odd word after it is a bitmap over the next 63
//! words, its lowest bit a mark.

use alloc::vec::Vec;

use object::{LittleEndian as LE, U64};

use crate::addr::VirtAddr;
use crate::ordered::sort_by_key;

/// Words one bitmap describes.
const BITMAP_WORDS: u64 = 63;

/// An address and the bitmaps after it.
#[derive(Clone, Copy, Debug)]
struct Run {
    start: u64,
    /// Index in the table of the word after the address.
    bitmaps: usize,
    /// How many bitmaps follow.
    count: usize,
}

/// The table, with its runs in order of address.
#[derive(Debug)]
pub(super) struct Relr<'d> {
    table: &'d [U64<LE>],
    runs: Vec<Run>,
}

impl<'d> Relr<'d> {
    pub(super) fn new(table: &'d [U64<LE>]) -> Self {
        let mut runs: Vec<Run> = Vec::new();
        for (index, word) in table.iter().enumerate() {
            let word = word.get(LE);
            if word & 1 == 0 {
                runs.push(Run { start: word, bitmaps: index + 1, count: 0 });
            } else if let Some(run) = runs.last_mut() {
                run.count += 1;
            }
        }
        sort_by_key(&mut runs, |run| (run.start, 0));
        Self { table, runs }
    }

    /// Whether the word at `address` is relocated. Runs do not overlap in a
    /// valid table; of overlapping ones the last to start counts.
    pub(super) fn contains(&self, address: VirtAddr) -> bool {
        let after = self.runs.partition_point(|run| run.start <= address.0);
        let Some(run) = after.checked_sub(1).and_then(|index| self.runs.get(index)) else {
            return false;
        };
        let distance = address.0.saturating_sub(run.start);
        if distance == 0 {
            return true;
        }
        if !distance.is_multiple_of(8) {
            return false;
        }
        let word = distance / 8 - 1;
        let bitmap = usize::try_from(word / BITMAP_WORDS)
            .ok()
            .filter(|&bitmap| bitmap < run.count)
            .and_then(|bitmap| self.table.get(run.bitmaps.checked_add(bitmap)?));
        bitmap.is_some_and(|bitmap| bitmap.get(LE) >> (word % BITMAP_WORDS + 1) & 1 != 0)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn table(words: &[u64]) -> Vec<U64<LE>> {
        words.iter().map(|&word| U64::new(LE, word)).collect()
    }

    #[test]
    fn addresses_and_bitmaps() {
        // 0x1000, then words 0x1008 (bit 1) and 0x1018 (bit 3), then, in the
        // second bitmap, its first word: 0x1008 + 63 * 8.
        let words = table(&[0x1000, 0b1011, 0b11, 0x5000]);
        let relr = Relr::new(&words);
        let relocated: Vec<u64> =
            (0xff0..0x6000).filter(|&address| relr.contains(VirtAddr(address))).collect();
        assert_eq!(relocated, vec![0x1000, 0x1008, 0x1018, 0x1008 + 63 * 8, 0x5000]);
    }

    #[test]
    fn bitmaps_without_an_address_mean_nothing() {
        let words = table(&[0b11, 0b111]);
        assert!(!Relr::new(&words).contains(VirtAddr(8)));
    }
}
