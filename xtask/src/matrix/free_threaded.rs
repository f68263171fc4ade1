//! Free-threaded Pythons, which Debian does not package: built from its source
//! packages with `--disable-gil`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::corpus::Archive;
use crate::shell;

/// This machine's architecture, as Debian calls it.
const ARCH: &str = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
/// Suite and version of each.
const BUILDS: [(&str, &str); 1] = [("trixie", "3.13")];

/// Their programs, built where they are missing. One that cannot be built is
/// left out, with a line that says why.
pub(super) fn programs() -> Vec<PathBuf> {
    BUILDS
        .iter()
        .filter_map(|(suite, version)| {
            program(suite, version)
                .inspect_err(|error| println!("free-threaded {version} is left out: {error:#}"))
                .ok()
        })
        .collect()
}

fn program(suite: &str, version: &str) -> Result<PathBuf> {
    let folder = shell::root().join("target/free-threaded");
    let installed = folder.join(version);
    let program = installed.join(format!("bin/python{version}t"));
    let complete = installed.join("complete");
    if !complete.is_file() {
        let sources = folder.join(format!("sources-{version}"));
        std::fs::create_dir_all(&sources)?;
        let archive = Archive::open(&folder, suite, ARCH, false)?;
        let tarball = archive.source(suite, &format!("python{version}"), &sources)?;
        build(&tarball, &sources, &installed)?;
        std::fs::write(complete, "")?;
    }
    Ok(program)
}

fn build(tarball: &Path, folder: &Path, prefix: &Path) -> Result<()> {
    shell::run(shell::command("tar").arg("-xf").arg(tarball).current_dir(folder))?;
    let source = std::fs::read_dir(folder)?
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.join("configure").is_file())
        .context("the source package holds no configure script")?;
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    shell::run(
        shell::command("./configure")
            .args(["--quiet", "--disable-gil", "--without-ensurepip", "--disable-test-modules"])
            .arg(format!("--prefix={}", prefix.display()))
            .current_dir(&source),
    )?;
    for arguments in [&["--silent", &format!("--jobs={jobs}")][..], &["--silent", "install"]] {
        shell::run(shell::command("make").args(arguments).current_dir(&source))?;
    }
    Ok(())
}
