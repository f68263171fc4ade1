//! Builds for WebAssembly: a crate, its glue, made small; and the npm package
//! of the analyzer.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use analyzer_core::diagnosis;
use anyhow::{Context, Result, bail};

use crate::shell::{self, cargo_whole};
use crate::{node, toolchain};

/// The analyzer's module, both architectures included.
const ANALYZER: Budget = Budget { name: "analyzer_bg.wasm", bytes: 160 * 1024 };

/// How large something may be after `gzip -9`, in bytes.
pub(crate) struct Budget {
    pub(crate) name: &'static str,
    pub(crate) bytes: u64,
}

impl Budget {
    /// Compares a size with the budget, and prints both.
    ///
    /// # Errors
    /// It is larger.
    pub(crate) fn hold(&self, bytes: u64) -> Result<()> {
        let Self { name, bytes: budget } = *self;
        println!("{name}: {bytes} bytes after gzip -9 (budget {budget})");
        if bytes > budget {
            bail!("{name} is over its budget by {} bytes", bytes - budget);
        }
        Ok(())
    }
}

/// What the compiled modules may use: what rustc does by default for this
/// target, all of it older than the browsers that have module workers. With
/// every feature on, wasm-opt writes modules that no browser reads yet.
const FEATURES: [&str; 7] = [
    "--mvp-features",
    "--enable-bulk-memory",
    "--enable-multivalue",
    "--enable-mutable-globals",
    "--enable-nontrapping-float-to-int",
    "--enable-reference-types",
    "--enable-sign-ext",
];

/// Files of the package that are written by hand.
const BY_HAND: [&str; 12] = [
    "README.md",
    "analysis.js",
    "explain.js",
    "guard.js",
    "index.d.ts",
    "index.js",
    "node.js",
    "package.json",
    "shrink-node.js",
    "shrink.d.ts",
    "shrink.js",
    "shrinking.js",
];

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
    // What cuts reproducers: it needs all of the analyzer, which does not need it.
    let apart = shell::root().join("target/npm/reproducer");
    build("analyzer-wasm", &["reproducer"], &apart, "reproducer")?;
    for name in ["reproducer.js", "reproducer_bg.wasm"] {
        copy(&apart.join(name), &folder.join(name))?;
    }
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
    fs::write(folder.join("pages.js"), pages()?)?;
    shell::run(
        shell::command(glue()?)
            .args(["types", "analyzer-core/src/report.rs"])
            .arg(folder.join("report.d.ts")),
    )?;
    Ok(folder)
}

/// The diagnoses' pages by code, as a JavaScript module.
fn pages() -> Result<String> {
    let pages: BTreeMap<&str, &str> =
        diagnosis::all().iter().map(|entry| (entry.code, entry.page())).collect();
    Ok(format!("export default {};\n", serde_json::to_string_pretty(&pages)?))
}

/// Holds the analyzer's size within its budget.
///
/// # Errors
/// It is larger.
pub(crate) fn check_size(folder: &Path) -> Result<()> {
    ANALYZER.hold(packed_size(&folder.join(ANALYZER.name))?)
}

/// Builds a crate for the web into `folder`: `NAME.js` and `NAME_bg.wasm`,
/// optimized for size.
///
/// # Errors
/// Something cannot be installed or built.
pub(crate) fn build(package: &str, features: &[&str], folder: &Path, name: &str) -> Result<()> {
    compile(package, features, folder, name)?;
    let bound = folder.join(format!("{name}_bg.wasm"));
    shell::run(node::wasm_opt()?.arg(&bound).arg("-o").arg(&bound).args(FEATURES).args([
        // Higher levels make the module smaller and what gzip makes of it larger.
        "-O1",
        "--strip-debug",
        "--strip-producers",
    ]))
}

/// As [`build`], without the last pass over the module: for tests.
///
/// # Errors
/// Something cannot be installed or built.
pub(crate) fn compile(package: &str, features: &[&str], folder: &Path, name: &str) -> Result<()> {
    let cross = toolchain::wasm_toolchain()?;
    shell::run(
        cross
            .cargo("build")
            .args(["--package", package, "--profile", "wasm", "--features", &features.join(",")])
            .env("CARGO_ENCODED_RUSTFLAGS", flags().join("\u{1f}")),
    )?;
    let module = compiled(&cross.products("wasm"), package)?;
    fresh(folder)?;
    shell::run(shell::command(glue()?).arg("bind").arg(&module).arg(folder).arg(name))
}

/// Flags for the compiler: panics that do not say where, and no text for
/// `{:?}`, which makes the modules smaller; and no paths of this machine in what
/// is given to others.
fn flags() -> Vec<String> {
    let mut flags: Vec<String> =
        ["-Zlocation-detail=none", "-Zfmt-debug=none"].map(String::from).into();
    let cargo = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo")));
    if let Some(cargo) = cargo {
        flags.push(format!("--remap-path-prefix={}=cargo", cargo.display()));
    }
    flags
}

/// The module that cargo wrote for a package: a binary keeps its name's dash,
/// a library does not.
fn compiled(products: &Path, package: &str) -> Result<PathBuf> {
    [package.to_owned(), package.replace('-', "_")]
        .iter()
        .map(|name| products.join(format!("{name}.wasm")))
        .find(|module| module.is_file())
        .with_context(|| format!("cargo left no module of {package} in {}", products.display()))
}

/// The program `glue`, built when it is missing or older than its sources.
fn glue() -> Result<PathBuf> {
    shell::run(cargo_whole("build").args(["--quiet", "--bin", "glue"]))?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_held() {
        let budget = Budget { name: "it", bytes: 10 };
        assert!(budget.hold(10).is_ok());
        assert!(budget.hold(11).is_err());
    }
}
