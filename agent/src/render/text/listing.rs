//! Annotated disassembly, with styles.

use analyzer_core::report::{Report, Step, StepRole};
use wording::{
    listing::{Note, listing},
    plain,
};

use super::{
    super::style::{self, PLAIN, paint},
    line, section,
};

/// The trace of every strategy that has one.
pub(super) fn write(out: &mut String, report: &Report) {
    for strategy in report.strategies.iter().filter(|strategy| !strategy.trace.is_empty()) {
        section(out, &format!("Trace of {}", plain(&strategy.name)));
        steps(out, &strategy.trace);
    }
}

/// The steps; `▸` marks those on the way of a value into the sink, calls that
/// were followed are indented.
fn steps(out: &mut String, steps: &[Step]) {
    let listing = listing(steps);
    for row in &listing.rows {
        if let Some(function) = &row.function {
            line(out, &format!("  {}", paint(style::HEADING, &format!("{function}:"))));
        }
        let mark = if row.on_path { paint(style::GOOD, "▸") } else { " ".to_owned() };
        let notes: Vec<String> =
            row.notes.iter().map(|note| paint(of(note), note.text())).collect();
        // Padding stays outside of the styles, so that it can be cut off.
        let gap = |width: usize, text: &str| " ".repeat(width.saturating_sub(text.chars().count()));
        let line_of_row = format!(
            "  {mark} {}  {}{}  {}{}  {}",
            paint(style::CODE, &format!("{:>1$}", row.address, listing.address_width)),
            paint(style::QUIET, &row.bytes),
            gap(listing.bytes_width, &row.bytes),
            paint(if row.on_path { style::HEADING } else { PLAIN }, &row.text),
            gap(listing.text_width, &row.text),
            notes.join("; "),
        );
        line(out, line_of_row.trim_end());
    }
}

/// The style of a note.
const fn of(note: &Note) -> anstyle::Style {
    match note {
        Note::Role(StepRole::Sink, _) => style::GOOD,
        Note::Role(StepRole::FollowedCall, _) => style::MIXED,
        Note::Effect(_, true) => PLAIN,
        Note::Role(..) | Note::Effect(_, false) => style::QUIET,
    }
}
