//! Offsets that a C compiler computes from CPython's own headers.

use std::path::Path;

use anyhow::{Context, Result, bail};

use super::elf;
use super::{hex, is_python};
use crate::corpus::manifest::{Gil, Place, Runtime, Truth};
use crate::shell;

/// The truth about a runtime image of 3.7 to 3.11 without debug information:
/// the exported address of `_PyRuntime` and, from the headers installed with
/// it in `include`, where its members lie.
///
/// # Errors
/// There is no C compiler, the headers do not compile, or the file has no
/// `_PyRuntime`.
pub(crate) fn of_headers(
    file: &Path,
    include: &Path,
    python: &str,
    scratch: &Path,
) -> Result<Truth> {
    if !is_python(file)? {
        bail!("{} does not export CPython's API", file.display());
    }
    let runtime = elf::dynamic_symbol(file, "_PyRuntime")?
        .with_context(|| format!("{} exports no _PyRuntime", file.display()))?;
    let names = [
        "gilstate.autoTSSkey._key",
        "gilstate.tstate_current",
        "ceval.gil.locked",
        "ceval.gil.last_holder",
    ];
    let offsets = offsets(include, &names, scratch)?;
    let place = |offset: u64| Place {
        address: hex(runtime.address + offset),
        runtime_offset: Some(offset),
    };
    Ok(Truth {
        status: "resolved".into(),
        python: Some(python.into()),
        flavour: Some("release".into()),
        obtained: "the exported _PyRuntime; offsetof compiled against the headers of the package"
            .into(),
        runtime: Some(Runtime { address: hex(runtime.address), size: runtime.size }),
        pthread_key: Some(place(offsets[0])),
        global: Some(place(offsets[1])),
        gil: Some(Gil::Runtime {
            locked: hex(runtime.address + offsets[2]),
            last_holder: hex(runtime.address + offsets[3]),
        }),
        ..Truth::default()
    })
}

/// Checks the key's offset in `truth` against the headers in `include`.
///
/// # Errors
/// There is no C compiler, the headers do not compile, or they disagree.
pub(crate) fn agree(truth: &Truth, include: &Path, scratch: &Path) -> Result<()> {
    let Some(from_debug) = truth.pthread_key.as_ref().and_then(|key| key.runtime_offset) else {
        return Ok(());
    };
    let version = truth.python.as_deref().unwrap_or_default();
    let minor: u32 = version.split('.').nth(1).and_then(|part| part.parse().ok()).unwrap_or(0);
    let name = if minor >= 12 { "autoTSSkey._key" } else { "gilstate.autoTSSkey._key" };
    let from_headers = offsets(include, &[name], scratch)?[0];
    if from_headers != from_debug {
        bail!("{version}: DWARF says {name} is at {from_debug}, the headers say {from_headers}");
    }
    Ok(())
}

/// `_PyRuntimeState` is in a header of its own since 3.9.
const INCLUDES: &str = "\
#define Py_BUILD_CORE 1
#include <Python.h>
#if __has_include(\"internal/pycore_runtime.h\")
#include \"internal/pycore_runtime.h\"
#elif __has_include(\"internal/pycore_pystate.h\")
#include \"internal/pycore_pystate.h\"
#else
#include \"internal/pystate.h\"
#endif
#include <stddef.h>
#include <stdio.h>
";

/// Offsets of members of `_PyRuntimeState`, in the order of `names`.
fn offsets(include: &Path, names: &[&str], scratch: &Path) -> Result<Vec<u64>> {
    std::fs::create_dir_all(scratch)?;
    let source = scratch.join("offsets.c");
    let program = scratch.join("offsets");
    let prints: String = names
        .iter()
        .map(|name| format!("printf(\"%zu\\n\", offsetof(_PyRuntimeState, {name}));\n"))
        .collect();
    std::fs::write(&source, format!("{INCLUDES}int main(void) {{\n{prints}return 0;\n}}\n"))?;
    shell::output(
        shell::command("cc")
            .arg("-I")
            .arg(include)
            .arg("-I")
            .arg(include.join("internal"))
            .arg("-o")
            .arg(&program)
            .arg(&source),
    )
    .with_context(|| format!("the headers in {} do not compile", include.display()))?;
    let text = shell::output(&mut shell::command(&program))?;
    text.lines().map(|line| line.parse().context("offsets are numbers")).collect()
}
