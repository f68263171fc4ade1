//! `cargo xtask demo`: what Keyhole says about the Pythons of this machine,
//! and a flame graph of one of them at work.

mod profile;

use anyhow::{Result, bail};

use crate::python;
use crate::shell::{self, cargo};

/// Builds `keyhole`, inspects every Python found, prints the verdicts, and
/// samples a program.
///
/// # Errors
/// The build fails, or there is no Python here.
pub(crate) fn run(_: &[String]) -> Result<()> {
    let sampling = profile::prepare();
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
    let page = shell::root().join("target/site/index.html");
    if page.is_file() {
        println!("The same in a browser: {} serve ({})", keyhole.display(), page.display());
    } else {
        println!("The same in a browser: cargo xtask web builds the page into target/site");
    }
    profile::run(sampling)
}
