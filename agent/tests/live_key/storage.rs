//! Where glibc keeps what `pthread_getspecific` and thread-local variables
//! yield, followed from outside. The numbers are those of `struct pthread` in
//! glibc's sources (nptl/descr.h, sysdeps/*/nptl/tls.h), not Keyhole's.

use std::io;

use crate::process::Process;

/// A thread of the process under test.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Thread {
    /// Its thread pointer: `fs` base, or `TPIDR_EL0`.
    pub(crate) pointer: u64,
    /// Whether it runs aarch64 code.
    pub(crate) aarch64: bool,
    /// glibc's version: the minor number of 2.x.
    pub(crate) glibc: u32,
}

/// `PTHREAD_KEY_2NDLEVEL_SIZE` of nptl/internaltypes.h.
const BLOCK_KEYS: u64 = 32;
/// `sizeof(struct pthread_key_data)`: a sequence number and the value.
const SLOT_SIZE: u64 = 16;
/// Offset of the value in it.
const VALUE: u64 = 8;

impl Thread {
    /// What `pthread_getspecific(key)` yields in this thread, 0 for nothing.
    ///
    /// # Errors
    /// The storage is not where this glibc keeps it.
    pub(crate) fn specific(self, process: &Process, key: u64) -> io::Result<u64> {
        let (first, blocks) = self.specific_offsets();
        let slot = key % BLOCK_KEYS * SLOT_SIZE + VALUE;
        let block = match key / BLOCK_KEYS {
            0 => self.at(first),
            number => process.word(self.at(blocks) + number * 8)?,
        };
        if block == 0 { Ok(0) } else { process.word(block + slot) }
    }

    /// Thread-pointer offsets of `specific_1stblock` and `specific` in
    /// `struct pthread`. On x86-64 the thread pointer is its start, on
    /// aarch64 its end, and its size has changed.
    pub(crate) fn specific_offsets(self) -> (i64, i64) {
        if !self.aarch64 {
            return (0x310, 0x510);
        }
        let size = match self.glibc {
            ..=27 => 0x6f0,
            28..=31 => 0x700,
            32..=34 => 0x790,
            35 => 0x7c0,
            36..=40 => 0x740,
            41.. => 0x720,
        };
        (0x110 - size, 0x310 - size)
    }

    /// Address of the TLS block of module `module` in this thread; `None`
    /// while it is not allocated.
    ///
    /// # Errors
    /// There is no dynamic thread vector where glibc keeps it.
    pub(crate) fn block(self, process: &Process, module: u64) -> io::Result<Option<u64>> {
        /// `TLS_DTV_UNALLOCATED`.
        const UNALLOCATED: u64 = u64::MAX;
        let vector = process.word(self.at(if self.aarch64 { 0 } else { 8 }))?;
        // dtv[-1] counts the entries; a module loaded later than this thread
        // last looked has none yet.
        let entries = process.word(vector.wrapping_sub(16))?;
        if module > entries {
            return Ok(None);
        }
        let block = process.word(vector + module * 16)?;
        Ok((block != UNALLOCATED && block != 0).then_some(block))
    }

    /// The address at that distance from the thread pointer.
    pub(crate) fn at(self, offset: i64) -> u64 {
        self.pointer.wrapping_add_signed(offset)
    }
}
