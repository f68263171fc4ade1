//! Every sample with its states, as the reference prints them: process and
//! thread, state lines, frames innermost first, and the closing counts.

use std::io::Write;

use agent_ebpf::counter::Counter;
use anyhow::Result;

use super::{Style, label};
use crate::profile::Profile;

pub(super) fn write(profile: &Profile, style: &Style, out: &mut dyn Write) -> Result<()> {
    for sample in &profile.samples {
        let thread = &profile.threads[sample.thread];
        let process = &profile.processes[thread.process];
        let states = &sample.states;
        writeln!(
            out,
            "PID: {} TID: {} ({}) CPU: {} TIME: {}.{:09}",
            process.pid,
            thread.tid,
            thread.name,
            sample.cpu,
            sample.time / 1_000_000_000,
            sample.time % 1_000_000_000,
        )?;
        writeln!(out, "GIL State: {}", states.gil_state.name())?;
        writeln!(out, "Thread State: {}", states.thread_state_match.name())?;
        writeln!(out, "PthreadID State: {}", states.pthread_id_match.name())?;
        writeln!(out, "Walked State: {}", states.source.name())?;
        writeln!(out, "Stack Status: {}", states.stack_status.name())?;
        let stack = &profile.stacks[sample.stack];
        let frames = stack.frames.iter().zip(&stack.entered_from_native).rev();
        for (&id, &entered_from_native) in frames {
            writeln!(out, "    {}", label::frame(&profile.frames[id as usize], style))?;
            if entered_from_native {
                writeln!(out, "    [native]")?;
            }
        }
        writeln!(out)?;
    }
    writeln!(out, "{} samples collected", profile.samples.len())?;
    writeln!(out, "{} samples lost", profile.lost())?;
    writeln!(out, "{} samples with truncated stack", profile.counter(Counter::Truncated))?;
    writeln!(out, "{} times Python symbol lost", profile.symbols_lost)?;
    Ok(())
}
