//! `cargo xtask shapes`: the shape factory.
//!
//! C sources of our own (`shapes/`) that have the structure of CPython's
//! thread-state functions are compiled in many ways, and the analyzer has to
//! answer each of them right. The right answer is taken from the unstripped
//! twin of each object, and checked by running it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use self::build::Workshop;
use self::judge::{Miss, MissKind};
use self::shape::Shape;
use self::truth::Truth;
use self::verify::Verified;
use crate::shell;
use crate::steps::Tally;

mod build;
mod covering;
mod cut;
mod factors;
mod judge;
mod recipe;
mod shape;
mod tools;
mod truth;
mod verify;

/// How many shapes the reduced set has.
const REDUCED: usize = 110;

/// Builds, verifies and judges shapes.
///
/// Arguments: `--reduced` for the set that belongs to `cargo xtask test`,
/// `--without-zig` (which builds a C library of its own first, for minutes),
/// `--list` to only print the names, and words that a shape's name must
/// contain.
///
/// # Errors
/// A shape cannot be built, a truth does not hold, or the analyzer misses one.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let mut shapes = covering::all();
    let mut list = false;
    for argument in arguments {
        match argument.as_str() {
            "--reduced" => shapes = reduced_set(),
            "--without-zig" => shapes.retain(|shape| !shape.is_zig()),
            "--list" => list = true,
            word if word.starts_with("--") => bail!("what is {word}?"),
            word => shapes.retain(|shape| shape.name().contains(word)),
        }
    }
    if list {
        for shape in &shapes {
            match shape.unanswerable() {
                Some(reason) => println!("{}  (unanswerable: {reason})", shape.name()),
                None => println!("{}", shape.name()),
            }
        }
        return Ok(());
    }
    factory(&shapes).map(drop)
}

/// The reduced set, as a step of `cargo xtask test`.
///
/// # Errors
/// As [`run`].
pub(crate) fn reduced(tally: &mut Tally) -> Result<()> {
    let right = factory(&reduced_set())?;
    tally.passed += right as u64;
    Ok(())
}

/// Those that cover most, without zig, which is large and slow at first.
fn reduced_set() -> Vec<Shape> {
    let mut shapes = covering::all();
    shapes.retain(|shape| !shape.is_zig());
    shapes.truncate(REDUCED);
    shapes
}

/// What became of one shape.
struct Outcome {
    shape: Shape,
    result: Result<Judged>,
}

impl Outcome {
    /// Says what is not right, one line each.
    fn print_misses(&self) {
        let name = self.shape.name();
        match &self.result {
            Err(error) => println!("{name}: {error:#}"),
            Ok(judged) => {
                for miss in &judged.misses {
                    println!("{name}: {}: {}", miss.kind, miss.detail);
                }
            }
        }
    }
}

struct Judged {
    truth: Truth,
    verified: Verified,
    misses: Vec<Miss>,
    file: PathBuf,
    cached: bool,
    analysis: Duration,
}

fn factory(shapes: &[Shape]) -> Result<usize> {
    let folder = shell::root().join("target/shapes");
    let with_zig = shapes.iter().any(Shape::is_zig);
    let workshop = Workshop::open(folder.clone(), with_zig)?;
    let start = Instant::now();
    let outcomes = make_all(&workshop, shapes);
    std::fs::write(folder.join("truths.tsv"), table(&outcomes))
        .context("cannot write the table of truths")?;
    summarize(&outcomes, start.elapsed())
}

/// Two workers take shapes from one list.
fn make_all(workshop: &Workshop, shapes: &[Shape]) -> Vec<Outcome> {
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(Vec::new());
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(shapes.len());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(shape) = shapes.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = Outcome { shape: *shape, result: make(workshop, shape) };
                    outcome.print_misses();
                    outcomes.lock().expect("no worker panics with the lock").push(outcome);
                }
            });
        }
    });
    let mut outcomes = outcomes.into_inner().expect("no worker panics with the lock");
    outcomes.sort_by_key(|outcome| outcome.shape);
    outcomes
}

