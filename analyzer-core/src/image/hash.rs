//! Name look-up through `DT_GNU_HASH` and `DT_HASH`.
//!
//! Layouts: `DT_HASH` is in the ELF gABI, chapter "Hash Table";
//! `DT_GNU_HASH` is described with its reader in glibc `elf/dl-lookup.c`
//! (`do_lookup_x`, `_dl_setup_hash`).

use object::{LittleEndian as LE, U32, U64, elf, pod};

use super::symbol::SymbolTable;

/// Entries of one hash chain that are looked at before a look-up gives up.
/// Linkers size tables for chains of a few entries; this bounds hostile ones.
const LONGEST_CHAIN: usize = 1 << 16;

/// A `DT_GNU_HASH` table. The chains are an unbounded slice of the file: no
/// count in the table is trusted.
#[derive(Clone, Copy, Debug)]
pub(super) struct GnuHash<'d> {
    bloom: &'d [U64<LE>],
    bloom_shift: u32,
    buckets: &'d [U32<LE>],
    chains: &'d [U32<LE>],
    first: u32,
}

impl<'d> GnuHash<'d> {
    /// `bytes` run from the table's start to the end of what the file holds.
    pub(super) fn parse(bytes: &'d [u8]) -> Option<Self> {
        let (header, rest) = pod::from_bytes::<elf::GnuHashHeader<LE>>(bytes).ok()?;
        let bloom_count = header.bloom_count.get(LE) as usize;
        let (bloom, rest) = pod::slice_from_bytes(rest, bloom_count).ok()?;
        let bucket_count = header.bucket_count.get(LE) as usize;
        let (buckets, rest) = pod::slice_from_bytes(rest, bucket_count).ok()?;
        let (chains, _) = pod::slice_from_bytes(rest, rest.len() / 4).ok()?;
        Some(Self {
            bloom,
            bloom_shift: header.bloom_shift.get(LE),
            buckets,
            chains,
            first: header.symbol_base.get(LE),
        })
    }

    /// Index of the first symbol in the table, those before it not being
    /// hashed; `None` when the table is empty.
    pub(super) fn first(&self) -> Option<u32> {
        self.buckets.iter().any(|bucket| bucket.get(LE) != 0).then_some(self.first)
    }

    /// Indices of the symbols named `name`, in table order.
    pub(super) fn find(
        self,
        symbols: SymbolTable<'d>,
        name: &[u8],
    ) -> impl Iterator<Item = (u32, &'d elf::Sym64<LE>)> {
        let hash = elf::gnu_hash(name);
        let start = if self.may_hold(hash) { self.bucket(hash) } else { None };
        let chain = start.into_iter().flat_map(move |start| {
            let into = start.checked_sub(self.first).map_or(usize::MAX, |into| into as usize);
            let values = self.chains.get(into..).unwrap_or_default();
            let mut ended = false;
            (start..=u32::MAX).zip(values).take(LONGEST_CHAIN).take_while(move |(_, value)| {
                !core::mem::replace(&mut ended, value.get(LE) & 1 != 0)
            })
        });
        chain.filter_map(move |(index, value)| {
            let entry = symbols.entries.get(index as usize)?;
            (value.get(LE) | 1 == hash | 1 && symbols.is_named(entry, name))
                .then_some((index, entry))
        })
    }

    /// How many symbols there are, told by the last chain: its end is the
    /// last symbol. `None` when the table is empty.
    pub(super) fn symbol_count(&self) -> Option<u32> {
        let last = self.buckets.iter().map(|bucket| bucket.get(LE)).max().filter(|&b| b != 0)?;
        let tail = self.chains.get(last.checked_sub(self.first)? as usize..)?;
        let more = tail.iter().position(|value| value.get(LE) & 1 != 0)?;
        u32::try_from(more).ok()?.checked_add(last)?.checked_add(1)
    }

