//! Finds every Python on this machine, by content.

use std::collections::BTreeSet;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use memchr::memmem;

/// Symbol names that a runtime image or a launcher has.
///
/// Every libpython defines the first, a launcher imports one of the others
/// (`Py_BytesMain` since 3.8, `_Py_UnixMain` in 3.7, `Py_Main` before).
const MARKS: [&str; 4] =
    ["PyGILState_GetThisThreadState", "Py_BytesMain", "_Py_UnixMain", "Py_Main"];

/// Files that hold a Python, from `PATH`, the usual library folders, pyenv
/// and running processes. Each file once, whatever names it has.
pub(crate) fn all() -> Vec<PathBuf> {
    let mut seen = BTreeSet::new();
    let in_folders = folders().into_iter().flat_map(|folder| children(&folder).collect::<Vec<_>>());
    let mut found: Vec<PathBuf> =
        in_folders.chain(mapped_files()).filter_map(|path| new_python(&path, &mut seen)).collect();
    found.sort();
    found
}

/// The real path of a file that holds a Python and was not seen yet.
fn new_python(path: &Path, seen: &mut BTreeSet<(u64, u64)>) -> Option<PathBuf> {
    let real = path.canonicalize().ok()?;
    let facts = real.metadata().ok()?;
    (seen.insert((facts.dev(), facts.ino())) && holds_python(&real)).then_some(real)
}

fn folders() -> BTreeSet<PathBuf> {
    let mut folders: BTreeSet<PathBuf> =
        std::env::var_os("PATH").iter().flat_map(std::env::split_paths).collect();
    folders.extend(
        ["/usr/bin", "/usr/local/bin", "/usr/local/lib", "/usr/lib64", "/usr/lib"]
            .map(PathBuf::from),
    );
    folders.extend(children(Path::new("/usr/lib")).filter(|path| {
        // Multiarch folders: /usr/lib/x86_64-linux-gnu.
        path.file_name().is_some_and(|name| name.to_string_lossy().contains("-linux-"))
    }));
    let pyenv = std::env::var_os("PYENV_ROOT")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".pyenv")));
    if let Some(pyenv) = pyenv {
        for version in children(&pyenv.join("versions")) {
            folders.insert(version.join("bin"));
            folders.insert(version.join("lib"));
        }
    }
    folders
}

fn children(folder: &Path) -> impl Iterator<Item = PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// The files that running processes have mapped executable.
fn mapped_files() -> BTreeSet<PathBuf> {
    children(Path::new("/proc"))
        .filter_map(|process| std::fs::read_to_string(process.join("maps")).ok())
        .flat_map(|maps| {
            maps.lines()
                .filter(|line| line.split(' ').nth(1).is_some_and(|rights| rights.contains('x')))
                .filter_map(|line| line.find('/').map(|start| PathBuf::from(&line[start..])))
                .collect::<Vec<_>>()
        })
        .collect()
}

/// Whether the file is an ELF file with one of [`MARKS`] in it.
fn holds_python(path: &Path) -> bool {
    let Ok(mut file) = std::fs::File::open(path) else { return false };
    if !file.metadata().is_ok_and(|facts| facts.is_file()) {
        return false;
    }
    let mut bytes = vec![0; 4];
    if file.read_exact(&mut bytes).is_err()
        || bytes != *b"\x7fELF"
        || file.read_to_end(&mut bytes).is_err()
    {
        return false;
    }
    // Between NULs, so that a program that only speaks of them is not taken.
    MARKS.iter().any(|mark| memmem::find(&bytes, format!("\0{mark}\0").as_bytes()).is_some())
}
