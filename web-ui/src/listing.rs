//! A trace arranged for reading: rows, the arrows between them, and runs of
//! instructions that may be folded away.

use analyzer_core::addr::VirtAddr;
use analyzer_core::report::{Report, Step, StepRole};

/// Rows around the path that stay visible when the rest is folded.
const CONTEXT: usize = 1;
/// Runs shorter than this are not worth folding.
const FOLD: usize = 4;

/// One instruction, placed.
#[derive(Clone)]
pub(crate) struct Row {
    /// Position in the trace.
    pub(crate) index: usize,
    /// Bytes from the first instruction seen of its function.
    pub(crate) offset: u64,
    /// The function begins here, or the trace comes back to it.
    pub(crate) enters: bool,
    /// The trace jumps here: this is not the next instruction in memory.
    pub(crate) jumped: bool,
    /// The arrows that pass, start or end beside the row, one per lane.
    pub(crate) lanes: Vec<Lane>,
    /// The vertical line of the path at this row.
    pub(crate) thread: Lane,
}

/// What is drawn in one lane beside a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lane {
    Empty,
    Starts,
    Passes,
    Ends,
    /// On the thread: a step of the path between others.
    Stop,
}

/// A stretch of the listing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Stretch {
    /// Rows shown.
    Shown(std::ops::Range<usize>),
    /// Rows off the path, folded until asked for.
    Folded(std::ops::Range<usize>),
}

/// The rows of a trace.
pub(crate) fn rows(steps: &[Step]) -> Vec<Row> {
    let arrows = arrows(steps);
    let lanes = lanes(&arrows, steps.len());
    let first = steps.iter().position(|s| s.on_path);
    let last = steps.iter().rposition(|s| s.on_path);
    steps
        .iter()
        .zip(lanes)
        .enumerate()
        .map(|(index, (step, lanes))| {
            let previous = index.checked_sub(1).and_then(|i| steps.get(i));
            let start = steps
                .iter()
                .filter(|s| s.function == step.function)
                .map(|s| s.address)
                .min()
                .unwrap_or(step.address);
            Row {
                index,
                offset: step.address.distance_from(start).unwrap_or_default(),
                enters: previous.is_none_or(|p| p.function != step.function),
                jumped: previous.is_some_and(|p| end(p) != Some(step.address)),
                lanes,
                thread: match (first, last) {
                    (Some(first), Some(last)) if first < last => {
                        if index == first {
                            Lane::Starts
                        } else if index == last {
                            Lane::Ends
                        } else if index > first && index < last {
                            if step.on_path { Lane::Stop } else { Lane::Passes }
                        } else {
                            Lane::Empty
                        }
                    }
                    _ => Lane::Empty,
                },
            }
        })
        .collect()
}

/// The address after a step.
fn end(step: &Step) -> Option<VirtAddr> {
    let length = u64::try_from(step.bytes.len() / 2).ok()?;
    step.address.checked_add(length)
}

/// From which row to which the trace jumps by a branch.
fn arrows(steps: &[Step]) -> Vec<(usize, usize)> {
    let mut arrows: Vec<(usize, usize)> = Vec::new();
    for (index, step) in steps.iter().enumerate().skip(1) {
        if steps.get(index - 1).and_then(end) == Some(step.address) {
            continue;
        }
        let target = step.address.to_string();
        let from = steps[..index].iter().enumerate().rposition(|(at, s)| {
            s.role == Some(StepRole::Branch)
                && s.text.ends_with(&target)
                && !arrows.iter().any(|(taken, _)| *taken == at)
        });
        arrows.extend(from.map(|from| (from, index)));
    }
    arrows
}

/// Lanes for the arrows: no two in one lane at the same row.
fn lanes(arrows: &[(usize, usize)], rows: usize) -> Vec<Vec<Lane>> {
    let mut taken: Vec<usize> = Vec::new();
    let mut placed = Vec::new();
    for &(from, to) in arrows {
        let lane = taken.iter().position(|&until| until < from).unwrap_or(taken.len());
        if lane == taken.len() {
            taken.push(to);
        } else {
            taken[lane] = to;
        }
        placed.push((lane, from, to));
    }
    (0..rows)
        .map(|row| {
            let mut cells = vec![Lane::Empty; taken.len()];
            for &(lane, from, to) in &placed {
                if row == from {
                    cells[lane] = Lane::Starts;
                } else if row == to {
                    cells[lane] = Lane::Ends;
                } else if row > from && row < to {
                    cells[lane] = Lane::Passes;
                }
            }
            cells
        })
        .collect()
}

