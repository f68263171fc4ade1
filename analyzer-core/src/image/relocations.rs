//! Finding the relocation of a word, without reading the tables.
//!
//! What linkers do, and how it is used (every guess is verified against the
//! record's own address, so a wrong one costs time, never correctness):
//!
//! - `DT_JMPREL` records lie in the order of the GOT words they fill, so the
//!   distance from the first one tells the index.
//! - `DT_RELACOUNT` relative relocations come first in `DT_RELA`, sorted by
//!   address by every linker that writes that tag: binary search.
//! - the rest of `DT_RELA` is grouped by symbol (GNU ld sorts by symbol, and
//!   the groups by their first address): a word that is the first of its group,
//!   in a large group, or in a group that begins close before it (the words of
//!   a GOT do) is found without reading the others. Else one pass
//!   collects the records of the asked-for neighbourhood, as words looked up
//!   together lie together; when another neighbourhood is asked for, a filter
//!   made in a second pass tells most words that have no record.
//!
//! When more than a few such passes would be needed, an index of all records
//! is built once.

use alloc::{vec, vec::Vec};
use core::{
    cell::{Cell, OnceCell, RefCell},
    cmp::Ordering,
};

use object::{LittleEndian as LE, U64, elf, pod};

use super::{
    relr::Relr,
    section::{Section, Sections},
};
use crate::addr::VirtAddr;
use crate::ordered::sort_by_key;

type Rela = elf::Rela64<LE>;

/// Passes over unsorted records before an index of all is built.
const MOST_PASSES: u32 = 4;

/// Bytes on either side of an asked-for address whose records one pass collects.
const NEIGHBOURHOOD: u64 = 0x2000;

/// Records below which a pass over all is cheaper than anything clever.
const FEW: usize = 64;

/// Records from one that is looked at to the next, when looking for large groups.
const STRIDE: usize = 8;

/// Bytes before a word in which the beginning of its group is looked for: most
/// of a GOT.
const NEAR: u64 = 0x1000;

/// Answers that are remembered.
const MOST_ANSWERS: usize = 32;

/// All relocation tables of an image.
#[derive(Debug, Default)]
pub(super) struct Relocations<'d> {
    /// `DT_JMPREL`.
    plt: &'d [Rela],
    /// The first `DT_RELACOUNT` records of `DT_RELA`.
    relative: &'d [Rela],
    /// The other records of `DT_RELA`.
    other: &'d [Rela],
    relr_words: &'d [U64<LE>],
    relr: OnceCell<Relr<'d>>,
    /// Answers for the words asked for last: entry functions share GOT words.
    answers: RefCell<Vec<(u64, Option<Found<'d>>)>>,
    seen: RefCell<Vec<Neighbourhood<'d>>>,
    passes: Cell<u32>,
    filter: OnceCell<Filter>,
    index: OnceCell<Vec<&'d Rela>>,
}

/// The records of [`Relocations::other`] and [`Relocations::plt`] in an address range.
#[derive(Debug)]
struct Neighbourhood<'d> {
    start: u64,
    end: u64,
    records: Vec<&'d Rela>,
}

/// Tells words that have no record: one bit per hashed address.
#[derive(Debug)]
struct Filter {
    bits: Vec<u64>,
}

impl Filter {
    /// Bits of the filter: with the fifteen thousand unsorted records of a
    /// large libpython, one word in nine is not told.
    const BITS: usize = 1 << 17;

    fn new<'r>(records: impl Iterator<Item = &'r Rela>) -> Self {
        let mut bits = vec![0_u64; Self::BITS / 64];
        for record in records {
            let (word, bit) = Self::place(record.r_offset.get(LE));
            if let Some(word) = bits.get_mut(word) {
                *word |= bit;
            }
        }
        Self { bits }
    }

    fn may_hold(&self, address: u64) -> bool {
        let (word, bit) = Self::place(address);
        self.bits.get(word).is_some_and(|word| word & bit != 0)
    }

    /// Fibonacci hashing: the high bits of a product with 2^64 / φ.
    fn place(address: u64) -> (usize, u64) {
        let hash = address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - Self::BITS.ilog2());
        ((hash / 64) as usize, 1 << (hash % 64))
    }
}

/// What a word is relocated with.
#[derive(Clone, Copy, Debug)]
pub(super) enum Found<'d> {
    Record(&'d Rela),
    /// A `DT_RELR` entry: the addend is the word's own content.
    Relr,
}

