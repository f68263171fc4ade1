//! Firefox Profiler's processed format, by the library samply uses.

use std::{collections::HashMap, io::Write};

use anyhow::Result;
use fxprof_processed_profile::{
    CategoryColor, CpuDelta, Frame, FrameFlags, FrameInfo, Profile, SamplingInterval, Timestamp,
};

use super::{Style, label};
use crate::profile::Profile as Recorded;

pub(super) fn write(recorded: &Recorded, style: &Style, out: &mut dyn Write) -> Result<()> {
    let interval = SamplingInterval::from_hz(recorded.rate as f32);
    let product = match recorded.processes.as_slice() {
        [process] => format!("{} (Python {})", process.name, process.version),
        processes => format!("Python in {} processes", processes.len()),
    };
    let mut profile = Profile::new(&product, recorded.began.into(), interval);
    let python = profile.add_category("Python", CategoryColor::Yellow).into();
    let start = Timestamp::from_nanos_since_reference(0);
    let processes: Vec<_> = recorded
        .processes
        .iter()
        .map(|process| profile.add_process(&process.name, process.pid, start))
        .collect();
    let mut main_threads = HashMap::new();
    let threads: Vec<_> = recorded
        .threads
        .iter()
        .map(|thread| {
            let pid = recorded.processes[thread.process].pid;
            let is_main = thread.tid == pid && main_threads.insert(thread.process, ()).is_none();
            let handle = profile.add_thread(processes[thread.process], thread.tid, start, is_main);
            profile.set_thread_name(handle, &thread.name);
            handle
        })
        .collect();
    let interval = CpuDelta::from_nanos(1_000_000_000 / recorded.rate.max(1));
    let labels: Vec<_> = recorded
        .frames
        .iter()
        .map(|frame| profile.intern_string(&label::frame(frame, style)))
        .collect();
    let no_python = profile.intern_string(label::NO_PYTHON);
    for sample in &recorded.samples {
        let thread = threads[sample.thread];
        let frames = &recorded.stacks[sample.stack].frames;
        let mut labels: Vec<_> = frames.iter().map(|&id| labels[id as usize]).collect();
        if labels.is_empty() {
            labels.push(no_python);
        }
        let mut stack = None;
        for label in labels {
            let frame = FrameInfo {
                frame: Frame::Label(label),
                category_pair: python,
                flags: FrameFlags::empty(),
            };
            let frame = profile.intern_frame(thread, frame);
            stack = profile.intern_stack(thread, stack, frame).into();
        }
        let time = Timestamp::from_nanos_since_reference(sample.time);
        profile.add_sample(thread, time, stack, interval, 1);
    }
    serde_json::to_writer(&mut *out, &profile)?;
    writeln!(out)?;
    Ok(())
}
