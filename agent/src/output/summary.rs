//! The functions by their share of time, and what the threads were doing.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write,
};

use agent_ebpf::status::GilState;
use anyhow::Result;

use super::{Style, label};
use crate::profile::Profile;

/// Functions shown.
const ROWS: usize = 40;

/// Samples of a function: at the top of the stack, and anywhere in it.
#[derive(Clone, Copy, Default)]
struct Counts {
    own: u64,
    total: u64,
}

pub(super) fn write(profile: &Profile, style: &Style, out: &mut dyn Write) -> Result<()> {
    let all = profile.samples.len() as u64;
    writeln!(
        out,
        "{all} samples, {:.1} s at {} Hz, {} threads in {} processes",
        profile.length as f64 / 1e9,
        profile.rate,
        profile.threads.len(),
        profile.processes.len(),
    )?;
    for process in &profile.processes {
        let (pid, name) = (process.pid, &process.name);
        writeln!(out, "process {pid} ({name}): Python {} in {}", process.version, process.path)?;
    }
    let share = |count: u64| 100.0 * count as f64 / all.max(1) as f64;
    writeln!(out, "\n   self   total  function")?;
    let style = Style { lines: false, ..*style };
    let mut rows: Vec<(String, Counts)> = functions(profile, &style).into_iter().collect();
    rows.sort_by(|(a, x), (b, y)| (y.own, y.total, a).cmp(&(x.own, x.total, b)));
    for (name, counts) in rows.iter().take(ROWS) {
        writeln!(out, "{:6.2}% {:6.2}%  {name}", share(counts.own), share(counts.total))?;
    }
    if rows.len() > ROWS {
        writeln!(out, "                 and {} more functions", rows.len() - ROWS)?;
    }
    writeln!(out, "\n  share  GIL")?;
    for &state in GilState::ALL {
        let count =
            profile.samples.iter().filter(|sample| sample.states.gil_state == state).count();
        if count != 0 {
            writeln!(out, "{:6.2}%  {}", share(count as u64), state.name())?;
        }
    }
    Ok(())
}

fn functions(profile: &Profile, style: &Style) -> BTreeMap<String, Counts> {
    let mut stacks: BTreeMap<usize, u64> = BTreeMap::new();
    for sample in &profile.samples {
        *stacks.entry(sample.stack).or_insert(0) += 1;
    }
    let mut functions: BTreeMap<String, Counts> = BTreeMap::new();
    for (stack, count) in stacks {
        let labels: Vec<String> = profile.stacks[stack]
            .frames
            .iter()
            .map(|&id| label::frame(&profile.frames[id as usize], style))
            .collect();
        let own = labels.last().cloned().unwrap_or_else(|| label::NO_PYTHON.to_owned());
        // A function that calls itself is counted once.
        for name in labels.into_iter().chain([own.clone()]).collect::<BTreeSet<_>>() {
            functions.entry(name).or_default().total += count;
        }
        functions.entry(own).or_default().own += count;
    }
    functions
}
