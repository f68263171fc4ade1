//! `cargo xtask demo`: what Keyhole says about the Pythons of this machine, a
//! flame graph of one of them at work, and the page.

mod profile;

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::shell::{self, cargo};
use crate::{python, web};

/// Builds `keyhole`, inspects every Python found, prints the verdicts, samples
/// a program, and says where the page is.
///
/// # Errors
/// The build fails, or there is no Python here.
pub(crate) fn run(_: &[String]) -> Result<()> {
    let sampling = profile::prepare();
    // Before the program, which carries it.
    let page = page();
    shell::run(cargo().args(["build", "--release", "--package", "agent", "--bin", "keyhole"]))?;
    println!("looking for Pythons in PATH, library folders, pyenv and running processes");
    let files = python::all();
    if files.is_empty() {
        bail!("there is no Python on this machine");
    }
    let keyhole = shell::root().join("target/release/keyhole");
    let mut inspect = shell::command(&keyhole);
    inspect.args(["inspect", "--format", "brief"]).args(&files);
    // 1 means that not every file is resolved, which the lines themselves say.
    let status = inspect.status()?;
    if status.code().is_none_or(|code| code > 1) {
        bail!("keyhole inspect ended with {status}");
    }
    println!("\nThe whole story of one file: {} inspect --trace FILE", keyhole.display());
    profile::run(sampling)?;
    match page {
        Ok(site) => {
            println!("\nThe same in a browser, nothing is uploaded: {} serve", keyhole.display());
            println!("The page's files, for any static host: {}", site.display());
        }
        Err(error) => {
            println!("\nThe page could not be built ({error:#}); cargo xtask web tries again");
        }
    }
    Ok(())
}

/// The site in `target/site`, built where it is missing; `cargo xtask web`
/// builds it anew.
fn page() -> Result<PathBuf> {
    let site = shell::root().join("target/site");
    if site.join("index.html").is_file() { Ok(site) } else { web::build() }
}
