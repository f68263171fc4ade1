//! Builds for WebAssembly: a crate, its glue, made small; and the npm package
//! of the analyzer.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::shell::{self, cargo};
use crate::{node, toolchain};

/// Most bytes of the analyzer's module after `gzip -9`, both architectures
/// included.
const ANALYZER_BUDGET: u64 = 160 * 1024;

/// Files of the package that are written by hand.
const BY_HAND: [&str; 6] =
    ["README.md", "guard.js", "index.d.ts", "index.js", "node.js", "package.json"];

/// `cargo xtask wasm`: builds the npm package and says where it is.
///
/// # Errors
/// Something cannot be installed or built, or the module is over its budget.
pub(crate) fn run(_: &[String]) -> Result<()> {
    let folder = package()?;
    println!("the npm package: {}", folder.display());
    check_size(&folder)
}

/// Builds the npm package into `target/npm/analyzer` and returns that folder.
///
/// # Errors
/// Something cannot be installed or built.
pub(crate) fn package() -> Result<PathBuf> {
    let folder = shell::root().join("target/npm/analyzer");
    build("analyzer-wasm", &[], &folder, "analyzer")?;
    let sources = shell::root().join("analyzer-wasm/npm");
    for name in BY_HAND {
        copy(&sources.join(name), &folder.join(name))?;
    }
    for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
        let licence = shell::root().join(name);
        if licence.is_file() {
            copy(&licence, &folder.join(name))?;
        }
    }
    shell::run(
        shell::command(glue()?)
            .args(["types", "analyzer-core/src/report.rs"])
            .arg(folder.join("report.d.ts")),
    )?;
    Ok(folder)
}

/// Compares the analyzer's size with its budget, and prints both.
///
/// # Errors
/// It is larger.
pub(crate) fn check_size(folder: &Path) -> Result<()> {
    let module = folder.join("analyzer_bg.wasm");
    let packed = packed_size(&module)?;
    println!(
        "analyzer_bg.wasm: {} bytes, {packed} after gzip -9 (budget {ANALYZER_BUDGET})",
        fs::metadata(&module)?.len()
    );
    if packed > ANALYZER_BUDGET {
        bail!("the analyzer's module is over its budget by {} bytes", packed - ANALYZER_BUDGET);
    }
    Ok(())
}

/// Builds a crate for the web into `folder`: `NAME.js` and `NAME_bg.wasm`,
/// optimized for size.
///
/// # Errors
/// Something cannot be installed or built.
pub(crate) fn build(package: &str, features: &[&str], folder: &Path, name: &str) -> Result<()> {
    let cross = toolchain::wasm_toolchain()?;
    shell::run(cross.cargo("build").args([
        "--package",
        package,
        "--profile",
        "wasm",
        "--features",
        &features.join(","),
    ]))?;
    let module = cross.products("wasm").join(format!("{}.wasm", package.replace('-', "_")));
    fresh(folder)?;
    shell::run(shell::command(glue()?).arg("bind").arg(&module).arg(folder).arg(name))?;
    let bound = folder.join(format!("{name}_bg.wasm"));
    shell::run(node::wasm_opt()?.arg(&bound).arg("-o").arg(&bound).args([
        "-Oz",
        "--all-features",
        "--strip-debug",
        "--strip-producers",
    ]))
}

/// The program `glue`, built when it is missing or older than its sources.
fn glue() -> Result<PathBuf> {
    shell::run(cargo().args([
        "build",
        "--quiet",
        "--package",
        "xtask",
        "--features",
        "glue",
        "--bin",
        "glue",
    ]))?;
    Ok(shell::root().join("target/debug/glue"))
}

/// An empty folder at that path.
pub(crate) fn fresh(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))
}

/// Copies one file.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to)
        .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    Ok(())
}

/// Size of a file after `gzip -9`.
pub(crate) fn packed_size(path: &Path) -> Result<u64> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(&bytes)?;
    Ok(packed.finish()?.len() as u64)
}