/// What is shown at first: the path and a little around it. `marked` rows
/// stay visible too.
pub(crate) fn stretches(steps: &[Step], marked: &[usize]) -> Vec<Stretch> {
    let keeps = |index: usize| {
        steps.get(index).is_some_and(|s| {
            s.on_path
                || matches!(s.role, Some(StepRole::Sink | StepRole::FollowedCall))
                || marked.contains(&index)
        })
    };
    let path = steps.iter().any(|s| s.on_path);
    let shown = |index: usize| {
        !path || (index.saturating_sub(CONTEXT)..=index.saturating_add(CONTEXT)).any(keeps)
    };
    let mut stretches = Vec::new();
    let mut start = 0;
    while start < steps.len() {
        let kind = shown(start);
        let end = (start..steps.len()).find(|&i| shown(i) != kind).unwrap_or(steps.len());
        if kind || end - start < FOLD {
            match stretches.last_mut() {
                Some(Stretch::Shown(range)) => range.end = end,
                _ => stretches.push(Stretch::Shown(start..end)),
            }
        } else {
            stretches.push(Stretch::Folded(start..end));
        }
        start = end;
    }
    stretches
}

/// Where an address is looked at: the strategy and the step, on the path
/// where possible.
pub(crate) fn find(report: &Report, address: VirtAddr) -> Option<(usize, usize)> {
    let mut found = None;
    for (strategy, result) in report.strategies.iter().enumerate() {
        if let Some(step) = result.trace.iter().position(|s| s.address == address) {
            if result.trace.get(step).is_some_and(|s| s.on_path) {
                return Some((strategy, step));
            }
            found.get_or_insert((strategy, step));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(address: u64, bytes: &str, text: &str, role: Option<StepRole>, on_path: bool) -> Step {
        Step {
            address: VirtAddr(address),
            bytes: bytes.into(),
            text: text.into(),
            depth: 0,
            function: Some("f".into()),
            effects: Vec::new(),
            role,
            on_path,
            origins: Vec::new(),
        }
    }

    #[test]
    fn a_branch_is_an_arrow_to_where_the_trace_takes_it_up() {
        let steps = [
            step(0x10, "85c0", "test eax, eax", None, false),
            step(0x12, "7402", "je 0x16", Some(StepRole::Branch), false),
            step(0x14, "c3", "ret", Some(StepRole::Return), false),
            step(0x16, "c3", "ret", Some(StepRole::Return), false),
        ];
        let rows = rows(&steps);
        let lane: Vec<Lane> = rows.iter().map(|row| row.lanes[0]).collect();
        assert_eq!(lane, [Lane::Empty, Lane::Starts, Lane::Passes, Lane::Ends]);
        assert!(rows[3].jumped && !rows[2].jumped);
        assert_eq!(rows[3].offset, 6);
    }

    #[test]
    fn long_runs_off_the_path_are_folded() {
        let steps: Vec<Step> =
            (0..20).map(|i| step(i, "90", "nop", None, i == 0 || i == 19)).collect();
        assert_eq!(
            stretches(&steps, &[]),
            [Stretch::Shown(0..2), Stretch::Folded(2..18), Stretch::Shown(18..20)]
        );
        assert_eq!(
            stretches(&steps, &[10]),
            [
                Stretch::Shown(0..2),
                Stretch::Folded(2..9),
                Stretch::Shown(9..12),
                Stretch::Folded(12..18),
                Stretch::Shown(18..20)
            ]
        );
    }

    #[test]
    fn a_trace_without_a_path_is_shown_whole() {
        let steps: Vec<Step> = (0..20).map(|i| step(i, "90", "nop", None, false)).collect();
        assert_eq!(stretches(&steps, &[]), [Stretch::Shown(0..20)]);
    }
}
