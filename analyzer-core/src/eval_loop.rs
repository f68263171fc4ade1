//! The code of the bytecode evaluation loop, in all of its pieces.
//!
//! A native program counter in one of these ranges belongs to a Python frame.
//! The symbol of the evaluation function says where the loop begins and often
//! little more: gcc moves what profiling found cold into a part of its own,
//! which in shipped builds can hold nearly every opcode, and its local symbol
//! is gone from a stripped file. What remains are the jumps between the parts
//! and the unwind entry each part has. In a tail-call interpreter (3.14 and
//! later, `--with-tail-call-interp`) every opcode is a function, reached
//! through a table of 256 pointers.

use alloc::{string::ToString, vec::Vec};

use crate::{
    addr::VirtAddr,
    image::{Image, Range},
    ordered::sort_by_key,
    report::CodeRange,
    search::contains,
    version::PyVersion,
};

mod sweep;
mod table;

use sweep::{Reference, Seen, sweep};

/// Bytes of code that are read in all; the largest loops, in unoptimized
/// builds, have about 300 KB.
const BUDGET: u64 = 2 << 20;
/// Bytes of functions that are read to see whether they come back.
const CANDIDATE_BUDGET: u64 = 256 << 10;
/// Parts that are looked for, handlers not counted.
const MOST_PARTS: usize = 16;
/// Handlers of a tail-call interpreter that are looked at.
const MOST_HANDLERS: usize = 1024;
/// Handlers that must go on in a function before it counts as one of them.
const SHARED_BY: usize = 2;
/// Padding between two functions over which handlers are joined to one range:
/// less than the alignment compilers give functions, so that no function fits.
const PADDING: u64 = 15;

/// Name of the evaluation function: from 3.6 on, and before.
const NAMES: [&str; 2] = ["_PyEval_EvalFrameDefault", "PyEval_EvalFrameEx"];
const HANDLER_PREFIX: &str = "_TAIL_CALL_";

/// Ranges of the evaluation loop, the one that begins at the evaluation
/// function first; empty when the image has no such function.
///
/// Link-time addresses. Work is bounded by the size of the loop, and by that of
/// the symbol table for a `version` that may be a tail-call interpreter (3.14
/// and later).
#[must_use]
pub fn eval_loop(image: &Image<'_>, version: Option<PyVersion>) -> Vec<CodeRange> {
    let Some((name, mut parts)) = entry(image) else { return Vec::new() };
    clones(image, name, &mut parts);
    let named = match version {
        Some(version) if !version.at_least(3, 14) => Vec::new(),
        _ => named_handlers(image),
    };
    let mut budget = BUDGET;
    let mut candidate_budget = CANDIDATE_BUDGET;
    let mut handlers = Vec::new();
    let mut next = 0;
    while let Some(range) = parts.ranges.get(next).map(|part| part.range) {
        next = usize::wrapping_add(next, 1);
        let seen = sweep(image, range, &mut budget);
        for jump in &seen.jumps {
            let is_new = match image.aside(|| image.unwind_range(jump.to)) {
                Some(range) if range.start != jump.to => {
                    parts.add(range, "cold", "jumps into its unwind entry")
                }
                Some(range) if !parts.hold(jump.to) => {
                    let jumps = sweep(image, range, &mut candidate_budget).jumps;
                    let back = jumps.iter().find(|back| parts.hold_inside(back.to));
                    back.is_some_and(|back| {
                        keep(image, back.site);
                        parts.add(range, "cold", "jumps to its unwind entry and back")
                    })
                }
                _ => false,
            };
            if is_new {
                keep(image, jump.site);
                image.keep_unwind_range(jump.to);
            }
        }
        let tables = table::dispatch_tables(image, &seen.addresses);
        if tables.is_empty() && named.is_empty() && next == 1 {
            handlers.extend(first_handlers(image, &seen, &mut parts, &mut budget));
        }
        for targets in tables {
            handlers.extend(parts.take_labels(image, &targets));
        }
    }
    let source = if named.is_empty() { "dispatch table" } else { "symbol" };
    let handlers = if named.is_empty() { closure(image, handlers, &mut budget) } else { named };
    let mut ranges: Vec<CodeRange> = parts.ranges.into_iter().map(Part::into_report).collect();
    ranges.extend(joined(handlers).into_iter().map(|range| CodeRange {
        start: range.start,
        end: range.end,
        part: "handlers".to_string(),
        source: source.to_string(),
    }));
    ranges
}

/// One piece of the loop.
#[derive(Clone, Copy, Debug)]
struct Part {
    range: Range,
    part: &'static str,
    source: &'static str,
}

impl Part {
    fn into_report(self) -> CodeRange {
        CodeRange {
            start: self.range.start,
            end: self.range.end,
            part: self.part.to_string(),
            source: self.source.to_string(),
        }
    }
}

/// The pieces found so far; none overlaps another.
#[derive(Debug, Default)]
struct Parts {
    ranges: Vec<Part>,
}

impl Parts {
    fn hold(&self, address: VirtAddr) -> bool {
        self.ranges.iter().any(|part| part.range.contains(address))
    }

    /// Whether `address` lies in one of them and does not begin it: a jump into
    /// the middle of other code stays within one source function.
    fn hold_inside(&self, address: VirtAddr) -> bool {
        self.ranges.iter().any(|part| part.range.contains(address) && part.range.start != address)
    }

