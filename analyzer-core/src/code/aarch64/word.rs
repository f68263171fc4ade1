//! An A64 instruction as its 32 bits, and the fields many encodings share.

use super::operand::{Gpr, numbered};
use crate::addr::VirtAddr;
use crate::code::ir::{Reg, Width};

/// Bytes of the page `adrp` computes with.
const PAGE: u64 = 4096;

/// One instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Word(pub(crate) u32);

impl Word {
    /// The `len` bits from bit `at` upwards.
    pub(crate) const fn bits(self, at: u32, len: u32) -> u32 {
        self.0.wrapping_shr(at) & !u32::MAX.wrapping_shl(len)
    }

    /// The same as a signed number, extended to 64 bits.
    pub(crate) const fn signed(self, at: u32, len: u32) -> u64 {
        let top = self.0.wrapping_shl(32u32.wrapping_sub(at).wrapping_sub(len));
        (top.cast_signed().wrapping_shr(32u32.wrapping_sub(len)) as i64).cast_unsigned()
    }

    /// Whether bit `at` is set.
    pub(crate) const fn bit(self, at: u32) -> bool {
        self.bits(at, 1) != 0
    }

    /// Whether the bits of `mask` are those of `value`.
    pub(crate) const fn is(self, mask: u32, value: u32) -> bool {
        self.0 & mask == value
    }

    /// Width by bit 31, `sf`.
    pub(crate) const fn width(self) -> Width {
        if self.bit(31) { Width::W64 } else { Width::W32 }
    }

    /// The register number at bit `at`.
    pub(crate) const fn number(self, at: u32) -> u8 {
        self.bits(at, 5) as u8
    }

    /// The register at bit `at`, where 31 is the zero register.
    pub(crate) fn register(self, at: u32) -> Option<Reg> {
        numbered(self.number(at))
    }

    /// The register at bit `at`, where 31 is the stack pointer.
    pub(crate) const fn register_or_sp(self, at: u32) -> Reg {
        Reg(self.number(at))
    }

    /// The register at bit `at` with its width, where 31 is the zero register.
    pub(super) fn gpr(self, at: u32, width: Width) -> Gpr {
        Gpr { reg: self.register(at), width }
    }

    /// The address that the instruction, which lies at `address`, computes
    /// from its own; for those that have one.
    pub(crate) const fn target(self, address: VirtAddr) -> VirtAddr {
        let word = self.signed(5, 19).wrapping_mul(4);
        let offset = match self.bits(24, 5) {
            // `adr`, `adrp`.
            0b1_0000 => {
                let offset = word | self.bits(29, 2) as u64;
                if self.bit(31) {
                    return VirtAddr(
                        (address.0 & !(PAGE - 1)).wrapping_add(offset.wrapping_mul(PAGE)),
                    );
                }
                offset
            }
            // Branches by 26 bits have their two topmost here.
            0b1_0100..=0b1_0111 if self.bits(29, 2) == 0 => self.signed(0, 26).wrapping_mul(4),
            // `tbz`, `tbnz`.
            0b1_0110 | 0b1_0111 => self.signed(5, 14).wrapping_mul(4),
            // `autiasppc`, `retaasppc`: backwards.
            0b1_0011 => return back(self, address),
            0b1_0101 if self.bits(29, 3) == 0b010 => return back(self, address),
            // `b.cond`, `cbz`, literals.
            _ => word,
        };
        VirtAddr(address.0.wrapping_add(offset))
    }
}

const fn back(word: Word, address: VirtAddr) -> VirtAddr {
    VirtAddr(address.0.wrapping_sub(word.bits(5, 16) as u64 * 4))
}

/// `DecodeBitMasks` (Arm ARM, J1): the immediate of a logical instruction,
/// `width` bits of it; `None` where the encoding is reserved.
pub(crate) fn bit_mask(word: Word) -> Option<u64> {
    let (ones, rotation) = (word.bits(10, 6), word.bits(16, 6));
    let length = (word.bits(22, 1) << 6 | !ones & 0x3f).checked_ilog2()?;
    let size = 1u32.checked_shl(length).filter(|size| *size > 1)?;
    let levels = size.wrapping_sub(1);
    if ones & levels == levels || size == 64 && word.width() == Width::W32 {
        return None;
    }
    let mut mask = !u64::MAX.wrapping_shl((ones & levels).wrapping_add(1));
    let mut filled = size;
    while filled < 64 {
        mask |= mask.wrapping_shl(filled);
        filled = filled.wrapping_mul(2);
    }
    Some(mask.rotate_right(rotation & levels) & word.width().mask())
}