fn make(workshop: &Workshop, shape: &Shape) -> Result<Judged> {
    let built = workshop.build(shape)?;
    let truth = truth::read(shape, &built)?;
    let verified = verify::verify(workshop, shape, &built, &truth)?;
    let bytes = std::fs::read(&built.object)?;
    let start = Instant::now();
    let report = analyzer_core::analyze(
        &bytes,
        &analyzer_core::Options { path: shape.name(), trace: true, debug_file: None },
    );
    let analysis = start.elapsed();
    let misses = judge::judge(shape, &truth, &report);
    Ok(Judged { truth, verified, misses, file: built.object, cached: built.cached, analysis })
}

/// One line per shape: name, file, truths, whether they were verified, misses.
fn table(outcomes: &[Outcome]) -> String {
    let mut text = String::from(
        "name\tfile\truntime\tkey_address\tglobal_address\ttstate_offset\ttstate_tp\tgilstate_offset\tgilstate_tp\tverified\tmisses\n",
    );
    let address =
        |value: Option<u64>| value.map_or_else(String::new, |value| format!("{value:#x}"));
    let signed = |value: Option<i64>| value.map_or_else(String::new, |value| value.to_string());
    for outcome in outcomes {
        let Ok(judged) = &outcome.result else { continue };
        let truth = &judged.truth;
        let misses: Vec<String> =
            judged.misses.iter().map(|miss| format!("{}: {}", miss.kind, miss.detail)).collect();
        let _ = writeln!(
            text,
            "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}",
            outcome.shape.name(),
            judged.file.display(),
            address(truth.runtime.map(|(address, _)| address)),
            address(truth.key),
            address(truth.global),
            address(truth.attached.map(|variable| variable.offset)),
            signed(truth.attached.and_then(|variable| variable.tp_offset)),
            address(truth.owned.map(|variable| variable.offset)),
            signed(truth.owned.and_then(|variable| variable.tp_offset)),
            match judged.verified {
                Verified::Yes => "yes",
                Verified::NotRun(reason) => reason,
            },
            misses.join(" | "),
        );
    }
    text
}

/// Prints the figures.
fn summarize(outcomes: &[Outcome], elapsed: Duration) -> Result<usize> {
    let mut failed = 0;
    let mut right = 0;
    let mut cached = 0;
    let mut verified = 0;
    let mut not_run: BTreeMap<&str, usize> = BTreeMap::new();
    let mut kinds: BTreeMap<MissKind, usize> = BTreeMap::new();
    let mut by_word: BTreeMap<(usize, &str), (usize, usize)> = BTreeMap::new();
    let mut times = Vec::new();
    for outcome in outcomes {
        let good = match &outcome.result {
            Err(_) => {
                failed += 1;
                false
            }
            Ok(judged) => {
                cached += usize::from(judged.cached);
                times.push(judged.analysis);
                match judged.verified {
                    Verified::Yes => verified += 1,
                    Verified::NotRun(reason) => *not_run.entry(reason).or_default() += 1,
                }
                if let Some(worst) = judged.misses.iter().map(|miss| miss.kind).min() {
                    *kinds.entry(worst).or_default() += 1;
                }
                judged.misses.is_empty()
            }
        };
        right += usize::from(good);
        for word in outcome.shape.words().into_iter().enumerate() {
            let (all, good_ones) = by_word.entry(word).or_default();
            *all += 1;
            *good_ones += usize::from(good);
        }
    }
    println!("\nright of all, by what a shape has:");
    let mut factor = usize::MAX;
    for ((index, word), (all, good)) in &by_word {
        if *index != factor {
            factor = *index;
            print!("\n ");
        }
        let word = if word.is_empty() { "(plain)" } else { word };
        print!(" {word} {good}/{all} ");
    }
    times.sort();
    println!(
        "\n\n{} shapes in {:.1} s, {cached} of them made before",
        outcomes.len(),
        elapsed.as_secs_f64()
    );
    println!("truths verified by running: {verified}");
    for (reason, count) in &not_run {
        println!("not run: {count}, {reason}");
    }
    if let Some(median) = times.get(times.len() / 2) {
        println!(
            "full report with traces: median {median:?}, longest {:?}",
            times[times.len() - 1]
        );
    }
    println!("right: {right}; not built or not true: {failed}");
    for (kind, count) in &kinds {
        println!("worst miss is a {kind}: {count}");
    }
    if right < outcomes.len() {
        bail!("{} of {} shapes are not right", outcomes.len() - right, outcomes.len());
    }
    Ok(right)
}
