//! The table of builds, their truth, and the verdicts, as Markdown.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::manifest::{Build, Truth};
use super::report::{Baseline, Report};
use super::verdict::{Outcome, Verdict};

/// One build that was analyzed.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) build: Build,
    pub(crate) report: Option<Report>,
    pub(crate) verdict: Verdict,
}

/// Something that could not be analyzed.
#[derive(Debug)]
pub(crate) struct Skipped {
    pub(crate) name: String,
    /// Its outermost context is for the page, the whole chain for the terminal.
    pub(crate) reason: anyhow::Error,
}

/// The page `docs/corpus.md`.
pub(crate) fn page(rows: &[Row], skipped: &[Skipped]) -> String {
    let mut page = String::from(
        "# The corpus\n\n\
         Written by `cargo xtask corpus`; do not edit. What is true of each build, and how that\n\
         was found without Keyhole, is in `corpus/manifest.toml`.\n\n",
    );
    summary(&mut page, rows);
    let is_python = |row: &&Row| row.build.truth.python.is_some();
    for (title, arch) in [("CPython, x86-64", "amd64"), ("CPython, aarch64", "arm64")] {
        let chosen: Vec<&Row> =
            rows.iter().filter(is_python).filter(|row| row.build.arch == arch).collect();
        pythons(&mut page, title, &chosen);
    }
    let others: Vec<&Row> = rows.iter().filter(|row| !is_python(row)).collect();
    plain(&mut page, "C libraries, embedders, other architectures", &others);
    let remarks: Vec<&Row> = rows.iter().filter(|row| !row.verdict.findings.is_empty()).collect();
    if !remarks.is_empty() {
        page.push_str("## Remarks\n\n");
        for row in remarks {
            let _ = writeln!(page, "- {}: {}", row.build.name(), row.verdict.findings.join("; "));
        }
        page.push('\n');
    }
    if !skipped.is_empty() {
        page.push_str("## Skipped\n\n");
        for skip in skipped {
            let _ = writeln!(page, "- {}: {}", skip.name, skip.reason);
        }
    }
    page.truncate(page.trim_end().len());
    page.push('\n');
    page
}

/// Counts of verdicts, and of each baseline's answers, on CPython builds
/// with a pthread key.
pub(crate) fn summary(page: &mut String, rows: &[Row]) {
    let count = |outcome| rows.iter().filter(|row| row.verdict.outcome == outcome).count();
    let _ = writeln!(
        page,
        "{} files: {} right, {} missed, {} wrong, {} without a report.\n",
        rows.len(),
        count(Outcome::Right),
        count(Outcome::Missed),
        count(Outcome::Wrong),
        count(Outcome::NoReport)
    );
    let mut answers: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.build.truth.python.is_some()) {
        for baseline in row.report.iter().flat_map(|report| &report.baselines) {
            *answers
                .entry(&baseline.name)
                .or_default()
                .entry(outcome_of(baseline, &row.build.truth))
                .or_default() += 1;
        }
    }
    if answers.is_empty() {
        return;
    }
    page.push_str(
        "| simpler decoder | right | wrong | fails | not made for it |\n|---|--:|--:|--:|--:|\n",
    );
    for (name, counts) in answers {
        let count = |word| counts.get(word).copied().unwrap_or(0);
        let _ = writeln!(
            page,
            "| {name} | {} | {} | {} | {} |",
            count("right"),
            count("wrong"),
            count("fails"),
            count("n/a")
        );
    }
    page.push('\n');
}

/// How a baseline ends, by the truth and not by the report's word for it
/// where the truth has an address to compare with.
fn outcome_of(baseline: &Baseline, truth: &Truth) -> &'static str {
    let key = truth.pthread_key.as_ref().map(|key| &key.address);
    match (baseline.outcome.as_str(), &baseline.value, key) {
        ("fails", ..) => "fails",
        ("not_applicable", ..) => "n/a",
        (_, Some(value), Some(key)) if value == key => "right",
        ("wrong" | "unverified", Some(_), Some(_)) => "wrong",
        ("right", ..) => "right",
        _ => "wrong",
    }
}

fn pythons(page: &mut String, title: &str, rows: &[&Row]) {
    if rows.is_empty() {
        return;
    }
    let mut names: Vec<&str> = rows
        .iter()
        .flat_map(|row| row.report.iter().flat_map(|report| &report.baselines))
        .map(|baseline| baseline.name.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    let _ = writeln!(page, "## {title}\n");
    let _ = write!(page, "| version | build | truth | Keyhole |");
    for name in &names {
        let _ = write!(page, " {name} |");
    }
    let _ = write!(page, "\n|---|---|---|---|");
    page.push_str(&"---|".repeat(names.len()));
    page.push('\n');
    for row in rows {
        let Build { suite, package, version, file, truth, .. } = &row.build;
        let file = file.rsplit('/').next().unwrap_or(file);
        let _ = write!(
            page,
            "| {} | {suite} {package} {version}, {file} | {} | {} |",
            truth.python.as_deref().unwrap_or_default(),
            in_short(truth),
            row.verdict.outcome.word()
        );
        for name in &names {
            let cell = row
                .report
                .iter()
                .flat_map(|report| &report.baselines)
                .find(|baseline| baseline.name == *name)
                .map_or_else(String::new, |baseline| cell(baseline, truth));
            let _ = write!(page, " {cell} |");
        }
        page.push('\n');
    }
    page.push('\n');
}

fn cell(baseline: &Baseline, truth: &Truth) -> String {
    let outcome = outcome_of(baseline, truth);
    match (outcome, &baseline.reason, &baseline.value) {
        ("fails", Some(reason), _) => format!("fails: {reason}"),
        ("wrong", _, Some(value)) => format!("wrong: {value}"),
        _ => outcome.to_owned(),
    }
}

fn plain(page: &mut String, title: &str, rows: &[&Row]) {
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(page, "## {title}\n\n| file | truth | Keyhole |\n|---|---|---|");
    for row in rows {
        let _ = writeln!(
            page,
            "| {} | {} | {} |",
            row.build.name(),
            in_short(&row.build.truth),
            row.verdict.outcome.word()
        );
    }
    page.push('\n');
}

/// The truth in a few words.
fn in_short(truth: &Truth) -> String {
    let mut parts = Vec::new();
    if let Some(key) = &truth.pthread_key {
        parts.push(match key.runtime_offset {
            Some(offset) => format!("key {} (+{offset})", key.address),
            None => format!("key {}", key.address),
        });
    }
    for variable in &truth.thread_local {
        let way = variable.ways.first().map_or("", |way| way.model.as_str());
        parts.push(format!("{} {way} +{}", variable.reaches, variable.module_offset));
    }
    if let Some(global) = &truth.global {
        parts.push(format!("global {}", global.address));
    }
    if let Some(libc) = &truth.libc {
        let slots = libc.slots.map_or("no slots".into(), |slots| format!("slots {slots:+}"));
        parts.push(format!("{}, {slots}", libc.libc));
    }
    if parts.is_empty() {
        parts.push(truth.status.replace('_', " "));
    }
    parts.join("; ")
}
