//! Writing `DT_GNU_HASH` and `DT_HASH`.
//!
//! Layouts: ELF gABI, "Hash Table"; for the GNU table glibc
//! `elf/dl-lookup.c` (`do_lookup_x`), with 64-bit filter words.

use alloc::{vec, vec::Vec};

use object::elf;

/// Shift between the two filter bits of a name.
const FILTER_SHIFT: u32 = 6;

/// How many buckets the GNU table of `count` names has.
pub(super) fn gnu_buckets(count: usize) -> u32 {
    u32::try_from(count / 4).unwrap_or(u32::MAX).max(1)
}

/// Bucket of a name in a table of that many.
pub(super) fn gnu_bucket(name: &str, buckets: u32) -> u32 {
    elf::gnu_hash(name.as_bytes()).checked_rem(buckets).unwrap_or(0)
}

/// The GNU table for `names`, which are in order of bucket and are the
/// symbols from index `first` on.
pub(super) fn gnu(names: &[&str], first: u32) -> Vec<u8> {
    let bucket_count = gnu_buckets(names.len());
    let filter_words = names.len().div_ceil(8).next_power_of_two();
    let mut filter = vec![0_u64; filter_words];
    let mut buckets = vec![0_u32; bucket_count as usize];
    let mut chains = Vec::with_capacity(names.len());
    for (index, name) in (first..).zip(names) {
        let hash = elf::gnu_hash(name.as_bytes());
        if let Some(word) = filter.get_mut((hash as usize / 64) % filter_words) {
            *word |= 1 << (hash % 64) | 1 << ((hash >> FILTER_SHIFT) % 64);
        }
        let bucket = gnu_bucket(name, bucket_count);
        if let Some(start) = buckets.get_mut(bucket as usize).filter(|start| **start == 0) {
            *start = index;
            // The chain before ends here.
            if let Some(last) = chains.last_mut() {
                *last |= 1;
            }
        }
        chains.push(hash & !1);
    }
    if let Some(last) = chains.last_mut() {
        *last |= 1;
    }
    let mut table = Vec::new();
    let words = u32::try_from(filter_words).unwrap_or(u32::MAX);
    for word in [bucket_count, first, words, FILTER_SHIFT] {
        table.extend(word.to_le_bytes());
    }
    table.extend(filter.iter().flat_map(|word| word.to_le_bytes()));
    table.extend(buckets.iter().chain(&chains).flat_map(|word| word.to_le_bytes()));
    table
}

/// The System V table for all symbols, the null symbol first.
pub(super) fn sysv(names: &[&str]) -> Vec<u8> {
    let count = u32::try_from(names.len()).unwrap_or(u32::MAX);
    let bucket_count = (count / 2).max(1);
    let mut buckets = vec![0_u32; bucket_count as usize];
    let mut chains = vec![0_u32; names.len()];
    for (index, name) in (0_u32..).zip(names).skip(1) {
        let bucket = elf::hash(name.as_bytes()).checked_rem(bucket_count).unwrap_or(0);
        let Some(start) = buckets.get_mut(bucket as usize) else { continue };
        if let Some(next) = chains.get_mut(index as usize) {
            *next = core::mem::replace(start, index);
        }
    }
    [bucket_count, count]
        .iter()
        .chain(&buckets)
        .chain(&chains)
        .flat_map(|w| w.to_le_bytes())
        .collect()
}
