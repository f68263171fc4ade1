//! Takes in the page, where `cargo xtask web` has built it.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Writes `site.rs` with `FILES`: path below the site and content, sorted by
/// path. Empty when there is no site.
///
/// # Errors
/// The site is there and cannot be read.
pub(crate) fn embed() -> io::Result<()> {
    let folder = |name| env::var_os(name).map(PathBuf::from).unwrap_or_default();
    let site = folder("CARGO_MANIFEST_DIR").join("../target/site");
    println!("cargo::rerun-if-changed={}", site.display());
    let mut files = Vec::new();
    if site.is_dir() {
        collect(&site, "", &mut files)?;
    }
    files.sort();
    let mut text = String::from("pub(super) static FILES: &[File] = &[\n");
    for (name, path) in files {
        // Writing to a string cannot fail.
        writeln!(text, "    ({name:?}, include_bytes!({path:?})),").ok();
    }
    text += "];\n";
    fs::write(folder("OUT_DIR").join("site.rs"), text)
}

fn collect(folder: &Path, prefix: &str, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &format!("{name}/"), files)?;
        } else {
            files.push((name, entry.path().canonicalize()?));
        }
    }
    Ok(())
}