    fn may_hold(&self, hash: u32) -> bool {
        let Some(words) = u32::try_from(self.bloom.len()).ok().filter(|&words| words > 0) else {
            return true;
        };
        let Some(word) = self.bloom.get(((hash / 64) % words) as usize) else { return true };
        let second = hash.checked_shr(self.bloom_shift).unwrap_or(0);
        let mask = 1_u64 << (hash % 64) | 1_u64 << (second % 64);
        word.get(LE) & mask == mask
    }

    fn bucket(&self, hash: u32) -> Option<u32> {
        let count = u32::try_from(self.buckets.len()).ok().filter(|&count| count > 0)?;
        self.buckets.get((hash % count) as usize).map(|bucket| bucket.get(LE)).filter(|&b| b != 0)
    }
}

/// A `DT_HASH` table.
#[derive(Clone, Copy, Debug)]
pub(super) struct SysvHash<'d> {
    buckets: &'d [U32<LE>],
    chains: &'d [U32<LE>],
}

impl<'d> SysvHash<'d> {
    /// `bytes` run from the table's start to the end of what the file holds.
    pub(super) fn parse(bytes: &'d [u8]) -> Option<Self> {
        let (header, rest) = pod::from_bytes::<elf::HashHeader<LE>>(bytes).ok()?;
        let (buckets, rest) =
            pod::slice_from_bytes(rest, header.bucket_count.get(LE) as usize).ok()?;
        let (chains, _) = pod::slice_from_bytes(rest, header.chain_count.get(LE) as usize).ok()?;
        Some(Self { buckets, chains })
    }

    /// `nchain`: the number of symbols.
    pub(super) fn symbol_count(&self) -> Option<u32> {
        u32::try_from(self.chains.len()).ok()
    }

    /// Indices of the symbols named `name`, in chain order.
    pub(super) fn find(
        self,
        symbols: SymbolTable<'d>,
        name: &[u8],
    ) -> impl Iterator<Item = (u32, &'d elf::Sym64<LE>)> {
        let count = u32::try_from(self.buckets.len()).unwrap_or(u32::MAX);
        let start = elf::hash(name)
            .checked_rem(count)
            .and_then(|bucket| self.buckets.get(bucket as usize))
            .map_or(0, |bucket| bucket.get(LE));
        core::iter::successors(Some(start), move |&index| {
            self.chains.get(index as usize).map(|next| next.get(LE))
        })
        .take_while(|&index| index != 0)
        .take(LONGEST_CHAIN)
        .filter_map(move |index| {
            let entry = symbols.entries.get(index as usize)?;
            symbols.is_named(entry, name).then_some((index, entry))
        })
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::image::symbol::Table;

    /// A GNU table with one bucket, no filter and the given first chain.
    fn table(bucket: u32, first: u32, chains: &[u32]) -> Vec<u8> {
        [1, first, 0, 0, bucket].iter().chain(chains).flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn chains_that_lead_nowhere() {
        let symbols = SymbolTable::new(&[], &[], Table::Dynamic);
        for (bucket, first) in [(u32::MAX, u32::MAX), (u32::MAX, 1), (1, u32::MAX), (1, 1)] {
            let bytes = table(bucket, first, &[0, 0, 0]);
            let hash = GnuHash::parse(&bytes).unwrap();
            assert_eq!(hash.find(symbols, b"name").count(), 0);
            assert_eq!(hash.symbol_count(), None, "no chain ends");
        }
        let bytes = table(1, 1, &[2, 4, 7]);
        assert_eq!(GnuHash::parse(&bytes).unwrap().symbol_count(), Some(4));
    }

    #[test]
    fn a_chain_in_a_circle_ends() {
        let symbols = SymbolTable::new(&[0; 72], &[], Table::Dynamic);
        let words = [1, 3, 1, 0, 2, 1];
        let bytes: Vec<u8> = words.iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
        let hash = SysvHash::parse(&bytes).unwrap();
        assert_eq!(hash.symbol_count(), Some(3));
        assert_eq!(hash.find(symbols, b"name").count(), 0);
    }
}
