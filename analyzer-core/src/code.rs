//! Machine code as one lifted form for both instruction sets.
//!
//! [`lift`] reads one instruction and says what it does ([`ir`]); [`text`]
//! prints one for people; [`mod@abi`] says which registers carry what at a call.

pub(crate) mod aarch64;
pub mod abi;
pub mod ir;
mod lifter;
pub mod text;
pub(crate) mod x86_64;

pub use abi::{Abi, abi, reg_name};
pub use lifter::Lifter;
pub(crate) use x86_64::retpoline::seen_through as retpoline;

use crate::addr::VirtAddr;
use crate::report::Arch;
use ir::{LiftError, Lifted};

/// Longest instruction of either instruction set, in bytes: more of the code
/// need not be passed to [`lift`] or [`text::format`].
pub const MAX_INSTRUCTION_LEN: usize = 15;

/// Lifts the one instruction at the start of `bytes`, which lies at link-time
/// address `address`, into `out`; what `out` held before is dropped, its
/// memory reused.
///
/// Bytes after the instruction are not looked at. For many instructions of
/// the same code a [`Lifter`] is faster.
///
/// # Errors
///
/// [`LiftError`] when `bytes` hold no whole, known instruction; `out` then
/// has no effects and length 0.
pub fn lift(
    arch: Arch,
    bytes: &[u8],
    address: VirtAddr,
    out: &mut Lifted,
) -> Result<(), LiftError> {
    let window = bytes.get(..MAX_INSTRUCTION_LEN).unwrap_or(bytes);
    Lifter::new(arch, window, address).lift(address, out)
}
