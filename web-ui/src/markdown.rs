//! The report as Markdown, to paste into a bug report.

use analyzer_core::report::Report;

pub(crate) fn markdown(report: &Report) -> String {
    format!("{}", report.file.path)
}
