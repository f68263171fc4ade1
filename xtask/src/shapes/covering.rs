//! Choosing shapes: not the full product of all levels, but a set in which
//! every possible pair of levels occurs together, and every possible triple of
//! compiler, optimization and kind. The same set every time.

use std::collections::{BTreeSet, HashSet};

use super::factors::{
    Arch, Compiler, Extra, Kind, Linker, Opt, Post, Prologue, Python, Tls, TlsNeighbours, Units,
};
use super::shape::{FACTORS, Shape};

/// Levels that have to occur together: sixteen bits for each, the factor in
/// the upper and the level in the lower eight.
type Combination = u64;

/// Completions drawn for one combination before it is called impossible.
const DRAWS: usize = 4000;
/// Completions that exist and are compared.
const CANDIDATES: usize = 30;

/// Factors whose triples are covered: compiler, optimization, kind.
const TRIPLE: [usize; 3] = [1, 3, 4];

/// Every shape, those that cover most first.
pub(crate) fn all() -> Vec<Shape> {
    let pairs: Vec<Vec<usize>> = (0..FACTORS)
        .flat_map(|first| (first + 1..FACTORS).map(move |second| vec![first, second]))
        .collect();
    let mut random = Random(0x6b65_7968_6f6c_6521);
    let mut chosen = Vec::new();
    cover(&pairs, &mut chosen, &mut random);
    cover(&[TRIPLE.to_vec()], &mut chosen, &mut random);
    let mut shapes: Vec<Shape> =
        by_coverage(&pairs, chosen).into_iter().map(Shape::from_levels).collect();
    shapes.extend(unanswerable());
    shapes
}

/// Shapes that cannot be answered, kept to see that nothing is made up: see
/// [`Shape::unanswerable`] for the reason.
fn unanswerable() -> Vec<Shape> {
    let base = Shape {
        python: Python::V3_6,
        compiler: Compiler::Gcc12,
        arch: Arch::X86_64,
        opt: Opt::O2,
        kind: Kind::Static,
        linker: Linker::Bfd,
        tls: Tls::Default,
        neighbours: TlsNeighbours::Few,
        units: Units::Separate,
        prologue: Prologue::None,
        extra: Extra::None,
        post: Post::Strip,
    };
    vec![
        base,
        Shape { python: Python::V2_7, arch: Arch::Aarch64, ..base },
        Shape { python: Python::V3_9, kind: Kind::StaticPie, ..base },
        Shape { python: Python::V3_11, compiler: Compiler::Clang19, linker: Linker::Lld, ..base },
        Shape { python: Python::V3_12, kind: Kind::StaticPie, arch: Arch::Aarch64, ..base },
        Shape { python: Python::V3_14, post: Post::NoSections, ..base },
        Shape { python: Python::V3_15, compiler: Compiler::ZigMusl, linker: Linker::Lld, ..base },
    ]
}

/// A combination with one more level in it.
fn with(combination: Combination, factor: usize, level: usize) -> Combination {
    combination << 16 | (factor as u64) << 8 | level as u64
}

/// The factors and levels in a combination of `count`.
fn members(combination: Combination, count: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count).map(move |index| {
        let member = combination >> (16 * index);
        ((member >> 8 & 0xff) as usize, (member & 0xff) as usize)
    })
}

/// The combination that these levels have in these factors.
fn combination(levels: &[usize; FACTORS], factors: &[usize]) -> Combination {
    factors.iter().fold(0, |all, &factor| with(all, factor, levels[factor]))
}

/// Every combination of levels in these factors.
fn combinations(factors: &[usize]) -> Vec<Combination> {
    factors.iter().fold(vec![0], |all, &factor| {
        all.iter()
            .flat_map(|&start| {
                (0..Shape::LEVELS[factor]).map(move |level| with(start, factor, level))
            })
            .collect()
    })
}

/// Adds shapes until every combination in each of these sets of factors
/// of one size occurs. Those that no drawn completion can hold are dropped.
fn cover(sets: &[Vec<usize>], chosen: &mut Vec<[usize; FACTORS]>, random: &mut Random) {
    let mut open: BTreeSet<Combination> =
        sets.iter().flat_map(|factors| combinations(factors)).collect();
    for levels in &*chosen {
        close(&mut open, sets, levels);
    }
    while !open.is_empty() {
        let Some(&wanted) = open.iter().nth(random.below(open.len())) else { break };
        let mut best: Option<(usize, [usize; FACTORS])> = None;
        let mut candidates = 0;
        for _ in 0..DRAWS {
            let mut levels: [usize; FACTORS] =
                std::array::from_fn(|factor| random.below(Shape::LEVELS[factor]));
            for (factor, level) in members(wanted, sets[0].len()) {
                levels[factor] = level;
            }
            if !Shape::from_levels(levels).exists() {
                continue;
            }
            let gain =
                sets.iter().filter(|factors| open.contains(&combination(&levels, factors))).count();
            if best.is_none_or(|(most, _)| gain > most) {
                best = Some((gain, levels));
            }
            candidates += 1;
            if candidates == CANDIDATES {
                break;
            }
        }
        open.remove(&wanted);
        if let Some((_, levels)) = best {
            close(&mut open, sets, &levels);
            chosen.push(levels);
        }
    }
}

fn close(open: &mut BTreeSet<Combination>, sets: &[Vec<usize>], levels: &[usize; FACTORS]) {
    for factors in sets {
        open.remove(&combination(levels, factors));
    }
}

/// Sorts so that each shape adds as many combinations as any that is left
/// would: a beginning of the list covers as much as a list of that length can.
fn by_coverage(sets: &[Vec<usize>], mut left: Vec<[usize; FACTORS]>) -> Vec<[usize; FACTORS]> {
    let mut seen = HashSet::new();
    let mut sorted = Vec::new();
    while !left.is_empty() {
        let gain = |levels: &[usize; FACTORS]| {
            sets.iter().filter(|factors| !seen.contains(&combination(levels, factors))).count()
        };
        let best =
            (0..left.len()).rev().max_by_key(|&index| gain(&left[index])).unwrap_or_default();
        let levels = left.remove(best);
        seen.extend(sets.iter().map(|factors| combination(&levels, factors)));
        sorted.push(levels);
    }
    sorted
}

/// A small generator of numbers, the same on every machine (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        (mixed % bound as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_set_is_the_same_every_time_and_without_duplicates() {
        let shapes = all();
        assert_eq!(shapes, all());
        let names: BTreeSet<String> = shapes.iter().map(Shape::name).collect();
        assert_eq!(names.len(), shapes.len());
        assert!(shapes.len() > 300, "{}", shapes.len());
    }

    #[test]
    fn every_level_occurs() {
        let words: BTreeSet<(usize, &str)> =
            all().iter().flat_map(|shape| shape.words().into_iter().enumerate()).collect();
        assert_eq!(words.len(), Shape::LEVELS.iter().sum::<usize>());
    }

    #[test]
    fn only_the_listed_shapes_are_unanswerable() {
        assert_eq!(
            all().iter().filter(|shape| shape.unanswerable().is_some()).count(),
            unanswerable().len()
        );
    }
}
