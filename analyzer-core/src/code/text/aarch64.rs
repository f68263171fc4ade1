//! AArch64 text: a table of encodings with templates, and what fills them.
//!
//! The table has the base instructions, the loads and stores of vector
//! registers, scalar floating point, and copies, logic and immediates of
//! vectors. Any other instruction, of vectors all, is printed as its bits and
//! what it is of: `.inst 0x4e080c00 ; vector`.

mod operand;
mod table;

use alloc::string::String;
use alloc::vec::Vec;

use super::{BAD, Names};
use crate::addr::VirtAddr;
use crate::code::aarch64::{address, decode, word::Word};
use operand::x_or_w;
use table::TABLE;

/// What is printed of instructions that are not in the table.
const OTHER: &str = ".inst %i ; vector";

pub(super) fn format(bytes: &[u8], address: VirtAddr, names: &dyn Names) -> String {
    let Ok(word) = decode(bytes) else {
        return BAD.into();
    };
    let mut printer = Printer { word, address, names, text: Vec::new() };
    let mut rows = TABLE.split('\n').filter_map(|row| row.split_once(' '));
    let found = rows.any(|(pattern, template)| {
        printer.text.clear();
        matches(pattern, word) && printer.expand(template.as_bytes()).is_some()
    });
    if !found {
        printer.text.clear();
        let _ = printer.expand(OTHER.as_bytes());
    }
    String::from_utf8(printer.text).unwrap_or_default()
}

/// Whether the word's highest bits are those of the pattern.
fn matches(pattern: &str, word: Word) -> bool {
    let mut rest = word.0;
    pattern.bytes().all(|wanted| {
        let bit = if rest >> 31 == 1 { b'1' } else { b'0' };
        rest <<= 1;
        wanted == b'.' || wanted == bit
    })
}

/// One instruction being printed.
struct Printer<'a> {
    word: Word,
    address: VirtAddr,
    names: &'a dyn Names,
    text: Vec<u8>,
}

impl Printer<'_> {
    /// Appends what a template (see [`table`]) says; `None` where it does not
    /// apply.
    fn expand(&mut self, mut template: &[u8]) -> Option<()> {
        // The letter registers are printed with, and whether 31 is the stack
        // pointer.
        let (mut letter, mut or_sp) = (None, false);
        while let [first, rest @ ..] = template {
            template = rest;
            match first {
                b'{' => {
                    let end = template.iter().position(|byte| *byte == b'}')?;
                    let (choice, rest) = template.split_at_checked(end)?;
                    let (bits, rest_of_choice) = self.field(choice)?;
                    let mut alternatives = rest_of_choice.get(1..)?.split(|byte| *byte == b',');
                    self.expand(alternatives.nth(bits as usize)?)?;
                    template = rest.get(1..)?;
                }
                b'?' => {
                    let (condition, rest) = template.split_first()?;
                    template = rest;
                    self.holds(*condition).then_some(())?;
                }
                b'#' if template.get(2) == Some(&b':') => {
                    let (bits, rest) = self.field(template)?;
                    template = rest;
                    self.immediate(bits.into());
                }
                b'%' if template.first().is_some_and(u8::is_ascii_digit) => {
                    let (bits, rest) = self.field(template)?;
                    template = rest;
                    self.decimal(bits);
                }
                b'%' => {
                    let (what, rest) = template.split_first()?;
                    template = rest;
                    self.operand(*what)?;
                }
                b'D' | b'N' | b'M' | b'A' => {
                    let at = match first {
                        b'D' => 0,
                        b'N' => 5,
                        b'M' => 16,
                        _ => 10,
                    };
                    let letter = letter.take().unwrap_or_else(|| x_or_w(self.word.bit(31)));
                    let mut number = self.word.number(at);
                    if let [b'\'', rest @ ..] = template {
                        template = rest;
                        number = number.wrapping_add(1);
                    }
                    self.register(letter, number, or_sp);
                    or_sp = false;
                }
                b'S' => or_sp = true,
                b'A'..=b'Z' => letter = Some(self.letter(*first)),
                b',' => self.push(b", "),
                literal => self.text.push(*literal),
            }
        }
        Some(())
    }

    /// The bits that `AT:LEN`, two digits each, at the start of the template
    /// means, and the rest of the template.
    fn field<'t>(&self, template: &'t [u8]) -> Option<(u32, &'t [u8])> {
        let [a, b, _, c, d, rest @ ..] = template else { return None };
        let number = |tens: &u8, ones: &u8| {
            let digit = |byte: &u8| u32::from(byte & 0xf);
            digit(tens).wrapping_mul(10).wrapping_add(digit(ones))
        };
        Some((self.word.bits(number(a, b), number(c, d)), rest))
    }

    /// The letter that a prefix of the table stands for.
    fn letter(&self, prefix: u8) -> u8 {
        let word = self.word;
        match prefix {
            b'X' => b'x',
            b'W' => b'w',
            b'V' => b'v',
            b'Q' => x_or_w(word.bit(30)),
            b'B' => x_or_w(word.bits(30, 2) == 3),
            b'R' => x_or_w(word.bits(30, 2) == 3 || word.bits(22, 2) == 2),
            b'C' => x_or_w(word.bits(16, 4) == 8),
            b'F' => self.pick(b"sd h", word.bits(22, 2)),
            b'L' => self.pick(b"bhsdq", address::scale(word)),
            b'P' => self.pick(b"  sdq", address::pair_scale(word)),
            b'E' => self.pick(b"bhsd", operand::element_scale(word)),
            _ => b' ',
        }
    }

    fn push(&mut self, text: &[u8]) {
        self.text.extend_from_slice(text);
    }
}
