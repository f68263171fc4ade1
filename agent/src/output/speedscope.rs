//! speedscope's file format (<https://www.speedscope.app/file-format-schema.json>):
//! one sampled profile for each thread.

use std::{collections::BTreeMap, io::Write};

use anyhow::Result;
use serde::Serialize;

use super::{Style, label};
use crate::profile::Profile;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    shared: Shared<'a>,
    profiles: Vec<Sampled>,
    name: String,
    active_profile_index: usize,
    exporter: String,
}

#[derive(Serialize)]
struct Shared<'a> {
    frames: Vec<Frame<'a>>,
}

#[derive(Serialize)]
struct Frame<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "String::is_empty")]
    file: String,
    #[serde(skip_serializing_if = "is_zero")]
    line: u32,
}

fn is_zero(line: &u32) -> bool {
    *line == 0
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Sampled {
    r#type: &'static str,
    name: String,
    unit: &'static str,
    start_value: u64,
    end_value: u64,
    samples: Vec<Vec<u32>>,
    weights: Vec<u64>,
}

pub(super) fn write(profile: &Profile, style: &Style, out: &mut dyn Write) -> Result<()> {
    let mut frames: Vec<Frame<'_>> = profile
        .frames
        .iter()
        .map(|frame| Frame {
            name: &frame.name,
            file: label::file(&frame.file, style).into_owned(),
            line: if style.lines { frame.line } else { frame.first_line },
        })
        .collect();
    let no_python = frames.len() as u32;
    frames.push(Frame { name: label::NO_PYTHON, file: String::new(), line: 0 });

    let interval = 1_000_000_000 / profile.rate.max(1);
    let mut threads: BTreeMap<usize, Sampled> = BTreeMap::new();
    for sample in &profile.samples {
        let sampled = threads.entry(sample.thread).or_insert_with(|| {
            let thread = &profile.threads[sample.thread];
            let process = &profile.processes[thread.process];
            Sampled {
                r#type: "sampled",
                name: format!(
                    "process {} ({}), thread {} ({})",
                    process.pid, process.name, thread.tid, thread.name
                ),
                unit: "nanoseconds",
                start_value: 0,
                end_value: 0,
                samples: Vec::new(),
                weights: Vec::new(),
            }
        });
        let stack = &profile.stacks[sample.stack].frames;
        sampled.samples.push(if stack.is_empty() { vec![no_python] } else { stack.clone() });
        sampled.weights.push(interval);
        sampled.end_value += interval;
    }
    let file = File {
        schema: "https://www.speedscope.app/file-format-schema.json",
        shared: Shared { frames },
        profiles: threads.into_values().collect(),
        name: "keyhole".to_owned(),
        active_profile_index: 0,
        exporter: concat!("keyhole@", env!("CARGO_PKG_VERSION")).to_owned(),
    };
    serde_json::to_writer(&mut *out, &file)?;
    writeln!(out)?;
    Ok(())
}
