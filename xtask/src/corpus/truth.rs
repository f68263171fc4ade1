//! Truth about a file, from its symbols, debug information and relocations
//! as other people's tools read them: gdb, nm, readelf. Nothing of Keyhole
//! takes part.

use std::path::Path;

use anyhow::{Context, Result};

use super::manifest::{Gil, LibcTruth, Place, Runtime, ThreadLocal, Truth};

mod debugger;
mod elf;
mod headers;
mod tls;

pub(crate) use debugger::Debugger;
pub(crate) use headers::{agree, of_headers};

/// Where the truth about a file is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sources<'a> {
    /// The file itself.
    pub(crate) file: &'a Path,
    /// The file that holds its symbols and debug information: itself, or the
    /// `.debug` file of the same build id.
    pub(crate) debug: &'a Path,
    /// How to call that in words.
    pub(crate) debug_name: &'a str,
}

/// The build id of an ELF file, lower-case hexadecimal.
///
/// # Errors
/// readelf cannot be run or does not take the file.
pub(crate) fn build_id(file: &Path) -> Result<Option<String>> {
    elf::build_id(file)
}

/// Whether the file has debug information of its own.
///
/// # Errors
/// readelf cannot be run or does not take the file.
pub(crate) fn has_debug_information(file: &Path) -> Result<bool> {
    elf::has_section(file, ".debug_info")
}

/// The truth about a CPython runtime image.
///
/// `python` and `flavour` are what the package's name and version say.
///
/// # Errors
/// A tool is missing, or the debug information is not that of a CPython.
pub(crate) fn of_python(
    debugger: &Debugger,
    sources: Sources<'_>,
    python: &str,
    flavour: &str,
) -> Result<Truth> {
    let facts = debugger.numbers(
        sources.debug,
        &[
            ("runtime", "(long)&_PyRuntime"),
            ("runtime_size", "(long)sizeof(_PyRuntime)"),
            ("key_3_12", "(long)&_PyRuntime.autoTSSkey._key"),
            ("key_3_7", "(long)&_PyRuntime.gilstate.autoTSSkey._key"),
            ("key_static", "(long)&autoTLSkey"),
            ("current_3_7", "(long)&_PyRuntime.gilstate.tstate_current"),
            ("current_static", "(long)&_PyThreadState_Current"),
            ("gil_locked_static", "(long)&gil_locked"),
            ("gil_holder_static", "(long)&gil_last_holder"),
            ("gil_locked_3_7", "(long)&_PyRuntime.ceval.gil.locked"),
            ("gil_holder_3_7", "(long)&_PyRuntime.ceval.gil.last_holder"),
            ("gil_pointer", "(long)&((PyInterpreterState *)0)->ceval.gil"),
            ("gil_locked", "(long)&((struct _gil_runtime_state *)0)->locked"),
            ("gil_holder", "(long)&((struct _gil_runtime_state *)0)->last_holder"),
        ],
    )?;
    let number = |name: &str| facts.get(name).map(|number| number.cast_unsigned());
    let runtime = number("runtime").zip(number("runtime_size"));
    let place = |address: u64| Place {
        address: hex(address),
        runtime_offset: runtime.and_then(|(start, _)| address.checked_sub(start)),
    };
    // In 2.7 autoTLSkey indexes a list of CPython's own and is no pthread key.
    let key_static = number("key_static").filter(|_| !python.starts_with("2."));
    let gil = match (number("gil_locked_3_7"), number("gil_holder_3_7")) {
        (Some(locked), Some(holder)) => {
            Some(Gil::Runtime { locked: hex(locked), last_holder: hex(holder) })
        }
        _ => match (number("gil_locked_static"), number("gil_holder_static")) {
            (Some(locked), Some(holder)) => {
                Some(Gil::Statics { locked: hex(locked), last_holder: hex(holder) })
            }
            _ => match (number("gil_pointer"), number("gil_locked"), number("gil_holder")) {
                (Some(gil_pointer), Some(locked), Some(last_holder)) => {
                    Some(Gil::Interpreter { gil_pointer, locked, last_holder })
                }
                _ => None,
            },
        },
    };
    let truth = Truth {
        status: "resolved".into(),
        python: Some(python.into()),
        flavour: Some(flavour.into()),
        obtained: format!(
            "symbols and DWARF of {} as gdb and nm read them; TLS slots from readelf",
            sources.debug_name
        ),
        runtime: runtime.map(|(address, size)| Runtime { address: hex(address), size }),
        pthread_key: number("key_3_12").or(number("key_3_7")).or(key_static).map(place),
        global: number("current_3_7").or(number("current_static")).map(place),
        gil,
        libc: None,
        thread_local: thread_locals(sources)?,
    };
    if truth.runtime.is_none() && truth.global.is_none() {
        anyhow::bail!("{} tells nothing of CPython's thread states", sources.debug.display());
    }
    Ok(truth)
}

