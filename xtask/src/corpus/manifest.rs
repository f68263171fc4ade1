//! `corpus/manifest.toml`: which builds, and what is true of each.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::shell;

/// All builds with their truth.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// In the order of the table.
    #[serde(rename = "build")]
    pub(crate) builds: Vec<Build>,
}

/// One ELF file of one package.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Build {
    /// Debian suite, or `pypi`, or `installed` for what was found on the machine.
    pub(crate) suite: String,
    /// Debian's name of the architecture.
    pub(crate) arch: String,
    /// Name of the package.
    pub(crate) package: String,
    /// Version of the package.
    pub(crate) version: String,
    /// Where the file lies in the package.
    pub(crate) file: String,
    /// SHA-256 of the file.
    pub(crate) sha256: String,
    /// What is true of it.
    pub(crate) truth: Truth,
}

impl Build {
    /// Where the corpus in `folder` has the file once it is unpacked.
    pub(crate) fn unpacked(&self, folder: &Path) -> PathBuf {
        let package = if self.suite == "pypi" {
            folder.join("wheels").join(format!("{}-{}", self.package, self.version))
        } else {
            folder.join("files").join(format!("{}-{}", self.suite, self.arch)).join(&self.package)
        };
        package.join(&self.file)
    }

    /// A short, unique name, used in tables.
    pub(crate) fn name(&self) -> String {
        let file = Path::new(&self.file).file_name().unwrap_or_default().to_string_lossy();
        format!("{} {} {} {} {file}", self.suite, self.arch, self.package, self.version)
    }
}

/// What is true of a file, found without Keyhole. Addresses are link-time
/// virtual addresses, written `"0x…"` as in a report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Truth {
    /// The report's status.
    pub(crate) status: String,
    /// CPython's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) python: Option<String>,
    /// The report's name of the build flavour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) flavour: Option<String>,
    /// How all this was found.
    pub(crate) obtained: String,
    /// `_PyRuntime`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) runtime: Option<Runtime>,
    /// The pthread key; absent where the build has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pthread_key: Option<Place>,
    /// The process-wide pointer to the state that holds the GIL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) global: Option<Place>,
    /// Where the GIL is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) gil: Option<Gil>,
    /// What is true of a C library.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) libc: Option<LibcTruth>,
    /// The thread-local variables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) thread_local: Vec<ThreadLocal>,
}

/// `_PyRuntime`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Runtime {
    /// Its address.
    pub(crate) address: String,
    /// Its size in bytes.
    pub(crate) size: u64,
}

/// A variable at a fixed address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    /// Its address.
    pub(crate) address: String,
    /// Bytes from the start of `_PyRuntime`; absent before 3.7.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) runtime_offset: Option<u64>,
}

/// Where the GIL is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kept_in", rename_all = "snake_case")]
pub(crate) enum Gil {
    /// Static variables (to 3.6).
    Statics { locked: String, last_holder: String },
    /// Inside `_PyRuntime` (3.7 to 3.11).
    Runtime { locked: String, last_holder: String },
    /// In each interpreter: offsets in `PyInterpreterState` and
    /// `struct _gil_runtime_state`.
    Interpreter { gil_pointer: u64, locked: u64, last_holder: u64 },
}

/// A thread-local variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ThreadLocal {
    /// Its name in CPython.
    pub(crate) variable: String,
    /// The report's word for which state it holds.
    pub(crate) reaches: String,
    /// Offset in bytes in the module's TLS block.
    pub(crate) module_offset: u64,
    /// Bytes from the thread pointer, for a variable of an executable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tp_offset: Option<i64>,
    /// The ways by which the file's code can reach it; one suffices.
    pub(crate) ways: Vec<TlsWay>,
}

/// One way to reach a thread-local variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TlsWay {
    /// The report's name of the access model.
    pub(crate) model: String,
    /// Address of the GOT words; absent for local-exec.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) got_slot: Option<String>,
    /// Offset in the module's TLS block of what the words lead to, where that
    /// is one place (initial-exec, descriptors): code may reach a variable
    /// from another's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) slot_offset: Option<u64>,
}

/// What is true of a C library, in the terms of the report's `libc`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LibcTruth {
    /// `glibc` or `musl`.
    pub(crate) libc: String,
    /// Thread-pointer offset of the first block of slots (glibc), or of the
    /// pointer to the array of slots (musl). Absent where the file does not
    /// hold `pthread_getspecific`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) slots: Option<i64>,
    /// Thread-pointer offset of the array of block pointers (glibc).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) blocks: Option<i64>,
    /// Thread-pointer offset of the pointer to the DTV.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) dtv: Option<i64>,
    /// Offset of `l_tls_offset` in `struct link_map` (glibc).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) link_map_tls_offset: Option<u64>,
}

/// Where the manifest lies.
pub(crate) fn path() -> PathBuf {
    shell::root().join("corpus/manifest.toml")
}

/// Reads the manifest.
///
/// # Errors
/// It is missing or does not follow the types above.
pub(crate) fn read() -> Result<Manifest> {
    let path = path();
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}", path.display()))?;
    toml::from_str(&text).with_context(|| format!("{} is no manifest", path.display()))
}

/// Writes the manifest.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn write(manifest: &Manifest) -> Result<()> {
    const HEAD: &str = "\
# What is true of real CPython builds and C libraries, found without Keyhole.
# Written by `cargo xtask corpus --derive`; read by `cargo xtask corpus`.
# Addresses are link-time virtual addresses.

";
    let path = path();
    std::fs::create_dir_all(path.parent().expect("the manifest lies in a folder"))?;
    std::fs::write(&path, format!("{HEAD}{}", toml::to_string(manifest)?))
        .with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_survives_writing_and_reading() {
        let build = Build {
            suite: "trixie".into(),
            arch: "amd64".into(),
            package: "libpython3.13".into(),
            version: "3.13.5-2".into(),
            file: "usr/lib/libpython3.13.so.1.0".into(),
            sha256: "00".into(),
            truth: Truth {
                status: "resolved".into(),
                pthread_key: Some(Place { address: "0x10".into(), runtime_offset: Some(2164) }),
                gil: Some(Gil::Interpreter { gil_pointer: 16, locked: 16, last_holder: 8 }),
                thread_local: vec![ThreadLocal {
                    variable: "_Py_tss_tstate".into(),
                    reaches: "attached".into(),
                    module_offset: 8,
                    tp_offset: Some(-32),
                    ways: vec![TlsWay {
                        model: "local_exec".into(),
                        got_slot: None,
                        slot_offset: None,
                    }],
                }],
                ..Truth::default()
            },
        };
        let text = toml::to_string(&Manifest { builds: vec![build.clone()] }).unwrap();
        let read: Manifest = toml::from_str(&text).unwrap();
        assert_eq!(read.builds, [build]);
    }
}
