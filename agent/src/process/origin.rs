//! Opens the very file that a process has mapped.
//!
//! A path out of `/proc/PID/maps` is only a hint: the process may live in
//! another mount namespace, and the file may have been replaced since. So each
//! way to open it is tried in turn, and what was opened is compared with what
//! is mapped.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use memmap2::Mmap;

use super::{FileId, MappedFile, Mapping, Pid, folder, mapping::mappings};
use crate::{file_bytes::FileBytes, render::plain};

/// The file behind a mapping of a process, mapped into ours.
///
/// # Errors
/// No way leads to the file; the error lists each with its reason.
pub(crate) fn open_mapped(
    pid: Pid,
    mapping: &Mapping,
    file: &MappedFile,
) -> Result<Mmap, Unreachable> {
    let mut tried = Vec::new();
    for way in ways(pid, mapping, file) {
        match FileBytes::map_untrusted(&way) {
            Ok(map) if identity(&map) == Some(file.id) => return Ok(map),
            Ok(_) => tried.push((way, Failure::OtherFile)),
            Err(error) => tried.push((way, Failure::Io(error))),
        }
    }
    Err(Unreachable { tried })
}

/// `map_files` leads to the mapped file itself, whatever its name became, but
/// needs CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN. `exe` does the same for the
/// program. The path, seen from the process's root folder, needs less.
fn ways(pid: Pid, mapping: &Mapping, file: &MappedFile) -> impl Iterator<Item = PathBuf> {
    let folder = folder(pid);
    let by_address = folder.join(format!("map_files/{:x}-{:x}", mapping.start, mapping.end));
    let by_path = (!file.deleted)
        .then(|| folder.join("root").join(file.path.strip_prefix("/").unwrap_or(Path::new(""))));
    [Some(by_address), by_path, Some(folder.join("exe"))].into_iter().flatten()
}

/// How the memory maps of our own process name the file behind `map`.
///
/// Comparing maps with maps works on overlayfs and btrfs as well, where the
/// device and inode that `fstat` tells are others.
fn identity(map: &Mmap) -> Option<FileId> {
    let address = map.as_ptr() as u64;
    let ours = mappings(std::process::id()).ok()?;
    let mapping = ours.iter().find(|mapping| (mapping.start..mapping.end).contains(&address))?;
    mapping.file.as_ref().map(|file| file.id)
}

/// Why a mapped file could not be opened.
#[derive(Debug)]
pub(crate) struct Unreachable {
    tried: Vec<(PathBuf, Failure)>,
}

#[derive(Debug)]
enum Failure {
    /// Opened, and it is another file.
    OtherFile,
    Io(io::Error),
}

impl Unreachable {
    /// Another file has taken the mapped one's path.
    pub(crate) fn replaced(&self) -> bool {
        // `exe` is another file whenever the mapping is a library's.
        self.tried
            .iter()
            .any(|(way, failure)| matches!(failure, Failure::OtherFile) && !way.ends_with("exe"))
    }

    /// More rights would help.
    pub(crate) fn denied(&self) -> bool {
        self.tried.iter().any(|(_, failure)| {
            matches!(failure, Failure::Io(error) if error.kind() == io::ErrorKind::PermissionDenied)
        })
    }
}

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.replaced() {
            f.write_str("another file has its name now; ")?;
        }
        if self.denied() {
            f.write_str("looking at the mapping itself needs root or CAP_CHECKPOINT_RESTORE; ")?;
        }
        f.write_str("tried ")?;
        for (index, (way, failure)) in self.tried.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            match failure {
                Failure::OtherFile => write!(f, "{separator}{} (another file)", shown(way))?,
                Failure::Io(error) => write!(f, "{separator}{} ({error})", shown(way))?,
            }
        }
        Ok(())
    }
}

impl std::error::Error for Unreachable {}

/// A path that another process chose, on its way to a terminal.
fn shown(path: &Path) -> String {
    plain(&path.to_string_lossy()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mapping of this test's own process, as another process's would look.
    fn mapped(path: &Path) -> (Mmap, Mapping) {
        let map = FileBytes::map_untrusted(path).expect("mapped");
        let address = map.as_ptr() as u64;
        let mapping = mappings(std::process::id())
            .expect("our maps")
            .into_iter()
            .find(|mapping| (mapping.start..mapping.end).contains(&address))
            .expect("the mapping");
        (map, mapping)
    }

    #[test]
    fn the_mapped_file_is_found_and_its_successor_is_not_taken_for_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("library.so");
        std::fs::write(&path, b"the first").expect("written");
        let (_map, mapping) = mapped(&path);
        let file = mapping.file.clone().expect("a file");
        let opened = open_mapped(std::process::id(), &mapping, &file).expect("opened");
        assert_eq!(&*opened, b"the first");

        // An upgrade: another file takes the name.
        let newer = folder.path().join("newer");
        std::fs::write(&newer, b"the second").expect("written");
        std::fs::rename(&newer, &path).expect("renamed");
        match open_mapped(std::process::id(), &mapping, &file) {
            Ok(opened) => assert_eq!(&*opened, b"the first"),
            Err(unreachable) => {
                assert!(unreachable.replaced() && unreachable.denied(), "{unreachable}");
            }
        }
    }
}