/// Names of CPython's thread-local variables and the state each holds.
const VARIABLES: [(&str, &str); 2] =
    [("_Py_tss_gilstate", "owned"), ("_Py_tss_tstate", "attached")];

fn thread_locals(sources: Sources<'_>) -> Result<Vec<ThreadLocal>> {
    let offsets = elf::tls_symbols(sources.debug)?;
    let Some(segment) = elf::tls_segment(sources.file)? else { return Ok(Vec::new()) };
    let mut variables = Vec::new();
    for (variable, reaches) in VARIABLES {
        let Some(&module_offset) = offsets.get(variable) else { continue };
        variables.push(ThreadLocal {
            variable: variable.into(),
            reaches: reaches.into(),
            module_offset,
            tp_offset: tls::executable_offset(sources.file, segment, module_offset)?,
            ways: tls::ways(sources.file, module_offset)?,
        });
    }
    Ok(variables)
}

/// The truth about glibc's `libc.so.6` or `libpthread.so.0`.
///
/// # Errors
/// A tool is missing, or the debug information lacks `struct pthread`.
pub(crate) fn of_glibc(debugger: &Debugger, sources: Sources<'_>) -> Result<Truth> {
    let facts = debugger.numbers(
        sources.debug,
        &[
            ("size", "(long)sizeof(struct pthread)"),
            ("first", "(long)&((struct pthread *)0)->specific_1stblock"),
            ("blocks", "(long)&((struct pthread *)0)->specific"),
            ("dtv_x86", "(long)&((struct pthread *)0)->header.dtv"),
            ("tls_offset", "(long)&((struct link_map *)0)->l_tls_offset"),
        ],
    )?;
    let member = |name: &str| {
        facts
            .get(name)
            .copied()
            .with_context(|| format!("no {name} in {}", sources.debug.display()))
    };
    // The thread pointer is the start of struct pthread on x86-64 (TLS
    // variant II) and its end on aarch64 (variant I).
    let aarch64 = elf::machine(sources.file)? == "AArch64";
    let base = if aarch64 { -member("size")? } else { 0 };
    let has_getspecific = elf::defines(sources.file, "pthread_getspecific")?;
    Ok(Truth {
        status: "not_python".into(),
        obtained: format!("DWARF of {} as gdb reads it", sources.debug_name),
        libc: Some(LibcTruth {
            libc: "glibc".into(),
            slots: has_getspecific.then_some(base + member("first")?),
            blocks: has_getspecific.then_some(base + member("blocks")?),
            // tcbhead_t on aarch64 starts at the thread pointer with its dtv.
            // Before 2.34 all this is told by libpthread alone.
            dtv: has_getspecific.then_some(if aarch64 { 0 } else { member("dtv_x86")? }),
            link_map_tls_offset: facts
                .get("tls_offset")
                .filter(|_| has_getspecific)
                .map(|number| number.cast_unsigned()),
        }),
        ..Truth::default()
    })
}

