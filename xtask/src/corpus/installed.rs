//! Pythons on this machine, with truth from their own symbols and headers.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::digest;
use super::manifest::{Build, Truth};
use super::truth::{self, Debugger, Sources};
use crate::{python, shell};

/// Every Python found here, and its truth or why it has none.
///
/// A file that the manifest knows takes its truth from there. A pyenv build
/// has symbols, mostly debug information, and headers beside it; where both
/// are there they have to agree.
pub(crate) fn all(known: &[Build], scratch: &Path) -> Vec<(PathBuf, Result<Build>)> {
    python::all()
        .into_iter()
        .filter(|path| truth::is_about_python(path).unwrap_or(true))
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
    let (package, version, prefix) = origin(path)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let truth = if truth::is_python(path)? {
        of_runtime(path, &version, &prefix, scratch)?
    } else {
        truth::of_other(path)?
    };
    Ok(Build {
        suite: "installed".into(),
        arch: "amd64".into(),
        package,
        version,
        file: name,
        sha256,
        truth,
    })
}

/// The package, its version, and the prefix of its files.
fn origin(path: &Path) -> Result<(String, String, PathBuf)> {
    if let Some((version, prefix)) = pyenv(path) {
        return Ok(("pyenv".into(), version, prefix));
    }
    let owner = shell::output(shell::command("dpkg-query").arg("--search").arg(path))
        .context("neither from pyenv nor from a package")?;
    let package = owner.split(": ").next().unwrap_or_default();
    let format = "--showformat=${Package} ${Version}";
    let line = shell::output(shell::command("dpkg-query").args(["--show", format, package]))?;
    let (name, version) = line.split_once(' ').context("dpkg-query says no version")?;
    Ok((name.into(), version.into(), "/usr".into()))
}

fn of_runtime(path: &Path, version: &str, prefix: &Path, scratch: &Path) -> Result<Truth> {
    let sources = Sources { file: path, debug: path, debug_name: "the file itself" };
    let version = &truth::upstream_version(version);
    let include = include_folder(prefix, version)?;
    if !truth::has_debug_information(path)? {
        let include = include.context("it has neither debug information nor headers")?;
        return truth::of_headers(path, &include, version, scratch);
    }
    let mut found = truth::of_python(&Debugger::find()?, sources, version, "release")?;
    if let Some(include) = include {
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

/// `include/python3.12` or `include/python3.6m`, when its headers are of that
/// very version and include the internal ones.
fn include_folder(prefix: &Path, version: &str) -> Result<Option<PathBuf>> {
    let Ok(entries) = std::fs::read_dir(prefix.join("include")) else { return Ok(None) };
    for entry in entries {
        let path = entry?.path();
        let level = std::fs::read_to_string(path.join("patchlevel.h")).unwrap_or_default();
        let says =
            |line: &str| line.contains(" PY_VERSION ") && line.contains(&format!("\"{version}\""));
        if path.join("internal").is_dir() && level.lines().any(says) {
            return Ok(Some(path));
        }
    }
    Ok(None)
}
