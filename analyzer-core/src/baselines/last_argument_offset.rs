//! *Last offset of the argument register up to the first `b`*.
//!
//! Describes `decodeStubArgumentARM64` of the OpenTelemetry eBPF profiler as
//! of b442421 (2026; in 2024 without the load's own offset). For each register
//! only the last immediate added is kept, whatever it was added to; what is
//! added or loaded is taken as relative to `_PyRuntime`. `b.cond` ends the
//! search like `b`; `bl` does not. Any other write of `x0` spoils it: a copy
//! from another register, a comparison, a `cbz`.

use alloc::format;

use super::{Answer, Failure, stub::KeySearch};
use crate::{
    addr::VirtAddr,
    code::{
        aarch64::{address::indexing, decode, word::Word},
        text,
    },
    image::Image,
    report::Arch,
};

pub(super) fn find(image: &Image<'_>, has_runtime: bool) -> Result<Answer<VirtAddr>, Failure> {
    let search = KeySearch::new(image, has_runtime)?;
    let mut offsets = [0u64; 32];
    let mut argument: Option<u64> = None;
    let mut written = None;
    let mut at = search.stub.address;
    for bytes in search.stub.code.chunks(4) {
        let Ok(word) = decode(bytes) else {
            let detail = "It cannot decode the instruction.";
            return Err(Failure::new("undecodable", at, detail));
        };
        if is_branch(word) || word.is(0xff00_0010, 0x5400_0000) {
            let Some(offset) = argument else {
                let detail =
                    format!("The argument is neither a sum nor loaded when {at} branches.");
                return Err(Failure::new("argument-not-understood", written.unwrap_or(at), detail));
            };
            let value = search.runtime.wrapping_add(offset);
            return search.accept(Answer { value, at: written });
        }
        if let Some(target) = first_register(bytes) {
            let kept = added(word);
            if target == 0 {
                written = Some(at);
                argument = kept.or_else(|| {
                    let (base, offset) = loaded_from(word)?;
                    Some(offsets.get(usize::from(base))?.wrapping_add(offset))
                });
            }
            if let Some(slot) = offsets.get_mut(usize::from(target)) {
                *slot = kept.unwrap_or(0);
            }
        }
        at = VirtAddr(at.0.wrapping_add(4));
    }
    let detail = "The 64 bytes it reads, or the function, end before a branch.";
    Err(Failure::new("code-ends", at, detail))
}

/// Whether it is `b`.
pub(super) const fn is_branch(word: Word) -> bool {
    word.is(0xfc00_0000, 0x1400_0000)
}

/// The register printed first, which the decoder takes for the one written.
fn first_register(bytes: &[u8]) -> Option<u8> {
    let text = text::format(Arch::Aarch64, bytes, VirtAddr(0), &|_| None);
    let (_, operands) = text.split_once(' ')?;
    let first = operands.split(',').next()?;
    first.strip_prefix(['x', 'w'])?.parse().ok()
}

/// A general-purpose register that is neither `sp` nor `xzr`.
pub(super) fn register(number: u8) -> Option<u8> {
    (number < 31).then_some(number)
}

/// The immediate of an `add`; the decoder drops its shift.
pub(super) fn added(word: Word) -> Option<u64> {
    if !word.is(0x7f80_0000, 0x1100_0000) {
        return None;
    }
    // `mov` to or from the stack pointer is another instruction to it.
    let is_move = word.bits(10, 13) == 0 && (word.number(0) == 31 || word.number(5) == 31);
    (!is_move).then_some(word.bits(10, 12).into())
}

/// Base register and offset of an `ldr`, whichever way it is indexed.
pub(super) fn loaded_from(word: Word) -> Option<(u8, u64)> {
    // Of words and more, of vector registers, with an offset that is added to
    // the base for this access or for good.
    let is_vector = word.bit(26);
    let is_load = word.bit(22) && (is_vector || word.is(0x8080_0000, 0x8000_0000));
    let is_indexed = word.is(0x3b00_0000, 0x3900_0000) || word.is(0x3b20_0400, 0x3800_0400);
    let (offset, _) = indexing(word);
    (is_load && is_indexed).then_some((register(word.number(5))?, offset))
}
