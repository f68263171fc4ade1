//! Running processes: what they have mapped, and which of it is Python.

mod mapping;
mod origin;
mod runtime_image;

use std::{io, path::PathBuf};

pub(crate) use mapping::{FileId, MappedFile, Mapping, mappings};
pub(crate) use origin::{Unreachable, open_mapped};
pub(crate) use runtime_image::{Survey, survey};

/// A process, by its id in our PID namespace.
pub(crate) type Pid = u32;

/// Every process that `/proc` shows, in ascending order.
///
/// # Errors
/// `/proc` cannot be read.
pub(crate) fn all() -> io::Result<Vec<Pid>> {
    let mut pids: Vec<Pid> = std::fs::read_dir("/proc")?
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    pids.sort_unstable();
    Ok(pids)
}

/// The process's name for itself (`/proc/PID/comm`): at most 15 bytes, set by
/// the process, so only for display.
pub(crate) fn name(pid: Pid) -> Option<String> {
    let name = std::fs::read(folder(pid).join("comm")).ok()?;
    Some(String::from_utf8_lossy(name.trim_ascii_end()).into_owned())
}

/// `/proc/PID`.
fn folder(pid: Pid) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}"))
}
