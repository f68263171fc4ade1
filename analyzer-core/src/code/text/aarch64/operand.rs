//! The operands that are more than a register or a field of the encoding.

use alloc::{format, string::ToString};

use super::Printer;
use crate::code::aarch64::address::{Mode, indexing, scale};
use crate::code::aarch64::flow::TPIDR_EL0;
use crate::code::aarch64::word::{Word, bit_mask};

const CONDITIONS: &[u8; 32] = b"eqnehslomiplvsvchilsgeltgtlealnv";
const EXTENSIONS: &[u8; 32] = b"uxtbuxthuxtwuxtxsxtbsxthsxtwsxtx";
const SHIFTS: &[u8; 12] = b"lsllsrasrror";

pub(super) const fn x_or_w(is_64_bit: bool) -> u8 {
    if is_64_bit { b'x' } else { b'w' }
}

/// Binary logarithm of an element's size in bytes: the lowest bit of `imm5`.
pub(super) const fn element_scale(word: Word) -> u32 {
    word.bits(16, 4).trailing_zeros()
}

/// Part `index` of `all`, whose parts have `len` bytes.
fn part(all: &[u8], len: usize, index: u32) -> &[u8] {
    all.chunks(len).nth(index as usize).unwrap_or_default()
}

impl Printer<'_> {
    pub(super) fn pick(&self, letters: &[u8], index: u32) -> u8 {
        letters.get(index as usize).copied().unwrap_or(b'?')
    }

    /// Whether what `?` and this letter say holds.
    pub(super) fn holds(&self, condition: u8) -> bool {
        let word = self.word;
        let (immr, imms) = (word.bits(16, 6), word.bits(10, 6));
        let is_same_source = word.number(5) == word.number(16);
        match condition {
            b'=' => is_same_source,
            // An inverted condition that exists.
            b'c' => is_same_source && word.bits(13, 3) != 7,
            b'<' => imms < immr,
            b'+' => imms.wrapping_add(1) == immr,
            _ => false,
        }
    }

    /// Appends the operand that `%` and this letter mean.
    pub(super) fn operand(&mut self, what: u8) -> Option<()> {
        let word = self.word;
        let (immr, imms) = (word.bits(16, 6), word.bits(10, 6));
        let size = if word.bit(31) { 64u32 } else { 32 };
        match what {
            b'a' => self.shifted_by(b"lsl", word.bits(22, 1).wrapping_mul(12)),
            b'b' => self.immediate(bit_mask(word)?),
            b'B' => self.push(if word.bit(30) { b"16b" } else { b"8b" }),
            b'R' if word.bit(31) => self.push(b"32"),
            b'R' => {}
            b'T' => {
                let bytes = 8u32.wrapping_shl(word.bits(30, 1));
                self.decimal(bytes.wrapping_shr(element_scale(word)));
                self.text.push(self.letter(b'E'));
            }
            b'c' => self.push(part(CONDITIONS, 2, word.bits(12, 4))),
            b'd' => self.push(part(CONDITIONS, 2, word.bits(0, 4))),
            b'n' => self.push(part(CONDITIONS, 2, word.bits(12, 4) ^ 1)),
            b'e' => self.extended(),
            b'f' => self.immediate(64u32.wrapping_sub(imms).into()),
            b'g' => self.float(word.bits(13, 8)),
            b'h' => self.float(vector_immediate(word)),
            b'i' => self.hex(word.0.into()),
            b'j' => self.immediate(vector_immediate(word).into()),
            b'k' => self.immediate(spread(vector_immediate(word))),
            b'K' => self.shifted_by(b"lsl", word.bits(21, 2).wrapping_mul(16)),
            b'l' => self.immediate(size.wrapping_sub(immr).into()),
            b'L' => self.text.push(self.letter(b'E')),
            b'm' => self.memory(),
            b'o' => self.immediate((word.bits(31, 1) << 5 | word.bits(19, 5)).into()),
            b'p' => self.prefetch()?,
            b'P' => self.hex((word.bits(16, 3) << 3 | word.bits(5, 3)).into()),
            b'q' => self.immediate(imms.wrapping_add(1).into()),
            b'r' => self.immediate(imms.wrapping_sub(immr).wrapping_add(1).into()),
            b's' => {
                let (name, amount) = (part(SHIFTS, 3, word.bits(22, 2)), imms);
                if name == b"lsl" || amount != 0 {
                    self.shifted_by(name, amount);
                } else {
                    self.push(b", ");
                    self.push(name);
                }
            }
            b't' => self.target(),
            b'u' => self.wide(),
            b'v' => self.shifted_by(b"lsl", word.bits(13, 2).wrapping_mul(8)),
            b'w' if word.bit(23) => self.text.push(b'w'),
            b'w' => {}
            b'x' => self.decimal(word.bits(17, 4).wrapping_shr(element_scale(word))),
            b'y' => match word.bits(5, 15) {
                0x4000 => self.push(b"midr_el1"),
                TPIDR_EL0 => self.push(b"tpidr_el0"),
                0x5f02 => self.push(b"cntvct_el0"),
                _ => self.expand(b"s{19:01 2,3}_%16:03_c%12:04_c%08:04_%05:03")?,
            },
            b'z' => self.decimal(word.bits(11, 4).wrapping_shr(element_scale(word))),
            _ => return None,
        }
        Some(())
    }

    pub(super) fn register(&mut self, letter: u8, number: u8, or_sp: bool) {
        match (letter, number, or_sp) {
            (b'x', 31, true) => self.push(b"sp"),
            (b'w', 31, true) => self.push(b"wsp"),
            (b'x' | b'w', 31, false) => self.push(&[letter, b'z', b'r']),
            _ => {
                if letter != b' ' {
                    self.text.push(letter);
                }
                self.decimal(number.into());
            }
        }
    }

    /// `, lsl #12`; nothing where nothing is shifted.
    fn shifted_by(&mut self, name: &[u8], amount: u32) {
        if amount != 0 {
            self.push(b", ");
            self.push(name);
            self.push(b" #");
            self.decimal(amount);
        }
    }

    /// The extended register of an addition.
    fn extended(&mut self) {
        let (option, amount, is_64_bit) =
            (self.word.bits(13, 3), self.word.bits(10, 3), self.word.bit(31));
        let letter = x_or_w(is_64_bit && option & 3 == 3);
        self.register(letter, self.word.number(16), false);
        // Extending what has the width of the sum is written as a shift.
        if option == 2 | u32::from(is_64_bit) {
            self.shifted_by(b"lsl", amount);
            return;
        }
        self.push(b", ");
        self.push(part(EXTENSIONS, 4, option));
        if amount != 0 {
            self.push(b" #");
            self.decimal(amount);
        }
    }

    fn memory(&mut self) {
        let word = self.word;
        self.text.push(b'[');
        self.register(b'x', word.number(5), true);
        if word.is(0x3b20_0c00, 0x3820_0800) {
            self.push(b", ");
            self.register(x_or_w(word.bit(13)), word.number(16), false);
            let amount = if word.bit(12) { scale(word) } else { 0 };
            match word.bits(13, 3) {
                3 => self.shifted_by(b"lsl", amount),
                option => {
                    self.push(b", ");
                    self.push(part(EXTENSIONS, 4, option));
                    if option != 2 || amount != 0 {
                        self.push(b" #");
                        self.decimal(amount);
                    }
                }
            }
            self.text.push(b']');
            return;
        }
        let (offset, mode) = indexing(word);
        if mode == Mode::PostIndexed {
            self.text.push(b']');
        }
        if offset != 0 || mode != Mode::Offset {
            self.push(b", #");
            if offset.cast_signed() < 0 {
                self.text.push(b'-');
            }
            self.hex(offset.cast_signed().unsigned_abs());
        }
        if mode != Mode::PostIndexed {
            self.text.push(b']');
        }
        if mode == Mode::PreIndexed {
            self.text.push(b'!');
        }
    }

    fn prefetch(&mut self) -> Option<()> {
        let word = self.word;
        if word.bits(3, 2) == 3 || word.bits(1, 2) == 3 {
            self.hex(word.bits(0, 5).into());
            return Some(());
        }
        self.expand(b"p{03:02 ld,li,st}l{01:02 1,2,3}{00:01 keep,strm}")
    }

    /// An address by the instruction's own, with the name of what is there:
    /// of code instead of it, of data behind it.
    fn target(&mut self) {
        let word = self.word;
        let target = word.target(self.address);
        let is_page = word.is(0x9f00_0000, 0x9000_0000);
        let name = if is_page { None } else { self.names.name_at(target) };
        let is_branch = word.bits(26, 3) == 0b101;
        match name {
            Some(name) if is_branch => self.push(name.as_bytes()),
            name => {
                self.push(target.to_string().as_bytes());
                if let Some(name) = name {
                    self.push(b" <");
                    self.push(name.as_bytes());
                    self.text.push(b'>');
                }
            }
        }
    }

    /// What `movz` and `movn` leave in the register.
    fn wide(&mut self) {
        let word = self.word;
        let shift = word.bits(21, 2).wrapping_mul(16);
        let bits = u64::from(word.bits(5, 16)).wrapping_shl(shift);
        let value = if word.bit(30) { bits } else { !bits };
        self.immediate(value & word.width().mask());
    }

    /// `#0x1f`.
    pub(super) fn immediate(&mut self, value: u64) {
        self.text.push(b'#');
        self.hex(value);
    }

    fn hex(&mut self, value: u64) {
        self.push(format!("{value:#x}").as_bytes());
    }

    pub(super) fn decimal(&mut self, value: u32) {
        self.push(value.to_string().as_bytes());
    }

    /// The number that an 8-bit floating-point immediate means
    /// (`VFPExpandImm`): a sign, an exponent from -3 to 4, and sixteenths.
    fn float(&mut self, immediate: u32) {
        let exponent = (immediate >> 4 & 7) ^ 4;
        // In units of 1/128.
        let value = (immediate & 0xf | 0x10).wrapping_shl(exponent);
        self.text.push(b'#');
        if immediate >> 7 == 1 {
            self.text.push(b'-');
        }
        self.decimal(value >> 7);
        self.text.push(b'.');
        let mut fraction = value;
        loop {
            fraction = (fraction & 0x7f).wrapping_mul(10);
            self.decimal(fraction >> 7);
            if fraction & 0x7f == 0 {
                break;
            }
        }
    }
}

/// The eight bits of a vector's immediate, `abc` and `defgh`.
const fn vector_immediate(word: Word) -> u32 {
    word.bits(16, 3) << 5 | word.bits(5, 5)
}

/// A byte for each bit.
fn spread(bits: u32) -> u64 {
    (0..8u32)
        .filter(|at| bits.wrapping_shr(*at) & 1 == 1)
        .fold(0, |all, at| all | 0xffu64.wrapping_shl(at.wrapping_mul(8)))
}
