//! Addresses of loads and stores (Arm ARM, DDI 0487, C4.1.94, C1.3.3).

use super::operand::numbered;
use super::word::Word;
use crate::code::ir::{Address, BinaryOp, Index, Lifted, Op, Operand, Reg, Width};

/// When the offset is added to the base register.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// For this access only.
    Offset,
    /// After it, for good.
    PostIndexed,
    /// Before it, for good.
    PreIndexed,
}

impl Mode {
    const fn of(bits: u32) -> Self {
        match bits {
            1 => Self::PostIndexed,
            3 => Self::PreIndexed,
            _ => Self::Offset,
        }
    }
}

/// Binary logarithm of the bytes that a single load or store moves.
pub(crate) const fn scale(word: Word) -> u32 {
    word.bits(30, 2) | if word.bit(26) { word.bits(23, 1) << 2 } else { 0 }
}

/// Binary logarithm of the bytes of each register of a pair.
pub(crate) const fn pair_scale(word: Word) -> u32 {
    let opc = word.bits(30, 2);
    2u32.wrapping_add(if word.bit(26) { opc } else { opc >> 1 })
}

/// The constant offset from the base register, and what becomes of it.
pub(crate) const fn indexing(word: Word) -> (u64, Mode) {
    match word.bits(28, 2) {
        // Vector structures add a register, or how much they move.
        0b00 => (0, Mode::of(word.bits(26, 1) & word.bits(23, 1))),
        0b01 if word.bit(21) => (word.signed(12, 9).wrapping_mul(16), Mode::of(word.bits(10, 2))),
        0b01 => (word.signed(12, 9), Mode::Offset),
        0b10 => (word.signed(15, 7).wrapping_shl(pair_scale(word)), Mode::of(word.bits(23, 2))),
        _ if word.bit(24) => ((word.bits(10, 12) as u64).wrapping_shl(scale(word)), Mode::Offset),
        _ if !word.bit(21) => (word.signed(12, 9), Mode::of(word.bits(10, 2))),
        // `ldraa`, `ldrab`.
        _ if word.bit(10) => {
            let offset = word.signed(22, 1).wrapping_shl(9) | word.bits(12, 9) as u64;
            let mode = if word.bit(11) { Mode::PreIndexed } else { Mode::Offset };
            (offset.wrapping_mul(8), mode)
        }
        _ => (0, Mode::Offset),
    }
}

/// An address and what happens to its base register afterwards.
#[derive(Clone, Copy)]
pub(super) struct Access {
    pub(super) address: Address,
    /// The base register and the bytes added to it.
    pub(super) writeback: Option<(Reg, u64)>,
}

impl Access {
    /// At the base register and a constant.
    pub(super) const fn of(word: Word) -> Self {
        let base = word.register_or_sp(5);
        let (offset, mode) = indexing(word);
        let (displacement, writeback) = match mode {
            Mode::Offset => (offset, None),
            Mode::PostIndexed => (0, Some((base, offset))),
            Mode::PreIndexed => (offset, Some((base, offset))),
        };
        Self { address: Address::offset(Operand::Reg(base), displacement), writeback }
    }

    /// At the base register and another one; `None` for reserved extensions.
    pub(super) fn indexed(word: Word) -> Option<Self> {
        let mut access = Self::of(word);
        let (width, signed) = match word.bits(13, 3) {
            0b010 => (Width::W32, false),
            0b110 => (Width::W32, true),
            0b011 | 0b111 => (Width::W64, false),
            _ => return None,
        };
        let shift = if word.bit(12) { scale(word) as u8 } else { 0 };
        // The zero register as index adds nothing.
        access.address.index =
            numbered(word.number(16)).map(|reg| Index { reg, width, signed, shift });
        Some(access)
    }

    /// `bytes` further.
    pub(super) fn after(mut self, bytes: u8) -> Self {
        self.address.displacement = self.address.displacement.wrapping_add(u64::from(bytes));
        self
    }

    /// Whether the instruction changes `reg`, too.
    pub(super) fn writes_back_to(&self, reg: Option<Reg>) -> bool {
        self.writeback.is_some_and(|(base, _)| Some(base) == reg)
    }

    pub(super) fn write_back(&self, out: &mut Lifted) {
        if let Some((dst, bytes)) = self.writeback {
            out.ops.push(Op::Binary {
                op: BinaryOp::Add,
                dst,
                left: Operand::Reg(dst),
                right: Operand::Const(bytes),
                width: Width::W64,
            });
        }
    }
}
