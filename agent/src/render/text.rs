//! A report for people at a terminal: the verdict first, then what it rests
//! on.

mod listing;

use std::{borrow::Cow, fmt::Write};

use analyzer_core::report::{BaselineResult, Diagnosis, Outcome, Report, Route, StrategyResult};
use wording::{facts, plain, route, terms, walk};

use super::{
    Page, Process, Subject,
    columns::{self, Cell, wrap},
    style::{self, PLAIN, paint},
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
    also_known(&mut out, report, page.width);
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
    let verdict = wording::verdict(report);
    line(out, &paint(style::HEADING, &plain(&report.file.path)));
    let word = format!("{}.", verdict.word);
    let sentences = format!("{word} {} {}", plain(&verdict.headline), plain(&verdict.support));
    for (index, part) in wrap(sentences.trim_end(), width).iter().enumerate() {
        // The word is short enough to be whole at the start of the first line.
        match part.strip_prefix(&word).filter(|_| index == 0) {
            Some(rest) => line(out, &format!("{}{rest}", paint(style::of(verdict.tone), &word))),
            None => line(out, part),
        }
    }
    line(out, "");
    paragraph(out, &plain(&wording::build(report).join(", ")), 2, width);
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
        let (strength, tone) = terms::strength(route::strength(route));
        line(
            out,
            &format!(
                "  {}. {} at {}{} [{}]",
                index + 1,
                terms::capital(route::kind(route)),
                route::answer(route),
                route::detail(route).map(|detail| format!(" ({detail})")).unwrap_or_default(),
                paint(style::of(tone), strength)
            ),
        );
        stations(out, report, route, width);
    }
    if let Some(preference) = &report.preference {
        paragraph(out, &plain(preference), 2, width);
    }
}

fn stations(out: &mut String, report: &Report, route: &Route, width: usize) {
    let rows: Vec<Vec<Cell>> = walk::stations(report, route)
        .into_iter()
        .map(|station| {
            vec![
                Cell::new(style::QUIET, station.when),
                Cell::new(PLAIN, station.title),
                Cell::new(style::CODE, station.place),
                Cell::new(PLAIN, station.words),
            ]
        })
        .collect();
    columns::write(out, &rows, 5, NAME_LIMIT, width);
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
    let (word, tone) = terms::outcome(result.outcome);
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
    let (word, tone) = terms::baseline(result.outcome);
    let mut detail = String::new();
    if let Some(answer) = terms::baseline_answer(result) {
        let _ = write!(detail, "answers {answer}");
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

fn also_known(out: &mut String, report: &Report, width: usize) {
    let facts = facts::of_contents(report);
    if facts.is_empty() {
        return;
    }
    section(out, "Also known");
    let rows: Vec<Vec<Cell>> = facts
        .into_iter()
        .map(|(name, value)| vec![Cell::new(style::QUIET, name), Cell::new(PLAIN, plain(&value))])
        .collect();
    columns::write(out, &rows, 2, NAME_LIMIT, width);
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
