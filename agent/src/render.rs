//! Reports for people and programs.
//!
//! Nothing here works anything out: a fact that a rendering needs is in the
//! report.

mod brief;
mod columns;
mod json;
pub(crate) mod style;
mod text;

#[cfg(test)]
mod tests;

use analyzer_core::report::Report;
use clap::ValueEnum;
use serde::Serialize;

pub(crate) use wording::plain;
use wording::{Contents, Traces};

/// How reports are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people at a terminal
    Text,
    /// One line per file
    Brief,
    /// One JSON object per file, on one line (schema `keyhole.report/1`)
    Json,
    /// To paste into a bug report
    Markdown,
}

/// A report, and where it is from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject<'a> {
    /// The report.
    pub(crate) report: &'a Report,
    /// The processes that have mapped the file; empty when a file was named.
    pub(crate) processes: &'a [Process],
}

/// A process, as shown.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Process {
    /// Its id in our PID namespace.
    pub(crate) pid: u32,
    /// Its name for itself; absent when it has ended.
    pub(crate) name: Option<String>,
}

/// What a rendering is told apart from the report.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    /// Columns of a line.
    pub(crate) width: usize,
    /// Show the annotated disassembly.
    pub(crate) trace: bool,
}

impl Format {
    /// The report in this format, ending with a line feed; with terminal
    /// styles where the format has some.
    pub(crate) fn render(self, subject: Subject<'_>, page: Page) -> anyhow::Result<String> {
        Ok(match self {
            Self::Text => text::render(subject, page),
            Self::Brief => brief::render(subject),
            Self::Json => json::render(subject)?,
            Self::Markdown => {
                let traces = if page.trace { Traces::All } else { Traces::None };
                wording::markdown(subject.report, Contents { nameless: false, traces })
            }
        })
    }

    /// What stands between two reports.
    pub(crate) fn separator(self) -> &'static str {
        match self {
            Self::Text => "\n\n",
            Self::Markdown => "\n",
            Self::Brief | Self::Json => "",
        }
    }
}
