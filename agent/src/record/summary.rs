//! What a recording says about itself on standard error.

use std::io::{Write as _, stderr};

use agent_ebpf::{counter::Counter, status::StackStatus};
use anyhow::Result;

use super::{Arguments, session::Recording};
use crate::profile::{Profile, Sample};

/// Prints the counts, what was lost, and which processes were not sampled.
pub(super) fn print(
    recording: &Recording,
    selected: &Profile,
    arguments: &Arguments,
) -> Result<()> {
    let mut out = stderr().lock();
    let profile = &recording.profile;
    writeln!(
        out,
        "{} samples of {} threads in {} processes, {:.1} s at {} Hz; {} lost, {} truncated, {} frames without a name",
        profile.samples.len(),
        profile.threads.len(),
        profile.processes.len(),
        profile.length as f64 / 1e9,
        profile.rate,
        profile.lost(),
        profile.counter(Counter::Truncated),
        profile.symbols_lost,
    )?;
    let left_out = profile.samples.len() - selected.samples.len();
    if left_out != 0 {
        let stateless = |sample: &&Sample| sample.states.stack_status == StackStatus::NO_STATE;
        writeln!(
            out,
            "{left_out} of them are not in the profile; {} are of threads without a Python thread state",
            profile.samples.iter().filter(stateless).count(),
        )?;
    }
    for path in &arguments.output {
        writeln!(out, "written to {}", path.display())?;
    }
    for (counter, value) in &profile.counters {
        if counter.is_noteworthy() && *value != 0 {
            writeln!(out, "{}: {value}", counter.name())?;
        }
    }
    if profile.outdated != 0 {
        writeln!(
            out,
            "samples of programs that had just ended or been replaced: {}",
            profile.outdated
        )?;
    }
    for note in &recording.notes {
        writeln!(out, "note: {note}")?;
    }
    for (pid, reason) in &recording.refused {
        writeln!(out, "process {pid} was not sampled: {reason}")?;
    }
    Ok(())
}
