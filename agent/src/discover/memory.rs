//! Reading another process's memory, or what a file says it holds.

use std::{fs::File, io, os::unix::fs::FileExt as _};

/// Something that answers what is at run-time addresses.
pub(crate) trait ReadMemory {
    /// Fills the buffer from an address.
    ///
    /// # Errors
    /// Not all of it is there.
    fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()>;

    /// The 64-bit word at an address.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    fn word(&self, address: u64) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes)?;
        Ok(u64::from_ne_bytes(bytes))
    }

    /// The 32-bit word at an address.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    fn half(&self, address: u64) -> io::Result<u32> {
        let mut bytes = [0; 4];
        self.read(address, &mut bytes)?;
        Ok(u32::from_ne_bytes(bytes))
    }
}

/// The memory of one process, through `/proc/PID/mem`: pages that are not
/// resident are brought in by reading.
///
/// The open file belongs to the address space it was opened on, so what is
/// read is never from a later program or process.
#[derive(Debug)]
pub(crate) struct Memory(File);

impl Memory {
    /// Opens the memory of a process.
    ///
    /// # Errors
    /// The process is gone, or the agent may not read it.
    pub(crate) fn of(pid: u32) -> io::Result<Self> {
        File::open(format!("/proc/{pid}/mem")).map(Self)
    }
}

impl ReadMemory for Memory {
    fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(buffer, address)
    }
}