pub(super) fn rela_slice(bytes: &[u8]) -> &[Rela] {
    pod::slice_from_bytes(bytes, bytes.len() / size_of::<Rela>())
        .map_or(&[][..], |(records, _)| records)
}

impl<'d> Relocations<'d> {
    /// Tables as the dynamic section gives them, each the file's bytes.
    pub(super) fn dynamic(plt: &'d [u8], rela: &'d [u8], relative: u64, relr: &'d [u8]) -> Self {
        let rela = rela_slice(rela);
        let relative = usize::try_from(relative).unwrap_or(usize::MAX).min(rela.len());
        let (relative, other) = rela.split_at(relative);
        Self {
            plt: rela_slice(plt),
            relative,
            other,
            relr_words: pod::slice_from_bytes(relr, relr.len() / 8)
                .map_or(&[][..], |(words, _)| words),
            ..Self::default()
        }
    }

    /// Tables of a static executable, known only by its section headers:
    /// loaded `SHT_RELA` sections (the linker's `__rela_iplt_start` range).
    /// `most` bounds them, as sections can overlap.
    pub(super) fn of_sections(sections: &Sections<'d>, most: usize) -> Self {
        let records = sections
            .of_kind(elf::SHT_RELA)
            .filter(Section::is_loaded)
            .flat_map(|section| rela_slice(section.data))
            .take(most);
        Self { index: OnceCell::from(sorted(records)), ..Self::default() }
    }

    /// The records that may be copy relocations.
    pub(super) fn non_relative(&self) -> impl Iterator<Item = &'d Rela> {
        self.other.iter().chain(self.plt)
    }

    /// What the word at `address` is relocated with.
    pub(super) fn at(&self, address: VirtAddr) -> Option<Found<'d>> {
        let address = address.0;
        let known = self.answers.borrow().iter().find(|(of, _)| *of == address).copied();
        if let Some((_, answer)) = known {
            return answer;
        }
        let answer = self.find(address);
        let mut answers = self.answers.borrow_mut();
        if answers.len() >= MOST_ANSWERS {
            answers.clear();
        }
        answers.push((address, answer));
        answer
    }

    fn find(&self, address: u64) -> Option<Found<'d>> {
        if let Some(index) = self.index.get() {
            return lookup(index, address).map(Found::Record).or_else(|| self.relr_at(address));
        }
        guess_by_distance(self.plt, address)
            .or_else(|| search(self.relative, address))
            .or_else(|| self.search_unsorted(address))
            .map(Found::Record)
            .or_else(|| self.relr_at(address))
    }

    fn relr_at(&self, address: u64) -> Option<Found<'d>> {
        if self.relr_words.is_empty() {
            return None;
        }
        let relr = self.relr.get_or_init(|| Relr::new(self.relr_words));
        relr.contains(VirtAddr(address)).then_some(Found::Relr)
    }

    fn search_unsorted(&self, address: u64) -> Option<&'d Rela> {
        if self.other.len().saturating_add(self.plt.len()) <= FEW {
            return self.non_relative().find(|record| record.r_offset.get(LE) == address);
        }
        let found = match search_groups(self.other, address) {
            Ok(found) => self.other.get(found),
            Err(place) => search_before(self.other, place, address)
                .or_else(|| search_large_groups(self.other, address)),
        };
        if found.is_some() {
            return found;
        }
        let known = self.seen.borrow();
        if let Some(near) = known.iter().find(|near| near.start <= address && address < near.end) {
            return lookup(&near.records, address);
        }
        drop(known);
        let passes = self.passes.get();
        if passes > 0 {
            let filter = self.filter.get_or_init(|| Filter::new(self.non_relative()));
            if !filter.may_hold(address) {
                return None;
            }
        }
        if passes >= MOST_PASSES {
            let all = self.relative.iter().chain(self.non_relative());
            let index = self.index.get_or_init(|| sorted(all));
            return lookup(index, address);
        }
        self.passes.set(passes.saturating_add(1));
        let start = address.saturating_sub(NEIGHBOURHOOD);
        let end = address.saturating_add(NEIGHBOURHOOD);
        let records = sorted(
            self.non_relative()
                .filter(|record| record.r_offset.get(LE).wrapping_sub(start) < end - start),
        );
        let found = lookup(&records, address);
        self.seen.borrow_mut().push(Neighbourhood { start, end, records });
        found
    }
}

