//! The bytes of a file, mapped where that is possible.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read},
    ops::Deref,
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use memmap2::Mmap;

/// Input that cannot be mapped (a pipe) is read up to this size.
const READ_LIMIT: u64 = 1 << 30;

/// All bytes of one file, as they were when it was opened.
#[derive(Debug)]
pub(crate) enum FileBytes {
    /// A private, read-only mapping.
    Mapped(Mmap),
    /// A copy.
    Read(Vec<u8>),
}

impl FileBytes {
    /// Opens a file, pipe or device that a user named.
    ///
    /// # Errors
    /// It cannot be opened or read, is a folder, or is an endless stream.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let facts = file.metadata()?;
        if facts.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if facts.is_file()
            && facts.len() > 0
            && let Ok(map) = map(&file)
        {
            return Ok(Self::Mapped(map));
        }
        let mut bytes = Vec::new();
        file.take(READ_LIMIT + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > READ_LIMIT {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                "more than 1 GiB, and no regular file",
            ));
        }
        Ok(Self::Read(bytes))
    }

    /// Maps a regular file, and nothing else, at a path that somebody else
    /// controls: never waits for the other end of a pipe, never opens a
    /// terminal as ours.
    ///
    /// # Errors
    /// It cannot be opened or mapped, or is no regular file.
    pub(crate) fn map_untrusted(path: &Path) -> io::Result<Mmap> {
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
            .open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        map(&file)
    }
}

/// Maps a regular file privately, for reading.
fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: The compiler may assume that the bytes behind a `&[u8]` do not
    // change, and another process can write to this file. The analyzer copes:
    // it treats every byte as hostile, holds no unsafe code, and checks each
    // number it read after copying it out, so changed bytes can give another
    // report but no access out of bounds. A file that is cut short while it is
    // looked at ends this process with SIGBUS, which loses one inspection (or a
    // recording, which looks once more for names that nothing else holds) and
    // corrupts nothing; loaded libraries are replaced by renaming, not by
    // rewriting them, because the latter would break the programs that run them.
    unsafe { Mmap::map(file) }
}

impl Deref for FileBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Read(bytes) => bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{ffi::CString, os::unix::ffi::OsStrExt, time::Instant};

    use super::*;

    #[test]
    fn regular_files_are_mapped_and_others_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        std::fs::write(&path, b"content").expect("written");
        let bytes = FileBytes::open(&path).expect("opened");
        assert!(matches!(bytes, FileBytes::Mapped(_)));
        assert_eq!(&*bytes, b"content");

        std::fs::write(&path, b"").expect("written");
        assert_eq!(&*FileBytes::open(&path).expect("opened"), b"");
        assert!(FileBytes::open(folder.path()).is_err());
        assert!(FileBytes::open(&folder.path().join("missing")).is_err());
    }

    #[test]
    fn a_pipe_in_place_of_a_library_does_not_hang() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("pipe");
        let name = CString::new(path.as_os_str().as_bytes()).expect("a C string");
        // SAFETY: `name` is a NUL-terminated string that outlives the call.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        let start = Instant::now();
        let error = FileBytes::map_untrusted(&path).expect_err("no regular file");
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        assert!(start.elapsed().as_secs() < 5);
    }
}
