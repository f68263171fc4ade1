//! Pythons on this machine, with truth from their own symbols and headers.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::digest;
use super::manifest::{Build, Truth};
use super::truth::{self, Debugger, Sources};
use crate::python;

/// Every Python found here, and its truth or why it has none.
///
/// A file that the manifest knows takes its truth from there. A pyenv build
/// has symbols, mostly debug information, and headers beside it; where both
/// are there they have to agree.
pub(crate) fn all(known: &[Build], scratch: &Path) -> Vec<(PathBuf, Result<Build>)> {
    python::all()
        .into_iter()
        .map(|path| {
            let build = build(&path, known, scratch);
            (path, build)
        })
        .collect()
}

fn build(path: &Path, known: &[Build], scratch: &Path) -> Result<Build> {
    let sha256 = digest(path)?;
    if let Some(known) = known.iter().find(|build| build.sha256 == sha256) {
        return Ok(Build { suite: "installed".into(), ..known.clone() });
    }
    let (version, prefix) = pyenv(path).context("not from pyenv, and not in the manifest")?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let truth = if truth::is_python(path)? {
        of_runtime(path, &version, &prefix, scratch)?
    } else {
        truth::of_other(path)?
    };
    Ok(Build {
        suite: "installed".into(),
        arch: "amd64".into(),
        package: "pyenv".into(),
        version,
        file: name,
        sha256,
        truth,
    })
}

fn of_runtime(path: &Path, version: &str, prefix: &Path, scratch: &Path) -> Result<Truth> {
    let sources = Sources { file: path, debug: path, debug_name: "the file itself" };
    let mut found = truth::of_python(&Debugger::find()?, sources, version, "release")?;
    if let Some(include) = include_folder(prefix)? {
        truth::agree(&found, &include, scratch)?;
        found.obtained.push_str("; offsetof compiled against its headers agrees");
    }
    Ok(found)
}

/// Version and prefix of the pyenv installation that a file belongs to.
fn pyenv(path: &Path) -> Option<(String, PathBuf)> {
    let versions = path.ancestors().find(|folder| {
        folder.file_name().is_some_and(|name| name == "versions")
            && folder.parent().is_some_and(|parent| parent.join("versions").is_dir())
    })?;
    let version = path.strip_prefix(versions).ok()?.components().next()?;
    let version = version.as_os_str().to_str()?;
    version
        .starts_with(|c: char| c.is_ascii_digit())
        .then(|| (version.to_owned(), versions.join(version)))
}

/// `include/python3.12` or `include/python3.6m`.
fn include_folder(prefix: &Path) -> Result<Option<PathBuf>> {
    let Ok(entries) = std::fs::read_dir(prefix.join("include")) else { return Ok(None) };
    for entry in entries {
        let path = entry?.path();
        if path.join("Python.h").is_file() && path.join("internal").is_dir() {
            return Ok(Some(path));
        }
    }
    Ok(None)
}
