//! The Pythons of this machine.

use std::collections::BTreeSet;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One interpreter that can be started.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Python {
    /// The interpreter, as seen from inside its root.
    interpreter: PathBuf,
    root: Root,
}

/// Where an interpreter finds its files.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Root {
    /// The machine's own root.
    Machine,
    /// A folder, entered with `chroot`.
    Folder(PathBuf),
    /// A folder with files for aarch64, run by `qemu-aarch64`.
    Aarch64(PathBuf),
}

impl Python {
    /// A short name for messages.
    pub(crate) fn name(&self) -> String {
        match &self.root {
            Root::Machine => self.interpreter.display().to_string(),
            Root::Folder(root) | Root::Aarch64(root) => {
                format!("{} in {}", self.interpreter.display(), root.display())
            }
        }
    }

    /// Whether it runs aarch64 code, whatever the machine is.
    pub(crate) fn is_aarch64(&self) -> bool {
        matches!(self.root, Root::Aarch64(_)) || cfg!(target_arch = "aarch64")
    }

    /// Whether it can open files by the same paths as we can.
    pub(crate) fn sees_our_files(&self) -> bool {
        !matches!(self.root, Root::Folder(_))
    }

    /// A command that runs the interpreter.
    pub(crate) fn interpreter(&self) -> Command {
        self.command(&self.interpreter)
    }

    /// A command that runs `program` where this Python lives.
    pub(crate) fn command(&self, program: &Path) -> Command {
        match &self.root {
            Root::Machine => Command::new(program),
            Root::Folder(root) => {
                let mut command = Command::new("chroot");
                command.arg(root).arg(program);
                command
            }
            Root::Aarch64(root) => {
                let mut command = Command::new("qemu-aarch64");
                command.arg("-L").arg(root).arg(self.outside(program));
                command
            }
        }
    }

    /// A path inside the root, as the rest of the machine sees it.
    pub(crate) fn outside(&self, path: &Path) -> PathBuf {
        match &self.root {
            Root::Machine => path.to_owned(),
            Root::Folder(root) | Root::Aarch64(root) => {
                root.join(path.strip_prefix("/").unwrap_or(path))
            }
        }
    }

    /// The libpython of this interpreter, its prefix and its version, if it
    /// has a shared one, as the interpreter itself tells.
    pub(crate) fn library(&self) -> Option<Library> {
        const ASK: &str = "\
import os, sys, sysconfig
get = sysconfig.get_config_var
name = get('INSTSONAME') or ''
for folder in (get('LIBDIR') or '', '/usr/lib/' + (get('MULTIARCH') or '')):
    path = os.path.join(folder, name)
    if '.so' in name and os.path.isfile(path):
        print(path)
        print(sys.prefix)
        break
";
        let output =
            self.command(&self.interpreter).args(["-I", "-c", ASK]).output().ok().and_then(
                // 2.7 does not know -I.
                |output| match output.status.success() {
                    true => Some(output),
                    false => self.command(&self.interpreter).args(["-c", ASK]).output().ok(),
                },
            )?;
        let text = String::from_utf8(output.stdout).ok()?;
        let mut lines = text.lines();
        Some(Library { path: lines.next()?.into(), home: lines.next()?.into() })
    }
}

/// A shared libpython.
#[derive(Clone, Debug)]
pub(crate) struct Library {
    /// Where it is, inside the root.
    pub(crate) path: PathBuf,
    /// What `PYTHONHOME` must be for it.
    pub(crate) home: PathBuf,
}

/// Every Python found: pyenv's versions, those in `PATH`, and those in the
/// root folders that `KEYHOLE_ROOTS` and, for aarch64,
/// `KEYHOLE_AARCH64_ROOTS` list (separated by colons).
pub(crate) fn all() -> Vec<Python> {
    let mut folders: Vec<PathBuf> =
        std::env::var_os("PATH").iter().flat_map(std::env::split_paths).collect();
    let pyenv = std::env::var_os("PYENV_ROOT")
        .map(PathBuf::from)
        .or_else(|| std::env::home_dir().map(|home| home.join(".pyenv")));
    if let Some(versions) = pyenv.and_then(|pyenv| pyenv.join("versions").read_dir().ok()) {
        folders.extend(versions.flatten().map(|version| version.path().join("bin")));
    }
    let mut pythons = BTreeSet::new();
    for folder in folders {
        pythons.extend(
            interpreters(&folder).map(|interpreter| Python { interpreter, root: Root::Machine }),
        );
    }
    pythons.extend(in_roots("KEYHOLE_ROOTS", Root::Folder));
    pythons.extend(in_roots("KEYHOLE_AARCH64_ROOTS", Root::Aarch64));
    pythons.into_iter().collect()
}

/// The Pythons in the root folders that an environment variable lists.
fn in_roots(variable: &str, kind: fn(PathBuf) -> Root) -> Vec<Python> {
    let roots: Vec<PathBuf> =
        std::env::var_os(variable).iter().flat_map(std::env::split_paths).collect();
    let mut pythons = Vec::new();
    for root in roots {
        for found in interpreters(&root.join("usr/bin")) {
            let name = found.file_name().unwrap_or_default();
            let interpreter = Path::new("/usr/bin").join(name);
            pythons.push(Python { interpreter, root: kind(root.clone()) });
        }
    }
    pythons
}

/// The ELF files in a folder that are called `python3.12` or alike. The
/// names without a minor version lead to one of them.
fn interpreters(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let mut files = BTreeSet::new();
    folder
        .read_dir()
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.strip_prefix("python").is_some_and(|version| {
                let version = version.trim_end_matches(['m', 'd', 't']);
                version.contains('.') && version.chars().all(|c| c == '.' || c.is_ascii_digit())
            })
        })
        .filter_map(|path| path.canonicalize().ok())
        .filter(move |path| {
            // python3.6 and python3.6m are often one file.
            let facts = path.metadata();
            facts.is_ok_and(|facts| files.insert((facts.dev(), facts.ino())))
        })
        .filter(|path| {
            let mut magic = [0; 4];
            std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok()
                && magic == *b"\x7fELF"
        })
}
