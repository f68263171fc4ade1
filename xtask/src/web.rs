//! `cargo xtask web`: the static site in `target/site`, ready for any host.

mod examples;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::shell;
use crate::wasm::{self, Budget};

/// The whole page, each file compressed with `gzip -9` as hosts do, without
/// what loads [on demand](is_on_demand).
const PAGE: Budget = Budget { name: "the whole page", bytes: 350 * 1024 };

/// Files of the npm package that analyze.
const ANALYSIS: [&str; 4] = ["analysis.js", "analyzer.js", "analyzer_bg.wasm", "guard.js"];

/// Files of the npm package that cut reproducers.
const REPRODUCER: [&str; 3] = ["reproducer.js", "reproducer_bg.wasm", "shrinking.js"];

/// Builds the site and says where it is and what it weighs.
///
/// # Errors
/// Something cannot be installed or built, or the page is over its budget.
pub(crate) fn run(_: &[String]) -> Result<()> {
    let site = build()?;
    check_size(&site)?;
    println!("the page: {}", site.display());
    Ok(())
}

/// Builds the site into `target/site` and returns that folder.
///
/// It is put together beside and moved into place whole, so that nobody sees
/// half of it.
///
/// # Errors
/// Something cannot be installed or built.
pub(crate) fn build() -> Result<PathBuf> {
    let package = wasm::package()?;
    let draft = shell::root().join("target/site.draft");
    wasm::fresh(&draft)?;
    wasm::build("web-ui", &[], &draft.join("ui"), "web_ui")?;
    copy_all(&shell::root().join("web-ui/static"), &draft)?;
    let analyzer = draft.join("analyzer");
    fs::create_dir_all(&analyzer)?;
    for name in ANALYSIS.iter().chain(&REPRODUCER) {
        wasm::copy(&package.join(name), &analyzer.join(name))?;
    }
    let folder = draft.join("examples");
    fs::create_dir_all(&folder)?;
    for (name, bytes) in examples::all()? {
        fs::write(folder.join(name), bytes)?;
    }
    list_files(&draft)?;
    let site = shell::root().join("target/site");
    if site.exists() {
        fs::remove_dir_all(&site)?;
    }
    fs::rename(&draft, &site).with_context(|| format!("cannot create {}", site.display()))?;
    Ok(site)
}

/// Writes `files.json`, the list that the service worker keeps.
fn list_files(site: &Path) -> Result<()> {
    let mut names = Vec::new();
    for file in files(site)? {
        names.push(file.strip_prefix(site)?.to_string_lossy().into_owned());
    }
    fs::write(site.join("files.json"), serde_json::to_string(&names)?)?;
    Ok(())
}

/// Holds the page's weight and the analyzer's size within their budgets, and
/// prints every file's size.
///
/// # Errors
/// One is larger.
pub(crate) fn check_size(site: &Path) -> Result<()> {
    let mut total = 0;
    for file in files(site)? {
        let packed = wasm::packed_size(&file)?;
        let name = file.strip_prefix(site).unwrap_or(&file);
        println!("{packed:>9} bytes after gzip -9  {}", name.display());
        if !is_on_demand(name) {
            total += packed;
        }
    }
    let page = PAGE.hold(total);
    wasm::check_size(&site.join("analyzer")).and(page)
}

/// Whether a file of the site loads only when somebody asks for what it is
/// for: an example, a reproducer.
fn is_on_demand(name: &Path) -> bool {
    let analyzer = Path::new("analyzer");
    name.starts_with("examples") || REPRODUCER.iter().any(|part| name == analyzer.join(part))
}

/// Every file below a folder, in order.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?
    {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn copy_all(from: &Path, to: &Path) -> Result<()> {
    for file in files(from)? {
        let target = to.join(file.strip_prefix(from)?);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        wasm::copy(&file, &target)?;
    }
    Ok(())
}
