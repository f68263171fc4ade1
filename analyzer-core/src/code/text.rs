//! Disassembly for people.

mod aarch64;
mod x86_64;

use alloc::string::String;

use crate::addr::VirtAddr;
use crate::report::Arch;

/// Names of addresses, to be printed in disassembly.
pub trait Names {
    /// The name to print for link-time address `addr`: of a function, a PLT
    /// entry, an object or a GOT slot that starts just there.
    fn name_at(&self, addr: VirtAddr) -> Option<String>;
}

impl<F: Fn(VirtAddr) -> Option<String>> Names for F {
    fn name_at(&self, addr: VirtAddr) -> Option<String> {
        self(addr)
    }
}

/// The instruction at the start of `bytes`, which lies at link-time address
/// `address`, as text: `mov rax, [0x543d00]`, `adrp x0, 0x3c1000`.
///
/// Targets of branches, and data addressed relative to the instruction, are
/// printed as absolute link-time addresses. A branch target that has a name
/// is printed as that (`call PyThread_tss_get@plt`); a data address is
/// followed by it (`mov rax, [0x543d00 <_PyRuntime@got>]`). Bytes that are no
/// instruction are printed as `(bad)`.
#[must_use]
pub fn format(arch: Arch, bytes: &[u8], address: VirtAddr, names: &dyn Names) -> String {
    match arch {
        Arch::X86_64 => x86_64::format(bytes, address, names),
        Arch::Aarch64 => aarch64::format(bytes, address, names),
    }
}

/// What is printed for bytes that are no instruction.
const BAD: &str = "(bad)";
