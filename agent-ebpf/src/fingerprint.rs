//! A fingerprint that tells a code object from another that later has its address.

/// Mixes the words that identify a code object into 32 bits.
///
/// The arguments are the members of `PyCodeObject`: the addresses of its file
/// name, of its (qualified) name and of its line table, and its first line. A
/// code object that is freed and replaced at the same address differs in at
/// least one of them unless it is the same function loaded again.
#[inline(always)]
#[must_use]
pub const fn code(file: u64, name: u64, lines: u64, first_line: u32) -> u32 {
    let mut word = file;
    word = word.wrapping_mul(MULTIPLIER) ^ name.rotate_left(21);
    word = word.wrapping_mul(MULTIPLIER) ^ lines.rotate_left(42);
    word = word.wrapping_mul(MULTIPLIER) ^ first_line as u64;
    fold(word)
}

/// Mixes the address of a type's name into 32 bits.
#[inline(always)]
#[must_use]
pub const fn class(name: u64) -> u32 {
    fold(name ^ 0x636c_6173_7300)
}

/// The key under which each CPU remembers that it copied an object: its
/// process, its address, its fingerprint. Never zero.
#[inline(always)]
#[must_use]
pub const fn seen(incarnation: u64, address: u64, print: u32) -> u64 {
    let word = (address ^ incarnation.rotate_left(32)).wrapping_mul(MULTIPLIER) ^ print as u64;
    (word ^ (word >> 29)).wrapping_mul(MULTIPLIER) | 1
}

/// An odd number with well spread bits (2⁶⁴ divided by the golden ratio).
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

const fn fold(word: u64) -> u32 {
    (word.wrapping_mul(MULTIPLIER) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::{class, code, seen};

    #[test]
    fn every_member_matters() {
        let base = code(0x7f00_1000, 0x7f00_2000, 0x7f00_3000, 7);
        assert_ne!(base, code(0x7f00_1010, 0x7f00_2000, 0x7f00_3000, 7));
        assert_ne!(base, code(0x7f00_1000, 0x7f00_2010, 0x7f00_3000, 7));
        assert_ne!(base, code(0x7f00_1000, 0x7f00_2000, 0x7f00_3010, 7));
        assert_ne!(base, code(0x7f00_1000, 0x7f00_2000, 0x7f00_3000, 8));
        assert_ne!(class(0x1000), class(0x1010));
    }

    #[test]
    fn processes_do_not_share_entries() {
        assert_ne!(seen(1, 0x1000, 5), seen(2, 0x1000, 5));
        assert_ne!(seen(1, 0x1000, 5), 0);
    }
}
