//! Checks the truths themselves, by running the shape: its code and the
//! addresses we hold for right have to lead to the same thread states.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::build::{Built, Workshop};
use super::factors::{Arch, Compiler, Extra, Linker, Prologue, Tls};
use super::shape::Shape;
use super::tools::Tools;
use super::truth::Truth;
use crate::shell;

/// What running a shape said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verified {
    /// Every address led to the state it should.
    Yes,
    /// It cannot run here, and why.
    NotRun(&'static str),
}

const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a shape with its truth.
///
/// # Errors
/// It ran and an address led elsewhere, or it did not end well.
pub(crate) fn verify(
    workshop: &Workshop,
    shape: &Shape,
    built: &Built,
    truth: &Truth,
) -> Result<Verified> {
    if let Some(reason) = cannot_run(shape) {
        return Ok(Verified::NotRun(reason));
    }
    let mut command = if shape.is_program() {
        emulated(shape.arch, &built.object, None)
    } else {
        let runner = workshop.runner(shape.arch, shape.is_musl())?;
        // Initial-exec variables have room for certain only at the start.
        let early = matches!(shape.tls, Tls::InitialExec | Tls::AllInitialExec);
        let mut command = emulated(shape.arch, &runner, early.then_some(&built.object));
        command.arg("--library").arg(&built.object);
        command
    };
    command.args(arguments(truth));
    let output = run_for(&mut command, PATIENCE)?;
    if output.trim() != "ok" {
        bail!("the truth does not hold: {}", output.trim());
    }
    Ok(Verified::Yes)
}

fn cannot_run(shape: &Shape) -> Option<&'static str> {
    let sanitizer =
        matches!(shape.prologue, Prologue::AddressSanitizer | Prologue::ThreadSanitizer);
    if sanitizer && shape.is_library() {
        return Some("a sanitizer's run-time library has to be loaded before the library");
    }
    if sanitizer && shape.arch == Arch::Aarch64 {
        return Some("the emulator's address space has no room for shadow memory");
    }
    if shape.prologue == Prologue::ThreadSanitizer {
        return Some("the thread sanitizer wants another kernel setting for random addresses");
    }
    if shape.extra == Extra::RelativePacked && !marks_relative_relocations(shape) {
        return Some("the loader refuses DT_RELR that the linker did not announce");
    }
    if shape.extra == Extra::ProtectedPlt && shape.arch == Arch::Aarch64 {
        return Some("glibc's loader does not sign the addresses that this PLT authenticates");
    }
    if shape.is_musl() && shape.arch == Arch::Aarch64 && !shape.is_static() {
        return Some("no musl loader for AArch64");
    }
    if shape.compiler == Compiler::ZigMusl && !shape.is_static() {
        return Some("zig's musl is newer than the loader");
    }
    None
}

/// Whether the linker adds the dependency on `GLIBC_ABI_DT_RELR`: bfd and
/// newer lld do for `-z pack-relative-relocs`.
fn marks_relative_relocations(shape: &Shape) -> bool {
    match shape.linker {
        Linker::Bfd => true,
        Linker::Lld => !Tools::has_old_lld(shape.compiler),
        Linker::Gold | Linker::Mold => false,
    }
}

fn emulated(arch: Arch, program: &Path, preload: Option<&PathBuf>) -> Command {
    let preload = preload.map(|library| format!("LD_PRELOAD={}", library.display()));
    match arch {
        Arch::X86_64 => {
            let mut command = shell::command("env");
            command.args(preload).arg(program);
            command
        }
        Arch::Aarch64 => {
            let mut command = shell::command("qemu-aarch64-static");
            command.args(["-L", "/usr/aarch64-linux-gnu"]);
            if let Some(preload) = preload {
                command.args(["-E", &preload]);
            }
            command.arg(program);
            command
        }
    }
}

fn arguments(truth: &Truth) -> Vec<String> {
    let mut words = Vec::new();
    words.extend(truth.key.map(|key| format!("key={key:#x}")));
    words.extend(truth.global.map(|global| format!("global={global:#x}")));
    for (name, variable) in [("tstate", truth.attached), ("gilstate", truth.owned)] {
        let Some(variable) = variable else { continue };
        words.push(format!("{name}={:#x}", variable.offset));
        words.extend(
            variable.tp_offset.map(|offset| format!("{name}_tp={}", offset.cast_unsigned())),
        );
    }
    words
}

/// Runs a program in a scratch folder (profiling shapes write `gmon.out`) and
/// ends it when it takes too long.
fn run_for(command: &mut Command, patience: Duration) -> Result<String> {
    let folder = shell::root().join("target/shapes/run");
    std::fs::create_dir_all(&folder)?;
    let mut child = command
        .current_dir(&folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot start the shape")?;
    let start = Instant::now();
    loop {
        if child.try_wait()?.is_some() {
            break;
        }
        if start.elapsed() > patience {
            child.kill()?;
            child.wait()?;
            bail!("did not end within {patience:?}");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let output = child.wait_with_output()?;
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        text.push_str(&String::from_utf8_lossy(&output.stderr));
        text.push_str(&output.status.to_string());
    }
    Ok(text)
}
