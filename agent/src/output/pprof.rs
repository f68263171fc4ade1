//! pprof's gzipped protocol buffer.
//!
//! The message is `perftools.profiles.Profile` of pprof's `proto/profile.proto`;
//! field numbers are from there.

use std::{
    collections::{BTreeMap, HashMap},
    io::Write,
    time::UNIX_EPOCH,
};

use anyhow::Result;
use flate2::{Compression, write::GzEncoder};
use prost::Message;

use super::{Style, label};
use crate::profile::Profile as Recorded;

#[derive(Clone, PartialEq, Message)]
struct Profile {
    #[prost(message, repeated, tag = "1")]
    sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    sample: Vec<Sample>,
    #[prost(message, repeated, tag = "4")]
    location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    function: Vec<Function>,
    #[prost(string, repeated, tag = "6")]
    string_table: Vec<String>,
    #[prost(int64, tag = "9")]
    time_nanos: i64,
    #[prost(int64, tag = "10")]
    duration_nanos: i64,
    #[prost(message, optional, tag = "11")]
    period_type: Option<ValueType>,
    #[prost(int64, tag = "12")]
    period: i64,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct ValueType {
    #[prost(int64, tag = "1")]
    r#type: i64,
    #[prost(int64, tag = "2")]
    unit: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Sample {
    #[prost(uint64, repeated, tag = "1")]
    location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    value: Vec<i64>,
    #[prost(message, repeated, tag = "3")]
    label: Vec<Label>,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct Label {
    #[prost(int64, tag = "1")]
    key: i64,
    #[prost(int64, tag = "2")]
    str: i64,
    #[prost(int64, tag = "3")]
    num: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Location {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(message, repeated, tag = "4")]
    line: Vec<Line>,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct Line {
    #[prost(uint64, tag = "1")]
    function_id: u64,
    #[prost(int64, tag = "2")]
    line: i64,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct Function {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "2")]
    name: i64,
    #[prost(int64, tag = "3")]
    system_name: i64,
    #[prost(int64, tag = "4")]
    filename: i64,
    #[prost(int64, tag = "5")]
    start_line: i64,
}

/// The string table, whose first string must be empty.
struct Strings {
    all: Vec<String>,
    ids: HashMap<String, i64>,
}

impl Strings {
    fn new() -> Self {
        Self { all: vec![String::new()], ids: HashMap::from([(String::new(), 0)]) }
    }

    fn id(&mut self, text: &str) -> i64 {
        if let Some(&id) = self.ids.get(text) {
            return id;
        }
        let id = self.all.len() as i64;
        self.all.push(text.to_owned());
        self.ids.insert(text.to_owned(), id);
        id
    }
}

pub(super) fn write(profile: &Recorded, style: &Style, out: &mut dyn Write) -> Result<()> {
    let message = message(profile, style);
    let mut encoder = GzEncoder::new(out, Compression::default());
    encoder.write_all(&message.encode_to_vec())?;
    encoder.finish()?;
    Ok(())
}

fn message(profile: &Recorded, style: &Style) -> Profile {
    let mut strings = Strings::new();
    let mut functions: Vec<Function> = Vec::new();
    let mut function_ids: HashMap<_, u64> = HashMap::new();
    let mut locations: Vec<Location> = Vec::with_capacity(profile.frames.len() + 1);
    let mut function = |strings: &mut Strings, name: &str, file: &str, line: u32| {
        let (name, file) = (strings.id(name), strings.id(file));
        *function_ids.entry((name, file, line)).or_insert_with(|| {
            let id = functions.len() as u64 + 1;
            functions.push(Function {
                id,
                name,
                system_name: name,
                filename: file,
                start_line: i64::from(line),
            });
            id
        })
    };
    for (index, frame) in profile.frames.iter().enumerate() {
        let file = label::file(&frame.file, style);
        let function_id = function(&mut strings, &frame.name, &file, frame.first_line);
        let line = i64::from(if style.lines { frame.line } else { frame.first_line });
        let id = index as u64 + 1;
        locations.push(Location { id, line: vec![Line { function_id, line }] });
    }
    let no_python = profile.frames.len() as u64 + 1;
    let function_id = function(&mut strings, label::NO_PYTHON, "", 0);
    locations.push(Location { id: no_python, line: vec![Line { function_id, line: 0 }] });

    let mut counts: BTreeMap<(usize, usize), i64> = BTreeMap::new();
    for sample in &profile.samples {
        *counts.entry((sample.thread, sample.stack)).or_insert(0) += 1;
    }
    let period = 1_000_000_000 / profile.rate.max(1) as i64;
    let keys = ["process id", "process", "thread id", "thread"].map(|key| strings.id(key));
    let samples = counts
        .into_iter()
        .map(|((thread, stack), count)| {
            let thread = &profile.threads[thread];
            let process = &profile.processes[thread.process];
            // Innermost first.
            let mut location_id: Vec<u64> = profile.stacks[stack]
                .frames
                .iter()
                .rev()
                .map(|&frame| u64::from(frame) + 1)
                .collect();
            if location_id.is_empty() {
                location_id.push(no_python);
            }
            let number = |key, num: u32| Label { key, str: 0, num: i64::from(num) };
            let mut text = |key, text: &str| Label { key, str: strings.id(text), num: 0 };
            Sample {
                location_id,
                value: vec![count, count.saturating_mul(period)],
                label: vec![
                    number(keys[0], process.pid),
                    text(keys[1], &process.name),
                    number(keys[2], thread.tid),
                    text(keys[3], &thread.name),
                ],
            }
        })
        .collect();
    let count = ValueType { r#type: strings.id("samples"), unit: strings.id("count") };
    let time = ValueType { r#type: strings.id("cpu"), unit: strings.id("nanoseconds") };
    let began = profile.began.duration_since(UNIX_EPOCH).unwrap_or_default();
    Profile {
        sample_type: vec![count, time],
        sample: samples,
        location: locations,
        function: functions,
        string_table: strings.all,
        time_nanos: i64::try_from(began.as_nanos()).unwrap_or(i64::MAX),
        duration_nanos: i64::try_from(profile.length).unwrap_or(i64::MAX),
        period_type: Some(time),
        period,
    }
}
