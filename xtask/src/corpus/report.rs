//! The parts of `keyhole inspect --format json` that the corpus checks, read
//! by their published names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::manifest::Gil;
use crate::shell;

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Report {
    pub(crate) file: File,
    pub(crate) status: String,
    pub(crate) python: Option<Python>,
    pub(crate) runtime: Option<Runtime>,
    pub(crate) routes: Vec<Route>,
    pub(crate) gil: Option<GilReport>,
    pub(crate) layout: Option<Layout>,
    pub(crate) libc: Option<Libc>,
    pub(crate) baselines: Vec<Baseline>,
}

impl Report {
    /// Whether the report says that it knows no frame layout for this build.
    pub(crate) fn layout_is_unknown(&self) -> bool {
        self.layout.as_ref().is_some_and(|layout| layout.source == "unknown")
    }
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct File {
    pub(crate) path: PathBuf,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Python {
    pub(crate) version: Option<String>,
    pub(crate) flavour: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Runtime {
    pub(crate) address: String,
    pub(crate) size: Option<u64>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Route {
    PthreadKey {
        key_address: String,
        runtime_offset: Option<u64>,
    },
    ThreadLocal {
        reaches: String,
        model: String,
        module_offset: Option<u64>,
        got_slot: Option<String>,
        slot_offset: Option<u64>,
        tp_offset: Option<i64>,
    },
    Global {
        address: String,
        runtime_offset: Option<u64>,
    },
}

/// As [`Gil`], except that a stripped file does not tell where statics are.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kept_in", rename_all = "snake_case")]
pub(crate) enum GilReport {
    Statics { locked: Option<String>, last_holder: Option<String> },
    Runtime { locked: String, last_holder: String },
    Interpreter { gil_pointer: u64, locked: u64, last_holder: u64 },
}

impl GilReport {
    /// Whether everything said is as in `truth`.
    pub(crate) fn agrees(&self, truth: &Gil) -> bool {
        match (self, truth) {
            (
                Self::Statics { locked, last_holder },
                Gil::Statics { locked: true_locked, last_holder: true_holder },
            ) => {
                locked.as_ref().is_none_or(|said| said == true_locked)
                    && last_holder.as_ref().is_none_or(|said| said == true_holder)
            }
            (
                Self::Runtime { locked, last_holder },
                Gil::Runtime { locked: true_locked, last_holder: true_holder },
            ) => locked == true_locked && last_holder == true_holder,
            (
                Self::Interpreter { gil_pointer, locked, last_holder },
                Gil::Interpreter {
                    gil_pointer: true_pointer,
                    locked: true_locked,
                    last_holder: true_holder,
                },
            ) => gil_pointer == true_pointer && locked == true_locked && last_holder == true_holder,
            _ => false,
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Layout {
    pub(crate) source: String,
    pub(crate) members: Vec<Member>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Member {
    pub(crate) structure: String,
    pub(crate) member: String,
    pub(crate) offset: u64,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Libc {
    pub(crate) libc: String,
    pub(crate) thread_data: Option<ThreadData>,
    pub(crate) dtv: Option<Dtv>,
    pub(crate) link_map_tls_offset: Option<u64>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "shape", rename_all = "snake_case")]
pub(crate) enum ThreadData {
    TwoLevel { first_block: i64, blocks: i64 },
    Array { pointer: i64 },
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Dtv {
    pub(crate) pointer: i64,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Baseline {
    pub(crate) name: String,
    pub(crate) outcome: String,
    pub(crate) reason: Option<String>,
    pub(crate) value: Option<String>,
}

/// Files in one run of keyhole: enough to make starting it cheap, few enough
/// that a crash is narrowed down.
const BATCH: usize = 24;

/// Runs `keyhole inspect` on the files. A file without a report, because
/// keyhole crashed on it or said nothing, is missing from the result.
///
/// # Errors
/// keyhole cannot be started, or prints something else than reports.
pub(crate) fn of_files(keyhole: &Path, files: &[&Path]) -> Result<BTreeMap<PathBuf, Report>> {
    let mut reports = BTreeMap::new();
    for batch in files.chunks(BATCH) {
        let output = shell::command(keyhole)
            .args(["inspect", "--format", "json"])
            .args(batch)
            .output()
            .with_context(|| format!("cannot start {}", keyhole.display()))?;
        // 1 and 2 say that some file is not resolved or not readable.
        if !matches!(output.status.code(), Some(0..=2)) {
            println!(
                "keyhole ended with {}: {}",
                output.status,
                String::from_utf8_lossy(&output.stderr).trim()
            );
        }
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let report: Report = serde_json::from_str(line)
                .with_context(|| format!("no report: {}", line.get(..200).unwrap_or(line)))?;
            reports.insert(report.file.path.clone(), report);
        }
    }
    if reports.is_empty() && !files.is_empty() {
        bail!("{} printed no report at all", keyhole.display());
    }
    Ok(reports)
}
