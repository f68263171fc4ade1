//! A report for people at a terminal: the verdict first, then what it rests
//! on.

pub(super) mod facts;
pub(super) mod listing;

use std::{borrow::Cow, fmt::Write};

use analyzer_core::report::{BaselineResult, Diagnosis, Outcome, Report, StrategyResult};

use super::{
    Page, Process, Subject,
    columns::{self, Cell, wrap},
    safe::plain,
    style::{self, PLAIN, paint},
    words,
};

/// The widest name that a column of names is made wide enough for.
const NAME_LIMIT: usize = 44;

pub(super) fn render(subject: Subject<'_>, page: Page) -> String {
    let report = subject.report;
    let mut out = String::new();
    head(&mut out, subject, page.width);
    routes(&mut out, report, page.width);
    strategies(&mut out, report, page.width);
    baselines(&mut out, report, page.width);
    facts::write(&mut out, report, page.width);
    findings(&mut out, &report.diagnoses, page.width);
    if page.trace {
        listing::write(&mut out, report);
    }
    out
}

/// A section's title, after an empty line.
fn section(out: &mut String, title: &str) {
    line(out, "");
    line(out, &paint(style::HEADING, title));
}

fn line(out: &mut String, text: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{text}");
}

/// A paragraph, `indent` columns from the left.
fn paragraph(out: &mut String, text: &str, indent: usize, width: usize) {
    for part in wrap(text, width.saturating_sub(indent)) {
        line(out, &format!("{:indent$}{part}", ""));
    }
}

fn head(out: &mut String, subject: Subject<'_>, width: usize) {
    let report = subject.report;
    let (status, tone) = words::status(report.status);
    line(out, &paint(style::HEADING, &plain(&report.file.path)));
    let status = sentence(status);
    for (index, part) in
        wrap(&format!("{status} {}", words::headline(report)), width).iter().enumerate()
    {
        // The status is short enough to be whole at the start of the first line.
        match part.strip_prefix(&status).filter(|_| index == 0) {
            Some(rest) => line(out, &format!("{}{rest}", paint(style::of(tone), &status))),
            None => line(out, part),
        }
    }
    line(out, "");
    paragraph(out, &words::identity(report), 2, width);
    if let Some(build_id) = &report.file.build_id {
        line(out, &format!("  build id {}", plain(build_id)));
    }
    if let Some(python) = report.python.as_ref().filter(|python| !python.version_sources.is_empty())
    {
        let sources: Vec<String> = python
            .version_sources
            .iter()
            .map(|source| format!("{} ({})", plain(&source.value), plain(&source.source)))
            .collect();
        paragraph(out, &format!("version from {}", sources.join(", ")), 2, width);
    }
    if !subject.processes.is_empty() {
        let names: Vec<String> = subject.processes.iter().map(process).collect();
        paragraph(out, &format!("mapped by {}", names.join(", ")), 2, width);
    }
}

/// The word as a sentence of its own.
fn sentence(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).chain(['.']).collect()
}

fn process(process: &Process) -> String {
    match &process.name {
        Some(name) => format!("{} ({})", process.pid, plain(name)),
        None => process.pid.to_string(),
    }
}

fn routes(out: &mut String, report: &Report, width: usize) {
    if report.routes.is_empty() {
        return;
    }
    section(out, "Routes, preferred first");
    for (index, route) in report.routes.iter().enumerate() {
        let (strength, tone) = words::strength(route);
        let number = index + 1;
        line(
            out,
            &format!(
                "  {number}. {} [{}]",
                words::summary(route),
                paint(style::of(tone), strength)
            ),
        );
        paragraph(out, words::reaches(route), 5, width);
        for station in words::walk(report, route) {
            paragraph(out, &station, 5, width);
        }
    }
    if let Some(preference) = &report.preference {
        paragraph(out, &plain(preference), 2, width);
    }
}

fn strategies(out: &mut String, report: &Report, width: usize) {
    if report.strategies.is_empty() {
        return;
    }
    section(out, "Strategies");
    let (others, applied): (Vec<_>, Vec<_>) =
        report.strategies.iter().partition(|result| result.outcome == Outcome::NotApplicable);
    let rows: Vec<Vec<Cell>> = applied.into_iter().map(strategy).collect();
    columns::write(out, &rows, 2, NAME_LIMIT, width);
    // Those that do not apply share a few reasons: one paragraph each.
    let mut reasons: Vec<(&str, Vec<Cow<'_, str>>)> = Vec::new();
    for result in others {
        let reason =
            result.detail.as_deref().or(result.reason.as_deref()).unwrap_or("does not apply");
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) => names.push(plain(&result.name)),
            None => reasons.push((reason, vec![plain(&result.name)])),
        }
    }
    for (reason, names) in reasons {
        paragraph(out, &format!("not used, {}: {}", plain(reason), names.join(", ")), 2, width);
    }
}

fn strategy(result: &StrategyResult) -> Vec<Cell> {
    let (word, tone) = words::outcome(result.outcome);
    let word = match result.route {
        Some(route) => format!("{word} {}", route + 1),
        None => word.to_owned(),
    };
    let detail = result.detail.as_deref().or(result.reason.as_deref()).unwrap_or_default();
    vec![
        Cell::new(style::of(tone), word),
        Cell::new(PLAIN, plain(&result.name)),
        Cell::new(style::QUIET, plain(detail)),
    ]
}

fn baselines(out: &mut String, report: &Report, width: usize) {
    if report.baselines.is_empty() {
        return;
    }
    section(out, "How simpler decoders do here");
    let rows: Vec<Vec<Cell>> = report.baselines.iter().map(baseline).collect();
    columns::write(out, &rows, 2, NAME_LIMIT, width);
}

fn baseline(result: &BaselineResult) -> Vec<Cell> {
    let (word, tone) = words::baseline(result.outcome);
    let mut detail = String::new();
    if let Some(value) = result.value {
        let _ = write!(detail, "answers {value}");
    }
    if let Some(offset) = result.tp_offset {
        let _ = write!(detail, "answers thread pointer {offset:+}");
    }
    if let Some(at) = result.at {
        let _ = write!(detail, "{}at {at}", if detail.is_empty() { "" } else { ", " });
    }
    if let Some(reason) = result.detail.as_deref().or(result.reason.as_deref()) {
        let _ = write!(detail, "{}{}", if detail.is_empty() { "" } else { ": " }, plain(reason));
    }
    vec![
        Cell::new(style::of(tone), word),
        Cell::new(PLAIN, plain(&result.name)),
        Cell::new(style::QUIET, detail),
    ]
}

fn findings(out: &mut String, diagnoses: &[Diagnosis], width: usize) {
    if diagnoses.is_empty() {
        return;
    }
    section(out, "Findings");
    for finding in diagnoses {
        line(
            out,
            &format!("  {} ({})", plain(&finding.title), paint(style::CODE, &plain(&finding.code))),
        );
        paragraph(out, &plain(&finding.detail), 5, width);
        paragraph(out, &format!("→ {}", plain(&finding.remedy)), 5, width);
    }
    paragraph(out, "`keyhole explain CODE` tells more about each.", 2, width);
}
