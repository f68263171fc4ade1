//! The object that makes pthread keys before Python starts.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::pythons::Python;

/// The object for each architecture, compiled when it is first wanted.
#[derive(Debug)]
pub(crate) struct Preloads {
    folder: PathBuf,
    native: OnceCell<Result<PathBuf, String>>,
    aarch64: OnceCell<Result<PathBuf, String>>,
}

impl Preloads {
    /// Compiles into `folder`, which has to outlive the objects' use.
    pub(crate) fn in_folder(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), native: OnceCell::new(), aarch64: OnceCell::new() }
    }

    /// The object that this Python can load.
    ///
    /// # Errors
    /// In words, why it could not be compiled: usually that there is no compiler.
    pub(crate) fn of(&self, python: &Python) -> Result<&Path, &str> {
        let (cell, compiler) = if python.is_aarch64() && cfg!(not(target_arch = "aarch64")) {
            (&self.aarch64, "aarch64-linux-gnu-gcc")
        } else {
            (&self.native, "cc")
        };
        let object = self.folder.join(format!("{compiler}.so"));
        match cell.get_or_init(|| compile(compiler, object)) {
            Ok(object) => Ok(object),
            Err(reason) => Err(reason),
        }
    }
}

/// Libraries that hold what the object calls, before glibc 2.34 made them one.
const NEEDED: [&str; 2] = ["libpthread.so.0", "libdl.so.2"];

fn compile(compiler: &str, object: PathBuf) -> Result<PathBuf, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/live_key/preload.c");
    let folder = object.with_extension("needed");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    // Only the names count, for the loader: empty stand-ins have them.
    for name in NEEDED {
        let stand_in = folder.join(name);
        let name = format!("-Wl,-soname,{name}");
        run(Command::new(compiler)
            .args(["-shared", "-nostdlib", &name, "-x", "c", "/dev/null", "-o"])
            .arg(stand_in))?;
    }
    let needed = NEEDED.map(|name| folder.join(name));
    run(Command::new(compiler)
        .args(["-shared", "-fPIC", "-nostdlib", "-O1", "-fno-stack-protector", "-o"])
        .arg(&object)
        .arg(&source)
        .arg("-Wl,--no-as-needed")
        .args(needed))?;
    Ok(object)
}

/// Runs a compiler.
///
/// # Errors
/// There is none: nothing to complain about. That it fails is.
fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {printed}");
    Ok(())
}
