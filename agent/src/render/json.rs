//! One JSON object per file, on one line.

use analyzer_core::report::Report;
use serde::Serialize;

use super::{Process, Subject};

/// The report's members, and beside them who has mapped the file.
#[derive(Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    report: &'a Report,
    #[serde(skip_serializing_if = "<[Process]>::is_empty")]
    processes: &'a [Process],
}

pub(super) fn render(subject: Subject<'_>) -> anyhow::Result<String> {
    let mut line =
        serde_json::to_string(&Line { report: subject.report, processes: subject.processes })?;
    line.push('\n');
    Ok(line)
}