fn sorted<'d>(records: impl Iterator<Item = &'d Rela>) -> Vec<&'d Rela> {
    let mut all: Vec<&'d Rela> = records.collect();
    sort_by_key(&mut all, |record| (record.r_offset.get(LE), 0));
    all
}

fn lookup<'d>(index: &[&'d Rela], address: u64) -> Option<&'d Rela> {
    let at = index.partition_point(|record| record.r_offset.get(LE) < address);
    index.get(at).copied().filter(|record| record.r_offset.get(LE) == address)
}

/// The record of `address`, if records fill consecutive words.
fn guess_by_distance(records: &[Rela], address: u64) -> Option<&Rela> {
    let distance = address.checked_sub(records.first()?.r_offset.get(LE))?;
    let record = records.get(usize::try_from(distance / 8).ok()?)?;
    (record.r_offset.get(LE) == address).then_some(record)
}

/// The record of `address`, if records are sorted by address.
fn search(records: &[Rela], address: u64) -> Option<&Rela> {
    let at = records.partition_point(|record| record.r_offset.get(LE) < address);
    records.get(at).filter(|record| record.r_offset.get(LE) == address)
}

/// The record of `address`, if it is the first of its symbol's group and the
/// groups are sorted by their first address: its index; else the index of the
/// first group that begins behind `address`.
fn search_groups(records: &[Rela], address: u64) -> Result<usize, usize> {
    let (mut low, mut high) = (0, records.len());
    while low < high {
        let middle = low.midpoint(high);
        let Some(symbol) = records.get(middle).map(|record| record.r_sym(LE, false)) else { break };
        let is_same = |at: usize| {
            let record = records.get(low..high).and_then(|range| range.get(at.checked_sub(low)?));
            record.is_some_and(|record| record.r_sym(LE, false) == symbol)
        };
        let start = middle - run_length(|back| middle.checked_sub(back + 1).is_some_and(is_same));
        let Some(first) = records.get(start) else { break };
        match first.r_offset.get(LE).cmp(&address) {
            Ordering::Equal => return Ok(start),
            Ordering::Less => low = middle + run_length(|on| is_same(middle.saturating_add(on))),
            Ordering::Greater => high = start,
        }
    }
    Err(low)
}

/// The record of `address`, if its group is sorted and begins at most [`NEAR`]
/// bytes before it; `place` is the index of the first group that begins behind.
fn search_before(records: &[Rela], place: usize, address: u64) -> Option<&Rela> {
    let (Ok(mut start) | Err(mut start)) = search_groups(records, address.saturating_sub(NEAR));
    while start < place {
        let symbol = records.get(start)?.r_sym(LE, false);
        let rest = records.get(start..place)?;
        let length = run_length(|on| rest.get(on).is_some_and(|it| it.r_sym(LE, false) == symbol));
        if let Some(found) = search(rest.get(..length)?, address) {
            return Some(found);
        }
        start += length.max(1);
    }
    None
}

/// The record of `address`, if it is in a group of two [`STRIDE`]s or more
/// that is sorted by address. Looks at one record in a stride.
fn search_large_groups(records: &[Rela], address: u64) -> Option<&Rela> {
    let symbol_at = |at: usize| records.get(at).map(|record| record.r_sym(LE, false));
    let mut at = 0_usize;
    while let (Some(symbol), Some(next)) = (symbol_at(at), symbol_at(at.checked_add(STRIDE)?)) {
        if symbol != next {
            at += STRIDE;
            continue;
        }
        let is_same = |at: usize| symbol_at(at) == Some(symbol);
        let start = at - run_length(|back| at.checked_sub(back + 1).is_some_and(is_same));
        let end = at + run_length(|on| is_same(at.saturating_add(on)));
        if let Some(found) = search(records.get(start..end)?, address) {
            return Some(found);
        }
        at = end;
    }
    None
}

/// How many of the numbers from 0 on are inside, found by doubling steps:
/// right when the inside is one run.
fn run_length(is_inside: impl Fn(usize) -> bool) -> usize {
    let mut outside = 0_usize;
    let mut low = 0;
    while is_inside(outside) {
        low = outside + 1;
        outside = outside.saturating_mul(2).max(1);
    }
    // Everything below `low` is inside, `outside` is not.
    while low < outside {
        let middle = low.midpoint(outside);
        if is_inside(middle) { low = middle + 1 } else { outside = middle }
    }
    low
}