/// The truth about musl's `libc.so`, from its sources: `struct pthread` in
/// `src/internal/pthread_impl.h` of 1.2.2 to 1.2.6, measured with a compiler.
///
/// # Errors
/// The version is outside that range.
pub(crate) fn of_musl(file: &Path, version: &str) -> Result<Truth> {
    let upstream = upstream_version(version);
    if !["1.2.2", "1.2.3", "1.2.4", "1.2.5", "1.2.6"].contains(&upstream.as_str()) {
        anyhow::bail!("the layout of musl {upstream} was not measured");
    }
    let aarch64 = elf::machine(file)? == "AArch64";
    Ok(Truth {
        status: "not_python".into(),
        obtained: format!("offsetof in struct pthread of musl {upstream}"),
        libc: Some(LibcTruth {
            libc: "musl".into(),
            slots: Some(if aarch64 { -0x58 } else { 0x80 }),
            blocks: None,
            dtv: Some(if aarch64 { -8 } else { 8 }),
            link_map_tls_offset: None,
        }),
        ..Truth::default()
    })
}

/// The upstream part of a Debian version, as CPython writes its own:
/// `3.15.0~rc1-2` is `3.15.0rc1`.
pub(crate) fn upstream_version(version: &str) -> String {
    let version = version.split_once(':').map_or(version, |(_, rest)| rest);
    version.rsplit_once('-').map_or(version, |(upstream, _)| upstream).replace('~', "")
}

/// Whether the file exports CPython's API.
///
/// # Errors
/// nm cannot be run or does not take the file.
pub(crate) fn is_python(file: &Path) -> Result<bool> {
    elf::defines(file, "PyGILState_GetThisThreadState")
}

/// Whether the file exports CPython's API or links to a library that does.
///
/// # Errors
/// readelf or nm cannot be run or does not take the file.
pub(crate) fn is_about_python(file: &Path) -> Result<bool> {
    Ok(elf::needed(file)?.iter().any(|name| name.starts_with("libpython")) || is_python(file)?)
}

/// Whether the file is of an architecture that Keyhole reads.
///
/// # Errors
/// readelf cannot be run or does not take the file.
pub(crate) fn is_supported(file: &Path) -> Result<bool> {
    let machine = elf::machine(file)?;
    Ok(elf::is_64_bit(file)? && (machine == "AArch64" || machine.contains("X86-64")))
}

/// The truth about a file that holds no CPython runtime: it links to one, or
/// it does not.
///
/// # Errors
/// readelf cannot be run or does not take the file.
pub(crate) fn of_other(file: &Path) -> Result<Truth> {
    let needs = elf::needed(file)?.into_iter().find(|name| name.starts_with("libpython"));
    let machine = elf::machine(file)?;
    let (status, obtained) = if !is_supported(file)? {
        let bits = if elf::is_64_bit(file)? { 64 } else { 32 };
        ("unsupported", format!("{bits}-bit {machine}, as readelf reads the file's header"))
    } else if let Some(library) = needs {
        ("launcher", format!("readelf lists {library} as needed"))
    } else {
        ("not_python", "readelf lists no libpython, and nm no CPython symbol".to_owned())
    };
    Ok(Truth { status: status.into(), obtained, ..Truth::default() })
}

/// An address as reports write it.
pub(crate) fn hex(address: u64) -> String {
    format!("{address:#x}")
}

#[cfg(test)]
mod tests {
    use super::upstream_version;

    #[test]
    fn debian_versions_become_cpython_versions() {
        assert_eq!(upstream_version("3.9.2-1+deb11u7"), "3.9.2");
        assert_eq!(upstream_version("3.15.0~rc1-2"), "3.15.0rc1");
        assert_eq!(upstream_version("2:9.1.1230-2"), "9.1.1230");
        assert_eq!(upstream_version("3.10.4"), "3.10.4");
    }
}
