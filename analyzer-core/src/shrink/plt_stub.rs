//! The code of a PLT stub.

use alloc::vec::Vec;

use crate::{addr::VirtAddr, report::Arch};

/// Machine code for the link-time address `stub` that jumps to where the word
/// at `slot` says, as PLTs do: on x86-64 `jmp *slot(%rip)`, on AArch64 `adrp
/// x16, slot; ldr x17, [x16, #lo]; add x16, x16, #lo; br x17`.
///
/// `None` where the slot is out of reach, or on AArch64 no multiple of 8.
#[must_use]
pub fn plt_stub(arch: Arch, stub: VirtAddr, slot: VirtAddr) -> Option<Vec<u8>> {
    match arch {
        Arch::X86_64 => {
            let distance = slot.0.wrapping_sub(stub.0.wrapping_add(6)).cast_signed();
            let distance = i32::try_from(distance).ok()?;
            Some([&[0xff, 0x25][..], &distance.to_le_bytes()].concat())
        }
        Arch::Aarch64 => {
            let pages = (slot.0 >> 12).wrapping_sub(stub.0 >> 12).cast_signed();
            let in_reach = (-0x10_0000..0x10_0000).contains(&pages) && slot.0.is_multiple_of(8);
            let pages = u32::try_from(pages & 0x1f_ffff).ok().filter(|_| in_reach)?;
            let low = u32::try_from(slot.0 & 0xfff).ok()?;
            let words: [u32; 4] = [
                0x9000_0010 | (pages & 3) << 29 | (pages >> 2) << 5,
                0xf940_0211 | (low >> 3) << 10,
                0x9100_0210 | low << 10,
                0xd61f_0220,
            ];
            Some(words.into_iter().flat_map(u32::to_le_bytes).collect())
        }
    }
}
