//! Collapsed stacks: `outer;…;inner COUNT`, the format of Brendan Gregg's
//! `stackcollapse` programs.

use std::{collections::BTreeMap, io::Write};

use anyhow::Result;

use super::{Style, label};
use crate::profile::Profile;

/// Every different stack with its count, ordered.
pub(super) fn lines(profile: &Profile, style: &Style) -> BTreeMap<String, u64> {
    // Samples with the same stack in the same thread read the same.
    let mut counts: BTreeMap<_, (u64, usize)> = BTreeMap::new();
    for (index, sample) in profile.samples.iter().enumerate() {
        let key = (sample.thread, sample.stack, sample.states.stack_status);
        counts.entry(key).or_insert((0, index)).0 += 1;
    }
    let mut lines = BTreeMap::new();
    for (count, index) in counts.into_values() {
        let sample = &profile.samples[index];
        let mut frames = label::roots(profile, &profile.threads[sample.thread], style);
        frames.extend(label::stack(profile, sample, style));
        let line: Vec<String> = frames.iter().map(|frame| clean(frame)).collect();
        *lines.entry(line.join(";")).or_insert(0) += count;
    }
    lines
}

/// `;` separates frames and a line feed stacks, so names cannot hold them.
fn clean(label: &str) -> String {
    label.chars().map(|c| if c == ';' || c.is_control() { '?' } else { c }).collect()
}

pub(super) fn write(profile: &Profile, style: &Style, out: &mut dyn Write) -> Result<()> {
    for (line, count) in lines(profile, style) {
        writeln!(out, "{line} {count}")?;
    }
    Ok(())
}