    /// Adds a piece unless it is known; tells whether it did.
    fn add(&mut self, range: Range, part: &'static str, source: &'static str) -> bool {
        let overlaps =
            |known: &Part| known.range.start < range.end && range.start < known.range.end;
        let is_new = self.ranges.len() < MOST_PARTS
            && range.size() != 0
            && !self.ranges.iter().any(overlaps);
        if is_new {
            self.ranges.push(Part { range, part, source });
        }
        is_new
    }

    /// Sorts out where a dispatch table leads: places inside a function are
    /// labels of the loop, and that function is a part of it; functions that
    /// most of the table leads to are handlers, and returned.
    fn take_labels(&mut self, image: &Image<'_>, targets: &[VirtAddr]) -> Vec<Range> {
        let mut functions = Vec::new();
        for &target in targets {
            match image.unwind_range(target) {
                Some(range) if range.start == target => functions.push(range),
                Some(range) if !self.hold(target) => {
                    self.add(range, "cold", "dispatch table leads into its unwind entry");
                }
                _ => {}
            }
        }
        if functions.len() > targets.len() / 2 { functions } else { Vec::new() }
    }
}

/// The evaluation function: its symbol, or where that has no size or is cut
/// short, its unwind entry.
fn entry(image: &Image<'_>) -> Option<(&'static str, Parts)> {
    let (name, symbol) = NAMES
        .iter()
        .find_map(|&name| Some((name, image.symbol(name).filter(|symbol| symbol.defined)?)))?;
    let by_symbol = Range::new(symbol.address, symbol.size);
    let by_unwind =
        image.unwind_range(symbol.address).filter(|range| range.start == symbol.address);
    let (range, source) = match by_unwind {
        Some(range) if range.size() > by_symbol.size() => (range, "unwind entry of the symbol"),
        _ => (by_symbol, "symbol"),
    };
    let mut parts = Parts::default();
    parts.add(range, "hot", source);
    Some((name, parts))
}

/// Adds the parts that symbols still name (`.cold`, `.part.0`, `.lto_priv.0`).
fn clones(image: &Image<'_>, name: &str, parts: &mut Parts) {
    for found in image.static_symbols_named(&[name]) {
        let symbol = found.symbol;
        let part = if contains(found.suffix.as_bytes(), b".cold") { "cold" } else { "hot" };
        parts.add(Range::new(symbol.address, symbol.size), part, "symbol");
    }
}

fn named_handlers(image: &Image<'_>) -> Vec<Range> {
    image
        .static_symbols_starting(HANDLER_PREFIX)
        .into_iter()
        .map(|symbol| Range::new(symbol.address, symbol.size))
        .filter(|range| range.size() != 0 && image.is_executable(range.start))
        .take(MOST_HANDLERS)
        .collect()
}

/// Notes that the instructions at `site` are what the answer rests on.
fn keep(image: &Image<'_>, site: Range) {
    image.keep(site.start, usize::try_from(site.size()).unwrap_or(0));
}

/// In a tail-call interpreter the evaluation function itself only enters the
/// first handler, which then uses the table: that handler and the others.
fn first_handlers(
    image: &Image<'_>,
    seen: &Seen,
    parts: &mut Parts,
    budget: &mut u64,
) -> Vec<Range> {
    let mut found = Vec::new();
    for call in seen.calls.iter().chain(&seen.jumps).take(MOST_PARTS) {
        let range = image.aside(|| image.unwind_range(call.to));
        let Some(range) = range.filter(|range| range.start == call.to) else { continue };
        for targets in table::dispatch_tables(image, &sweep(image, range, budget).addresses) {
            let handlers = parts.take_labels(image, &targets);
            if !handlers.is_empty() {
                keep(image, call.site);
                image.keep_unwind_range(call.to);
                found.push(range);
                found.extend(handlers);
            }
        }
    }
    found
}

/// The handlers and what several of them go on to in tail position: the
/// labels for errors and exits that are functions too.
fn closure(image: &Image<'_>, handlers: Vec<Range>, budget: &mut u64) -> Vec<Range> {
    let mut known = handlers;
    sort_by_key(&mut known, |range| (range.start.0, 0));
    known.dedup();
    known.truncate(MOST_HANDLERS);
    let mut targets = Vec::new();
    for &range in &known {
        targets.extend(sweep(image, range, budget).jumps);
    }
    sort_by_key(&mut targets, |target| (target.to.0, target.site.start.0));
    for same in targets.chunk_by(|a, b| a.to == b.to) {
        let Some(&Reference { to, .. }) = same.first() else { continue };
        let range = image.aside(|| image.unwind_range(to));
        if let Some(range) = range
            && (range.start != to || same.len() >= SHARED_BY)
            && !known.contains(&range)
        {
            for jump in same.iter().take(SHARED_BY) {
                keep(image, jump.site);
            }
            image.keep_unwind_range(to);
            known.push(range);
        }
    }
    known
}

/// The ranges in order of address, joined where only padding lies between them.
fn joined(mut ranges: Vec<Range>) -> Vec<Range> {
    sort_by_key(&mut ranges, |range| (range.start.0, 0));
    let mut joined: Vec<Range> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start.0 <= last.end.0.saturating_add(PADDING) => {
                last.end = last.end.max(range.end);
            }
            _ => joined.push(range),
        }
    }
    joined
}

#[cfg(test)]
mod tests;
