//! Reads a process from outside: its maps and its memory.

use std::fs::File;
use std::io::{self, Error};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A mapping of a file.
#[derive(Clone, Debug)]
pub(crate) struct Mapping {
    /// First address.
    pub(crate) start: u64,
    /// Address behind the last.
    pub(crate) end: u64,
    /// Offset in the file of that address.
    pub(crate) offset: u64,
    /// The file, as the process sees it.
    pub(crate) path: PathBuf,
}

/// A process.
#[derive(Debug)]
pub(crate) struct Process {
    id: u32,
    memory: File,
}

impl Process {
    /// Opens the memory of process `id`.
    ///
    /// # Errors
    /// It is gone, or belongs to somebody else.
    pub(crate) fn open(id: u32) -> io::Result<Self> {
        Ok(Self { id, memory: File::open(format!("/proc/{id}/mem"))? })
    }

    /// The mappings of files, in the order of addresses.
    ///
    /// # Errors
    /// The process is gone.
    pub(crate) fn mappings(&self) -> io::Result<Vec<Mapping>> {
        let maps = std::fs::read_to_string(format!("/proc/{}/maps", self.id))?;
        Ok(maps.lines().filter_map(mapping).collect())
    }

    /// The file behind a path of this process, as we can open it: by a mapping
    /// of it where we may, since a process in a root of its own has other paths.
    pub(crate) fn file(&self, path: &Path) -> PathBuf {
        let mapped = self.mappings().unwrap_or_default().into_iter().find_map(|mapping| {
            let range = format!("{:x}-{:x}", mapping.start, mapping.end);
            (mapping.path == path).then(|| format!("/proc/{}/map_files/{range}", self.id))
        });
        if let Some(mapped) = mapped.filter(|mapped| File::open(mapped).is_ok()) {
            return PathBuf::from(mapped);
        }
        let root = PathBuf::from(format!("/proc/{}/root", self.id));
        root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Reads the 64-bit word at a run-time address.
    ///
    /// # Errors
    /// Nothing is mapped there.
    pub(crate) fn word(&self, address: u64) -> io::Result<u64> {
        self.read(address).map(u64::from_le_bytes)
    }

    /// Reads the `int` at a run-time address.
    ///
    /// # Errors
    /// Nothing is mapped there.
    pub(crate) fn int(&self, address: u64) -> io::Result<i32> {
        self.read(address).map(i32::from_le_bytes)
    }

    fn read<const N: usize>(&self, address: u64) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.memory
            .read_exact_at(&mut bytes, address)
            .map_err(|error| Error::other(format!("cannot read {address:#x}: {error}")))?;
        Ok(bytes)
    }

    /// Whether the thread waits in `read(2)` on that file descriptor.
    pub(crate) fn reads_from(&self, thread: u32, descriptor: i32) -> bool {
        // Number of read(2) on the machine we run on, also under an emulator.
        let number = if cfg!(target_arch = "aarch64") { "63" } else { "0" };
        let path = format!("/proc/{}/task/{thread}/syscall", self.id);
        std::fs::read_to_string(path).is_ok_and(|line| {
            let mut fields = line.split(' ');
            fields.next() == Some(number)
                && fields.next() == Some(format!("{descriptor:#x}").as_str())
        })
    }
}

/// Reads one line of `/proc/PID/maps`; `None` for memory without a file.
fn mapping(line: &str) -> Option<Mapping> {
    // 7f0000000000-7f0000001000 r-xp 00002000 fe:00 1234    /usr/lib/x.so
    let path = line.find('/').map(|start| PathBuf::from(&line[start..]))?;
    let mut fields = line.split_ascii_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let offset = fields.nth(1)?;
    Some(Mapping {
        start: u64::from_str_radix(start, 16).ok()?,
        end: u64::from_str_radix(end, 16).ok()?,
        offset: u64::from_str_radix(offset, 16).ok()?,
        path,
    })
}
