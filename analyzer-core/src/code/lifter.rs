//! Lifting many instructions of the same code.

use core::fmt;

use super::ir::{LiftError, Lifted};
use super::{aarch64, x86_64};
use crate::addr::VirtAddr;
use crate::report::Arch;

/// Lifts instructions of one run of code, in any order.
///
/// Making one costs nothing, so a whole executable segment may be the run.
pub struct Lifter<'a> {
    reader: Reader<'a>,
}

enum Reader<'a> {
    X86_64(x86_64::Reader<'a>),
    Aarch64 { code: &'a [u8], address: VirtAddr },
}

impl<'a> Lifter<'a> {
    /// A lifter of `code`, which lies at link-time address `address`.
    #[must_use]
    pub fn new(arch: Arch, code: &'a [u8], address: VirtAddr) -> Self {
        let reader = match arch {
            Arch::X86_64 => Reader::X86_64(x86_64::Reader::new(code, address)),
            Arch::Aarch64 => Reader::Aarch64 { code, address },
        };
        Self { reader }
    }

    /// Lifts the instruction at link-time address `at` into `out`; what `out`
    /// held before is dropped, its memory reused.
    ///
    /// # Errors
    ///
    /// [`LiftError::Truncated`] when `at` is outside the code, and as
    /// [`lift`](super::lift); `out` then has no effects and length 0.
    pub fn lift(&mut self, at: VirtAddr, out: &mut Lifted) -> Result<(), LiftError> {
        out.reset(at);
        let result = match &mut self.reader {
            Reader::X86_64(reader) => reader.lift(out),
            Reader::Aarch64 { code, address } => at
                .distance_from(*address)
                .and_then(|distance| code.get(usize::try_from(distance).ok()?..))
                .ok_or(LiftError::Truncated)
                .and_then(|bytes| aarch64::lift(bytes, out)),
        };
        if result.is_err() {
            out.reset(at);
        }
        result
    }
}

impl fmt::Debug for Lifter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (arch, address) = match &self.reader {
            Reader::X86_64(reader) => (Arch::X86_64, reader.address()),
            Reader::Aarch64 { address, .. } => (Arch::Aarch64, *address),
        };
        f.debug_struct("Lifter").field("arch", &arch).field("address", &address).finish()
    }
}
