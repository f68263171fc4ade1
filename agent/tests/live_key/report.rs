//! Reports from the `keyhole` binary under test.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use analyzer_core::report::{Report, Status};

use crate::process::Process;

/// Reports by path and, since two roots can hold the same path, by size and
/// time of the file.
type Known = BTreeMap<(PathBuf, u64, Option<std::time::SystemTime>), Report>;

static KNOWN: Mutex<Known> = Mutex::new(BTreeMap::new());

/// The image of a process that holds CPython's runtime: its path as the
/// process sees it, and the report on it.
///
/// # Errors
/// In words, why there is none, or that there are several.
pub(crate) fn of_runtime_image(process: &Process) -> Result<(PathBuf, Report), String> {
    let mut paths: Vec<PathBuf> = process
        .mappings()
        .map_err(|error| error.to_string())?
        .into_iter()
        .map(|mapping| mapping.path)
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("python") || name.starts_with("libpython")
        })
        .collect();
    paths.sort_unstable();
    paths.dedup();
    let mut found = Vec::new();
    for path in paths {
        let report = of_file(&path, &process.file(&path))?;
        if !matches!(report.status, Status::Launcher | Status::NotPython) {
            found.push((path, report));
        }
    }
    match found.len() {
        1 => Ok(found.remove(0)),
        count => Err(format!("{count} runtime images in the process")),
    }
}

/// The report on a file, called `path`, that can be opened as `opened`.
fn of_file(path: &Path, opened: &Path) -> Result<Report, String> {
    let facts = opened.metadata().map_err(|error| format!("{}: {error}", opened.display()))?;
    let key = (path.to_owned(), facts.len(), facts.modified().ok());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(report) = known.get(&key) {
        return Ok(report.clone());
    }
    let output = Command::new(env!("CARGO_BIN_EXE_keyhole"))
        .args(["inspect", "--format", "json"])
        .arg(opened)
        .output()
        .map_err(|error| format!("cannot start keyhole: {error}"))?;
    let report: Report = serde_json::from_slice(&output.stdout).map_err(|error| {
        format!("{}: {error}; {}", path.display(), String::from_utf8_lossy(&output.stderr))
    })?;
    known.insert(key, report.clone());
    Ok(report)
}
