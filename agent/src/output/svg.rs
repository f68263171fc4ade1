//! Flame graphs, drawn by inferno.

use std::io::Write;

use anyhow::{Context, Result};
use inferno::flamegraph::{
    self, Direction, Options, TextTruncateDirection,
    color::{BasicPalette, Palette},
};

use super::{Style, collapsed};
use crate::profile::Profile;

pub(super) fn write(profile: &Profile, style: &Style, out: &mut dyn Write) -> Result<()> {
    let lines: Vec<String> = collapsed::lines(profile, style)
        .into_iter()
        .map(|(line, count)| format!("{line} {count}"))
        .collect();
    let mut options = Options::default();
    options.title = title(profile);
    options.count_name = "samples".to_owned();
    options.colors = Palette::Basic(BasicPalette::Orange);
    options.hash = true;
    options.min_width = 0.05;
    // Imports nest deeply and are rarely what is looked for: the program's own
    // outermost frames are to be seen first.
    options.direction = Direction::Inverted;
    // The name of the function comes first, its place after it.
    options.text_truncate_direction = TextTruncateDirection::Right;
    if lines.is_empty() {
        writeln!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"600\" height=\"40\">\
             <text x=\"10\" y=\"25\">keyhole: no samples were taken</text></svg>"
        )?;
        return Ok(());
    }
    flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), out)
        .context("the flame graph cannot be drawn")
}

fn title(profile: &Profile) -> String {
    let what = match profile.processes.as_slice() {
        [process] => format!("Python {} in {} ({})", process.version, process.name, process.pid),
        processes => format!("Python in {} processes", processes.len()),
    };
    format!(
        "{what}: {} samples in {:.1} s at {} Hz",
        profile.samples.len(),
        profile.length as f64 / 1e9,
        profile.rate
    )
}
