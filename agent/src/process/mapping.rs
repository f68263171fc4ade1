//! `/proc/PID/maps`.

use std::{ffi::OsString, io, os::unix::ffi::OsStringExt, path::PathBuf};

use super::{Pid, folder};

/// A file as the kernel's memory maps name it.
///
/// Not the same as `stat`'s device and inode: on overlayfs and btrfs the two
/// differ. Compare only values from memory maps with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FileId {
    /// Major and minor device number.
    pub(crate) device: (u32, u32),
    /// Inode number, never 0.
    pub(crate) inode: u64,
}

/// The file behind a mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MappedFile {
    /// Which file.
    pub(crate) id: FileId,
    /// Its path in the process's mount namespace when it was mapped.
    pub(crate) path: PathBuf,
    /// The path names it no longer.
    pub(crate) deleted: bool,
}

/// One line of `/proc/PID/maps`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    /// Run-time address of the first byte.
    pub(crate) start: u64,
    /// Run-time address after the last byte.
    pub(crate) end: u64,
    /// May be executed.
    pub(crate) executable: bool,
    /// May be written.
    pub(crate) writable: bool,
    /// File offset of the first byte.
    pub(crate) offset: u64,
    /// The file; absent for anonymous memory.
    pub(crate) file: Option<MappedFile>,
}

/// What a process has mapped, in ascending order of addresses.
///
/// Empty for kernel threads and for processes that have ended.
///
/// # Errors
/// There is no such process, or we may not look at it.
pub(crate) fn mappings(pid: Pid) -> io::Result<Vec<Mapping>> {
    Ok(parse(&std::fs::read(folder(pid).join("maps"))?))
}

/// The lines that can be understood; the kernel writes no others.
pub(super) fn parse(maps: &[u8]) -> Vec<Mapping> {
    maps.split(|&byte| byte == b'\n').filter_map(line).collect()
}

/// `start-end rwxp offset major:minor inode   path`, numbers but the inode in
/// hexadecimal (proc_pid_maps(5)).
fn line(line: &[u8]) -> Option<Mapping> {
    let mut fields = line.splitn(6, |&byte| byte == b' ');
    let mut text = || std::str::from_utf8(fields.next()?).ok();
    let (start, end) = text()?.split_once('-')?;
    let rights = text()?.as_bytes();
    let offset = hexadecimal(text()?)?;
    let (major, minor) = text()?.split_once(':')?;
    let device = (u32::from_str_radix(major, 16).ok()?, u32::from_str_radix(minor, 16).ok()?);
    let inode: u64 = text()?.parse().ok()?;
    let path = fields.next().unwrap_or_default().trim_ascii_start();
    let file = (inode != 0 && path.starts_with(b"/")).then(|| {
        // The kernel appends this to the path of a file without a name. A file
        // may also be called so; its identity is checked when it is opened.
        let (path, deleted) = match path.strip_suffix(b" (deleted)") {
            Some(path) => (path, true),
            None => (path, false),
        };
        MappedFile { id: FileId { device, inode }, path: unescaped(path), deleted }
    });
    Some(Mapping {
        start: hexadecimal(start)?,
        end: hexadecimal(end)?,
        executable: rights.get(2) == Some(&b'x'),
        writable: rights.get(1) == Some(&b'w'),
        offset,
        file,
    })
}

fn hexadecimal(digits: &str) -> Option<u64> {
    u64::from_str_radix(digits, 16).ok()
}

/// The kernel writes a line feed in a path as `\012`, and nothing else so.
fn unescaped(path: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((&first, tail)) = rest.split_first() {
        if let Some(tail) = rest.strip_prefix(b"\\012") {
            bytes.push(b'\n');
            rest = tail;
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn lines_of_every_kind() {
        let maps = b"\
5600d0000000-5600d0001000 r--p 00000000 fd:00 1234                       /usr/bin/python3.11\n\
5600d0001000-5600d0201000 r-xp 00001000 fd:00 1234                       /usr/bin/python3.11\n\
7f0000000000-7f0000010000 rw-p 00000000 00:00 0 \n\
7f0000010000-7f0000020000 r-xp 00002000 00:2a 99 /opt/my lib\\012x.so (deleted)\n\
7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0                          [stack]\n\
not a mapping\n";
        let mappings = parse(maps);
        assert_eq!(mappings.len(), 5);
        let text = &mappings[1];
        assert_eq!(
            (text.start, text.end, text.offset),
            (0x5600_d000_1000, 0x5600_d020_1000, 0x1000)
        );
        assert!(text.executable && !text.writable);
        let file = text.file.as_ref().expect("a file");
        assert_eq!(file.id, FileId { device: (0xfd, 0), inode: 1234 });
        assert_eq!(file.path, Path::new("/usr/bin/python3.11"));
        assert!(!file.deleted);
        assert!(mappings[2].file.is_none() && mappings[2].writable);
        let deleted = mappings[3].file.as_ref().expect("a file");
        assert!(deleted.deleted);
        assert_eq!(deleted.path, Path::new("/opt/my lib\nx.so"));
        assert!(mappings[4].file.is_none());
    }

    #[test]
    fn our_own_program_is_mapped() {
        let ours = mappings(std::process::id()).expect("our maps");
        let program = std::env::current_exe().expect("our program");
        assert!(ours.iter().any(|mapping| {
            mapping.executable && mapping.file.as_ref().is_some_and(|file| file.path == program)
        }));
    }
}
