//! Recognizing linker-made stubs by their bytes.
//!
//! Shapes, by the linker that writes them: GNU ld `elf_x86_64_*_plt_entry`
//! (binutils `bfd/elfxx-x86.c`, `elf64-x86-64.c`) and
//! `elfNN_aarch64_small_plt*_entry`, long-branch stubs (`elfnn-aarch64.c`);
//! lld `ELF/Arch/X86_64.cpp` (IBT and retpoline PLTs too), `AArch64.cpp`,
//! `Thunks.cpp`; gold `x86_64.cc`, `aarch64.cc`; mold `arch-x86-64.cc`,
//! `arch-arm64.cc`.

use crate::addr::VirtAddr;

/// Bytes of code a stub can take.
pub(super) const LONGEST: usize = 32;

/// What a stub does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stub {
    /// Jumps to the address held in this word.
    ThroughSlot(VirtAddr),
    /// Jumps to this address.
    To(VirtAddr),
}

/// The x86-64 stub that `code`, the bytes at `address`, starts with.
pub(super) fn x86_64(address: VirtAddr, code: &[u8]) -> Option<Stub> {
    const ENDBR64: &[u8] = &[0xf3, 0x0f, 0x1e, 0xfa];
    const MOV_R11D_IMM32: &[u8] = &[0x41, 0xbb];
    const BND: &[u8] = &[0xf2];
    const JMP_MEM: &[u8] = &[0xff, 0x25];
    const MOV_R11_MEM: &[u8] = &[0x4c, 0x8b, 0x1d];

    let mut rest = code.strip_prefix(ENDBR64).unwrap_or(code);
    if let Some(after) = rest.strip_prefix(MOV_R11D_IMM32) {
        rest = after.get(4..)?;
    }
    rest = rest.strip_prefix(BND).unwrap_or(rest);
    let rest = match rest.strip_prefix(JMP_MEM) {
        Some(rest) => rest,
        // A retpoline PLT loads the slot and calls or jumps to its thunk.
        None => {
            let rest = rest.strip_prefix(MOV_R11_MEM)?;
            matches!(rest.get(4), Some(0xe8 | 0xe9)).then_some(rest)?
        }
    };
    let displacement = i32::from_le_bytes(*rest.first_chunk()?);
    let next = code.len().checked_sub(rest.len())?.checked_add(4)?;
    let next = address.checked_add(next as u64)?;
    Some(Stub::ThroughSlot(VirtAddr(next.0.wrapping_add_signed(displacement.into()))))
}

/// The AArch64 stub that `code`, the bytes at `address`, starts with.
pub(super) fn aarch64(address: VirtAddr, code: &[u8]) -> Option<Stub> {
    const BTI_C: u32 = 0xd503_245f;
    const AUTIA1716: u32 = 0xd503_219f;

    let mut words = code.chunks_exact(4).filter_map(|word| word.first_chunk().copied());
    let mut pc = address.0;
    let mut next = || {
        let word = words.next().map(u32::from_le_bytes);
        let at = pc;
        pc = pc.wrapping_add(4);
        word.map(|word| (at, word))
    };
    let (mut at, mut word) = next()?;
    if word == BTI_C {
        (at, word) = next()?;
    }
    let base = word & 31;
    if let Some(literal) = ldr_literal(at, word) {
        return long_branch(address, code, literal, base, next);
    }
    let page = adrp(at, word)?;
    let (_, word) = next()?;
    if let Some(low) = add_immediate(word, base, base) {
        // A veneer: adrp, add, br.
        let (_, word) = next()?;
        return (word == br(base)).then_some(Stub::To(VirtAddr(page.wrapping_add(low))));
    }
    let (target, low) = ldr_unsigned(word, base)?;
    let slot = Stub::ThroughSlot(VirtAddr(page.wrapping_add(low)));
    // The slot's address is left in the base register for the lazy binder.
    let (_, mut word) = next()?;
    if add_immediate(word, base, base).is_some() {
        word = next()?.1;
    }
    if word == AUTIA1716 {
        word = next()?.1;
    }
    (word == br(target)).then_some(slot)
}

/// `ldr base, literal; br base` with an absolute literal, or
/// `ldr base, literal; adr other, .; add base, base, other; br base` with one
/// relative to the `adr`.
fn long_branch(
    start: VirtAddr,
    code: &[u8],
    literal: u64,
    base: u32,
    mut next: impl FnMut() -> Option<(u64, u32)>,
) -> Option<Stub> {
    let into = usize::try_from(literal.checked_sub(start.0)?).ok()?;
    let value = u64::from_le_bytes(*code.get(into..)?.first_chunk()?);
    let (at, word) = next()?;
    if word == br(base) {
        return Some(Stub::To(VirtAddr(value)));
    }
    let other = word & 31;
    let is_adr_here = word & 0xffff_ffe0 == 0x1000_0000;
    let (_, word) = next()?;
    let is_add = word == 0x8b00_0000 | other << 16 | base << 5 | base;
    let (_, word) = next()?;
    (is_adr_here && is_add && word == br(base))
        .then_some(Stub::To(VirtAddr(at.wrapping_add(value))))
}

/// `br x`: the word.
fn br(register: u32) -> u32 {
    0xd61f_0000 | register << 5
}

/// `adrp`: the page it computes.
fn adrp(at: u64, word: u32) -> Option<u64> {
    (word & 0x9f00_0000 == 0x9000_0000).then(|| {
        let pages = (word >> 5 & 0x7_ffff) << 2 | word >> 29 & 3;
        let signed = i64::from((pages << 11).cast_signed() >> 11);
        (at & !0xfff).wrapping_add_signed(signed << 12)
    })
}

/// `add to, from, #imm`: the immediate.
fn add_immediate(word: u32, to: u32, from: u32) -> Option<u64> {
    (word & 0xffc0_03ff == 0x9100_0000 | from << 5 | to)
        .then(|| u64::from(word >> 10 & 0xfff))
        .filter(|_| word & 31 == to)
}

/// `ldr to, [base, #imm]`: `to` and the offset in bytes.
fn ldr_unsigned(word: u32, base: u32) -> Option<(u32, u64)> {
    (word & 0xffc0_03e0 == 0xf940_0000 | base << 5)
        .then(|| (word & 31, u64::from(word >> 10 & 0xfff) * 8))
}

/// `ldr x, literal`: the literal's address.
fn ldr_literal(at: u64, word: u32) -> Option<u64> {
    (word & 0xff00_0000 == 0x5800_0000).then(|| {
        let words = i64::from(((word >> 5 & 0x7_ffff) << 13).cast_signed() >> 13);
        at.wrapping_add_signed(words * 4)
    })
}
