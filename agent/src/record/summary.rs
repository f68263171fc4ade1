//! What a recording says about itself on standard error.

use std::io::{Write as _, stderr};

use agent_ebpf::counter::Counter;
use anyhow::Result;

use super::{Arguments, session::Recording};
use crate::profile::Profile;

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
    if selected.samples.len() != profile.samples.len() {
        writeln!(out, "{} of them are in the profile", selected.samples.len())?;
    }
    for path in &arguments.output {
        writeln!(out, "written to {}", path.display())?;
    }
    for (counter, value) in &profile.counters {
        if counter.is_trouble() && *value != 0 {
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
