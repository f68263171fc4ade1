//! `cargo xtask live`: the live check of `agent/tests/live_key` on Pythons of
//! other suites and of aarch64.
//!
//! Packages are unpacked, not installed, into a root folder per suite below
//! `target/live`; x86-64 roots are entered with `chroot`, aarch64 ones run in
//! `qemu-aarch64`. Arguments choose roots by name, for instance `forky-arm64`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::corpus::Archive;
use crate::shell::{self, cargo};

/// Suite, architecture, and the versions of Python there.
const ROOTS: [(&str, &str, &[&str]); 8] = [
    ("bullseye", "amd64", &["2.7", "3.9"]),
    ("bookworm", "amd64", &["3.11"]),
    ("trixie", "amd64", &["3.13"]),
    ("forky", "amd64", &["3.13", "3.14", "3.15"]),
    ("bullseye", "arm64", &["2.7", "3.9"]),
    ("bookworm", "arm64", &["3.11"]),
    ("trixie", "arm64", &["3.13"]),
    ("forky", "arm64", &["3.13", "3.14", "3.15"]),
];

/// Makes the roots and runs the check in them.
///
/// # Errors
/// A root cannot be made, or the check fails in one.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let folder = shell::root().join("target/live");
    let mut native = Vec::new();
    let mut aarch64 = Vec::new();
    for (suite, arch, versions) in ROOTS {
        let name = format!("{suite}-{arch}");
        if !arguments.is_empty() && !arguments.contains(&name) {
            continue;
        }
        let root = folder.join(&name);
        make(&folder, suite, arch, versions, &root)
            .with_context(|| format!("cannot make a root of {name}"))?;
        if arch == "arm64" { aarch64.push(root) } else { native.push(root) }
    }
    if native.is_empty() && aarch64.is_empty() {
        bail!("no root has such a name");
    }
    for (roots, program, package) in [
        (&native, "chroot", "coreutils"),
        (&aarch64, "qemu-aarch64", "qemu-user"),
        (&aarch64, "aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
    ] {
        if !roots.is_empty() && !shell::has_program(program) {
            bail!("{program} is not installed (apt-get install {package})");
        }
    }
    shell::run(
        cargo()
            .args(["test", "--package", "agent", "--test", "live_key", "--", "--nocapture"])
            .env("KEYHOLE_ROOTS", std::env::join_paths(&native)?)
            .env("KEYHOLE_AARCH64_ROOTS", std::env::join_paths(&aarch64)?),
    )
}

/// The Pythons of this architecture in their roots: root folder, and program
/// as seen inside. `KEYHOLE_ROOTS` names the roots, separated by colons; else
/// they are those below `target/live`, made where they are missing.
///
/// # Errors
/// A root cannot be made, or has no Python.
pub(crate) fn native_pythons() -> Result<Vec<(PathBuf, String)>> {
    if let Some(roots) = std::env::var_os("KEYHOLE_ROOTS") {
        return std::env::split_paths(&roots).try_fold(Vec::new(), |mut pythons, root| {
            pythons.extend(pythons_of(&root)?);
            Ok(pythons)
        });
    }
    let folder = shell::root().join("target/live");
    let mut pythons = Vec::new();
    for (suite, arch, versions) in ROOTS {
        if arch == "amd64" && cfg!(target_arch = "x86_64")
            || arch == "arm64" && cfg!(target_arch = "aarch64")
        {
            let name = format!("{suite}-{arch}");
            let root = folder.join(&name);
            make(&folder, suite, arch, versions, &root)
                .with_context(|| format!("cannot make a root of {name}"))?;
            for version in versions {
                pythons.push((root.clone(), format!("/usr/bin/python{version}")));
            }
        }
    }
    Ok(pythons)
}

/// The Pythons in `/usr/bin` of a root.
fn pythons_of(root: &Path) -> Result<Vec<(PathBuf, String)>> {
    let folder = root.join("usr/bin");
    let entries =
        std::fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut programs: Vec<String> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| {
            let version = name.strip_prefix("python").unwrap_or_default().trim_end_matches('t');
            version.split_once('.').is_some_and(|(major, minor)| {
                [major, minor].iter().all(|part| part.parse::<u32>().is_ok())
            })
        })
        .map(|name| format!("/usr/bin/{name}"))
        .collect();
    if programs.is_empty() {
        bail!("{} has no Python", folder.display());
    }
    programs.sort();
    Ok(programs.into_iter().map(|program| (root.to_owned(), program)).collect())
}

/// Unpacks the Pythons and what they depend on into `root`.
fn make(folder: &Path, suite: &str, arch: &str, versions: &[&str], root: &Path) -> Result<()> {
    let complete = root.join("complete");
    if complete.is_file() {
        return Ok(());
    }
    let archive = Archive::open(folder, suite, arch, false)?;
    let mut names = vec!["coreutils".to_owned(), "libc6".to_owned()];
    for version in versions {
        names.push(format!("python{version}"));
        names.push(format!("libpython{version}"));
    }
    let packages = archive.with_dependencies(&names)?;
    // Packages of all suites agree on these, some by their own paths.
    for name in ["bin", "sbin", "lib", "lib64"] {
        let target = root.join("usr").join(name);
        std::fs::create_dir_all(&target)?;
        let link = root.join(name);
        if !link.exists() {
            std::os::unix::fs::symlink(Path::new("usr").join(name), &link)?;
        }
    }
    for name in ["tmp", "proc", "dev"] {
        std::fs::create_dir_all(root.join(name))?;
    }
    for package in &packages {
        package.unpack(root)?;
    }
    std::fs::write(&complete, "")?;
    println!("{}: {} packages", root.display(), packages.len());
    Ok(())
}
