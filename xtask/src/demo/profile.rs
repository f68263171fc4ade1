//! The second half of the demo: a flame graph of a known program.

use std::path::Path;

use anyhow::{Result, bail};

use crate::{ebpf, shell, toolchain};

/// How long the program runs, in seconds.
const SECONDS: &str = "4";

/// What sampling needs before `keyhole` is built: the program for the kernel.
///
/// # Errors
/// Says why there can be no sampling.
pub(super) fn prepare() -> Result<&'static str, String> {
    if !toolchain::is_root() {
        return Err("it needs root (`sudo -E cargo xtask demo`), because the kernel lets nobody \
             else load the program that reads the stacks"
            .to_owned());
    }
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        return Err("this kernel was built without CONFIG_DEBUG_INFO_BTF".to_owned());
    }
    let python = ["python3", "python"].into_iter().find(|name| shell::has_program(name));
    let python = python.ok_or_else(|| "there is no python3 to run".to_owned())?;
    ebpf::build()
        .map_err(|error| format!("the program for the kernel cannot be built: {error:#}"))?;
    Ok(python)
}

/// Samples the program beside this file with the system's Python and leaves
/// the profile under `target/demo`; where that cannot be done says why.
///
/// # Errors
/// Sampling was possible and failed.
pub(super) fn run(python: Result<&'static str, String>) -> Result<()> {
    let python = match python {
        Ok(python) => python,
        Err(why) => {
            println!("\nSampling is left out: {why}.");
            return Ok(());
        }
    };
    let folder = shell::root().join("target/demo");
    std::fs::create_dir_all(&folder)?;
    let (graph, summary) = (folder.join("profile.svg"), folder.join("profile.summary.txt"));
    println!("\nsampling four small programs for {SECONDS} seconds");
    let status = shell::command(shell::root().join("target/release/keyhole"))
        .args(["record", "--rate", "499", "--output"])
        .arg(&graph)
        .arg("--output")
        .arg(&summary)
        .args(["--", python])
        .arg(shell::root().join("xtask/src/demo/workload.py"))
        .arg(SECONDS)
        .status()?;
    // 1 says that something is missing from the profile, and standard error says what.
    if status.code().is_none_or(|code| code > 1) {
        bail!("keyhole record ended with {status}");
    }
    println!("\n{}", std::fs::read_to_string(&summary)?);
    println!("flame graph: {}\nsummary: {}", graph.display(), summary.display());
    Ok(())
}
