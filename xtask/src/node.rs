//! Node and the packages from npm that the web builds and tests use.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::{shell, toolchain};

/// Packages, each at one version, so that two machines build the same.
const WASM_OPT: &str = "binaryen@132.0.0";
const PLAYWRIGHT: &str = "playwright-core@1.65.1";
const AXE: &str = "axe-core@4.14.1";
const TYPESCRIPT: &str = "typescript@5.9.3";

/// `wasm-opt`: the one in `PATH`, or npm's.
///
/// # Errors
/// It is not there and npm cannot install it.
pub(crate) fn wasm_opt() -> Result<Command> {
    if shell::has_program("wasm-opt") {
        return Ok(shell::command("wasm-opt"));
    }
    Ok(shell::command(installed(&[WASM_OPT])?.join("node_modules/.bin/wasm-opt")))
}

/// The folder with the packages that drive and check the browser.
///
/// # Errors
/// npm cannot install them.
pub(crate) fn browser_packages() -> Result<PathBuf> {
    installed(&[PLAYWRIGHT, AXE, TYPESCRIPT])
}

/// A Chromium: the one in `PATH`, or Debian's.
///
/// # Errors
/// There is none and apt cannot install it.
pub(crate) fn chromium() -> Result<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    if let Some(found) = names.iter().find_map(|name| shell::find_program(name)) {
        return Ok(found);
    }
    toolchain::ensure_apt(&["chromium"])?;
    shell::find_program("chromium").context("apt installed chromium, and it is not in PATH")
}

/// `target/xtask/node` with these packages in `node_modules`.
fn installed(packages: &[&str]) -> Result<PathBuf> {
    let folder = shell::scratch()?.join("node");
    let missing: Vec<&str> =
        packages.iter().copied().filter(|package| !has(&folder, package)).collect();
    if missing.is_empty() {
        return Ok(folder);
    }
    if !shell::has_program("npm") {
        bail!("this needs {} from npm, and there is no npm on this machine", missing.join(", "));
    }
    std::fs::create_dir_all(&folder)?;
    println!("installing from npm into {}: {}", folder.display(), missing.join(" "));
    shell::run(
        shell::command("npm")
            .args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"])
            .arg(&folder)
            .args(&missing),
    )?;
    Ok(folder)
}

/// Whether `name@version` is installed.
fn has(folder: &std::path::Path, package: &str) -> bool {
    let Some((name, version)) = package.rsplit_once('@') else { return false };
    std::fs::read_to_string(folder.join("node_modules").join(name).join("package.json"))
        .is_ok_and(|text| text.contains(&format!("\"version\": \"{version}\"")))
}
