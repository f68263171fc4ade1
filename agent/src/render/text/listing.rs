//! Annotated disassembly: each instruction with what it changed.

use analyzer_core::report::{Report, Step, StepRole};

use super::{
    super::{
        safe::plain,
        style::{self, PLAIN, paint},
    },
    line, section,
};

/// Columns that instruction bytes get at most; longer ones are cut.
const BYTES_LIMIT: usize = 22;
/// Columns that disassembly gets at most.
const TEXT_LIMIT: usize = 48;

/// The trace of every strategy that has one.
pub(super) fn write(out: &mut String, report: &Report) {
    for strategy in report.strategies.iter().filter(|strategy| !strategy.trace.is_empty()) {
        section(out, &format!("Trace of {}", plain(&strategy.name)));
        listing(out, &strategy.trace);
    }
}

/// The steps; `▸` marks those on the way of a value into the sink, calls that
/// were followed are indented.
pub(in crate::render) fn listing(out: &mut String, steps: &[Step]) {
    let bytes_width = column(steps, BYTES_LIMIT, |step| step.bytes.len());
    let address_width = column(steps, usize::MAX, |step| step.address.to_string().len());
    let text_width =
        column(steps, TEXT_LIMIT, |step| step.text.chars().count() + indentation(step));
    let mut function = None;
    for step in steps {
        if step.function.is_some() && step.function != function {
            function.clone_from(&step.function);
            let name = step.function.as_deref().unwrap_or_default();
            line(out, &format!("  {}", paint(style::HEADING, &format!("{}:", plain(name)))));
        }
        let mark = if step.on_path { paint(style::GOOD, "▸") } else { " ".to_owned() };
        let text = format!("{:indent$}{}", "", plain(&step.text), indent = indentation(step));
        let bytes = match step.bytes.get(..BYTES_LIMIT - 1) {
            Some(start) if step.bytes.len() > BYTES_LIMIT => format!("{start}…"),
            _ => step.bytes.clone(),
        };
        // Padding stays outside of the styles, so that it can be cut off.
        let gap = " ".repeat(text_width.saturating_sub(text.chars().count()));
        let row = format!(
            "  {mark} {}  {}{}  {}{gap}  {}",
            paint(style::CODE, &format!("{:>address_width$}", step.address.to_string())),
            paint(style::QUIET, &plain(&bytes)),
            " ".repeat(bytes_width.saturating_sub(bytes.chars().count())),
            paint(if step.on_path { style::HEADING } else { PLAIN }, &text),
            notes(step),
        );
        line(out, row.trim_end());
    }
}

fn column(steps: &[Step], limit: usize, width: impl Fn(&Step) -> usize) -> usize {
    steps.iter().map(width).max().unwrap_or_default().min(limit)
}

fn indentation(step: &Step) -> usize {
    usize::try_from(step.depth).unwrap_or(usize::MAX).min(8) * 2
}

/// What the step is and what it changed.
fn notes(step: &Step) -> String {
    let mut notes = Vec::new();
    if let Some(role) = step.role {
        let (word, style) = match role {
            StepRole::Branch => ("branch, both ways", style::QUIET),
            StepRole::FollowedCall => ("call, followed", style::MIXED),
            StepRole::SkippedCall => ("call, stepped over", style::QUIET),
            StepRole::Sink => ("◀ the answer is used here", style::GOOD),
            StepRole::Return => ("return", style::QUIET),
        };
        notes.push(paint(style, word));
    }
    notes.extend(step.effects.iter().map(|effect| {
        let style = if effect.value == "?" { style::QUIET } else { PLAIN };
        paint(style, &format!("{} = {}", plain(&effect.place), plain(&effect.value)))
    }));
    notes.join("; ")
}
