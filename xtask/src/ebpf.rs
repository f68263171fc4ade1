//! Builds the sampling program for the kernel; see `agent/build.rs` for who
//! takes it.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::{shell, toolchain};

/// `cargo xtask ebpf`.
///
/// # Errors
/// There is no compiler for the target, or the program does not build.
pub(crate) fn run(_: &[String]) -> Result<()> {
    let object = build()?;
    eprintln!("the program is {}; `cargo build -p agent` embeds it", object.display());
    Ok(())
}

/// Builds the program and lays it where the agent's build script looks.
///
/// # Errors
/// As [`run`].
pub(crate) fn build() -> Result<PathBuf> {
    let toolchain = toolchain::bpf_toolchain()?;
    let mut cargo = toolchain.cargo("build");
    cargo
        .args(["-p", "agent-ebpf", "--features", "program", "--profile", "bpf"])
        // Without debug information: the kernel refuses line tables in which one
        // instruction has two lines, and inline assembly makes such.
        .env("CARGO_ENCODED_RUSTFLAGS", "-Cdebuginfo=0");
    shell::run(&mut cargo)?;
    let object = shell::root().join("target/ebpf/keyhole-bpf.o");
    if let Some(folder) = object.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let built = toolchain.products("bpf").join("keyhole-bpf");
    // Written only when it changed, so that the agent is not built for nothing.
    let bytes = std::fs::read(&built).with_context(|| built.display().to_string())?;
    if std::fs::read(&object).ok().as_ref() != Some(&bytes) {
        std::fs::write(&object, bytes).with_context(|| object.display().to_string())?;
    }
    Ok(object)
}
