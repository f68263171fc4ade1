//! Abstract values: a *term* plus a 64-bit constant, or unknown.
//!
//! Terms are interned in a [`Terms`] arena, so that a [`Value`] is small, is
//! copied freely and is compared by identity.

use alloc::vec::Vec;

use crate::{addr::VirtAddr, code::ir::Reg, ordered::sort_few};

/// Index of a [`Term`] in its [`Terms`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TermId(u16);

impl TermId {
    /// The empty term: the value is a plain number.
    pub const NUMBER: TermId = TermId(0);
    const UNKNOWN: TermId = TermId(u16::MAX);
}

/// What a register or a memory word holds, as far as the code tells.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Value {
    term: TermId,
    offset: u64,
}

impl Value {
    /// Nothing is known.
    pub const UNKNOWN: Value = Value { term: TermId::UNKNOWN, offset: 0 };

    fn made(term: TermId, offset: u64) -> Self {
        if term == TermId::UNKNOWN { Self::UNKNOWN } else { Self { term, offset } }
    }

    /// A plain number.
    #[must_use]
    pub const fn number(number: u64) -> Self {
        Self { term: TermId::NUMBER, offset: number }
    }

    /// Whether anything is known.
    #[must_use]
    pub fn is_known(self) -> bool {
        self.term != TermId::UNKNOWN
    }

    /// The number, if the value is a plain one.
    #[must_use]
    pub fn as_number(self) -> Option<u64> {
        (self.term == TermId::NUMBER).then_some(self.offset)
    }

    /// Whether an access to this address ends the program: the first page is
    /// never mapped (Linux, `vm.mmap_min_addr`).
    #[must_use]
    pub(super) fn is_null(self) -> bool {
        const PAGE: u64 = 4096;
        self.as_number().is_some_and(|number| number < PAGE)
    }

    /// The term; [`TermId::NUMBER`] for a plain number.
    ///
    /// Returns `None` for an unknown value.
    #[must_use]
    pub fn term(self) -> Option<TermId> {
        self.is_known().then_some(self.term)
    }

    /// The constant that is added to the term, modulo 2⁶⁴.
    #[must_use]
    pub fn offset(self) -> u64 {
        self.offset
    }

    /// The value `distance` further, modulo 2⁶⁴.
    #[must_use]
    pub fn plus(self, distance: u64) -> Self {
        if self.is_known() {
            Self { offset: self.offset.wrapping_add(distance), ..self }
        } else {
            self
        }
    }
}

/// The symbolic part of a [`Value`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Term {
    /// The load base of the image: with an offset, a link-time address.
    Image,
    /// The address of a symbol that another image defines (index in `.dynsym`).
    Symbol(u32),
    /// A register's content on entry to the function the exploration started in.
    Entry(Reg),
    /// The stack pointer on entry to that function.
    Stack,
    /// A stack pointer that was aligned down; its own region of memory.
    AlignedStack {
        /// The value that was aligned.
        from: Value,
        /// The mask.
        mask: u64,
    },
    /// The thread pointer (`fs` base, `tpidr_el0`).
    ThreadPointer,
    /// What memory at `address` holds.
    Contents {
        /// Where.
        address: Value,
        /// Bytes.
        size: u8,
        /// Sign-extended to 64 bits.
        signed: bool,
    },
    /// A thread-pointer offset that the dynamic linker computes: the word an
    /// initial-exec relocation fills, or what a TLS descriptor call returns.
    TpOffset {
        /// Link-time address of the GOT word or descriptor.
        slot: VirtAddr,
        /// Offset in the module's TLS block it stands for.
        module_offset: u64,
        /// A descriptor.
        descriptor: bool,
    },
    /// The first word of a TLS descriptor: the address of its resolver.
    DescriptorResolver {
        /// Link-time address of the descriptor.
        slot: VirtAddr,
    },
    /// What `__tls_get_addr` returns for the pair of GOT words at `slot`,
    /// minus the offset its second word holds, which is in the value's offset.
    TlsBlock {
        /// Link-time address of the first word of the pair.
        slot: VirtAddr,
        /// The offset the second word holds.
        start: u64,
        /// The code was padded as the general-dynamic sequence is.
        padded: bool,
    },
    /// What a call returned that was not followed.
    CallResult {
        /// Link-time address of the call instruction.
        site: VirtAddr,
    },
    /// A term times a constant.
    Scaled {
        /// The term.
        term: TermId,
        /// The factor.
        factor: u64,
    },
    /// A value shifted right, zeros coming in.
    ShiftedRight {
        /// The value.
        value: Value,
        /// Bits.
        by: u8,
    },
    /// A value with some bits cleared.
    Masked {
        /// The value.
        value: Value,
        /// Bits kept.
        mask: u64,
    },
    /// The sum of two terms.
    Sum(TermId, TermId),
    /// One of two values, depending on the path taken.
    Either(Value, Value),
}

// Terms that every exploration begins with have fixed ids and are not kept in
// the arena.
const IMAGE: u16 = 1;
const STACK: u16 = 2;
const THREAD_POINTER: u16 = 3;
const FIRST_ENTRY: u16 = 4;
const FIRST_INTERNED: u16 = FIRST_ENTRY + Reg::TEMP0.0 as u16;

/// The arena of terms of one exploration.
#[derive(Debug, Default)]
pub struct Terms {
    terms: Vec<Term>,
}

impl Terms {
    /// Most terms that are kept; beyond it, values become unknown.
    const LIMIT: usize = 2048;

    /// The value `term + 0`.
    pub fn value(&mut self, term: Term) -> Value {
        Value { term: self.intern(term), offset: 0 }
    }

    /// The link-time address `address`, as it moves with the image.
    pub fn image(&mut self, address: VirtAddr) -> Value {
        self.value(Term::Image).plus(address.0)
    }

    /// The term behind `id`; `None` for the number and the unknown.
    #[must_use]
    pub fn get(&self, id: TermId) -> Option<Term> {
        match id.0 {
            0 => None,
            number @ 1..FIRST_INTERNED => Some(match number {
                IMAGE => Term::Image,
                STACK => Term::Stack,
                THREAD_POINTER => Term::ThreadPointer,
                _ => Term::Entry(Reg(u8::try_from(number - FIRST_ENTRY).unwrap_or(u8::MAX))),
            }),
            number => self.terms.get(usize::from(number - FIRST_INTERNED)).copied(),
        }
    }

    /// The term of `value`; `None` for a number or an unknown value.
    #[must_use]
    pub fn of(&self, value: Value) -> Option<Term> {
        self.get(value.term)
    }

    /// The value `id + 0`.
    #[must_use]
    pub fn plain(&self, id: TermId) -> Value {
        Value::made(id, 0)
    }

    fn intern(&mut self, term: Term) -> TermId {
        match term {
            Term::Image => return TermId(IMAGE),
            Term::Stack => return TermId(STACK),
            Term::ThreadPointer => return TermId(THREAD_POINTER),
            Term::Entry(reg) if reg < Reg::TEMP0 => {
                return TermId(FIRST_ENTRY + u16::from(reg.0));
            }
            _ => {}
        }
        if let Some(at) = self.terms.iter().position(|known| *known == term) {
            return Self::interned(at);
        }
        if self.terms.len() >= Self::LIMIT {
            return TermId::UNKNOWN;
        }
        self.terms.push(term);
        Self::interned(self.terms.len() - 1)
    }

    /// The id of the term at index `at`, which [`Self::LIMIT`] keeps small.
    fn interned(at: usize) -> TermId {
        u16::try_from(at).map_or(TermId::UNKNOWN, |at| TermId(FIRST_INTERNED + at))
    }

    fn with_offset(&mut self, term: Term, offset: u64) -> Value {
        self.value(term).plus(offset)
    }

    /// `left + right`, modulo 2⁶⁴.
    pub fn add(&mut self, left: Value, right: Value) -> Value {
        if !left.is_known() || !right.is_known() {
            return Value::UNKNOWN;
        }
        let offset = left.offset.wrapping_add(right.offset);
        match (left.term, right.term) {
            (term, TermId::NUMBER) | (TermId::NUMBER, term) => Value { term, offset },
            (a, b) => {
                if self.is_either(left) || self.is_either(right) {
                    return Value::UNKNOWN;
                }
                let (mut parts, count) = self.parts(a);
                let (more, extra) = self.parts(b);
                let Some(total) = count.checked_add(extra).filter(|total| *total <= parts.len())
                else {
                    return Value::UNKNOWN;
                };
                for (to, from) in parts.iter_mut().skip(count).zip(more.iter().take(extra)) {
                    *to = *from;
                }
                let Some(parts) = parts.get_mut(..total) else { return Value::UNKNOWN };
                sort_few(parts);
                Value::made(self.sum_of(parts), offset)
            }
        }
    }

    /// `left - right`, modulo 2⁶⁴.
    pub fn sub(&mut self, left: Value, right: Value) -> Value {
        if !left.is_known() || !right.is_known() {
            return Value::UNKNOWN;
        }
        let offset = left.offset.wrapping_sub(right.offset);
        if right.term == TermId::NUMBER {
            return Value { term: left.term, offset };
        }
        if left.term == right.term && !self.is_either(left) {
            return Value::number(offset);
        }
        let (parts, count) = self.parts(left.term);
        let parts = parts.get(..count).unwrap_or_default();
        match parts.iter().position(|part| *part == right.term) {
            Some(at) => {
                let mut rest = Vec::from(parts);
                rest.remove(at);
                Value::made(self.sum_of(&rest), offset)
            }
            None => Value::UNKNOWN,
        }
    }

    /// The summands of `term`, at most four, and their number.
    fn parts(&self, term: TermId) -> ([TermId; 4], usize) {
        let mut parts = [TermId::NUMBER; 4];
        let mut count = 0;
        let mut rest = term;
        for part in &mut parts {
            count = usize::wrapping_add(count, 1);
            match self.get(rest) {
                Some(Term::Sum(first, second)) => {
                    *part = first;
                    rest = second;
                }
                _ => {
                    *part = rest;
                    break;
                }
            }
        }
        (parts, count)
    }

    fn sum_of(&mut self, parts: &[TermId]) -> TermId {
        match parts {
            [] => TermId::NUMBER,
            [one] => *one,
            [first, rest @ ..] => {
                let rest = self.sum_of(rest);
                if rest == TermId::UNKNOWN {
                    return rest;
                }
                self.intern(Term::Sum(*first, rest))
            }
        }
    }

    fn is_either(&self, value: Value) -> bool {
        matches!(self.of(value), Some(Term::Either(..)))
    }

    /// `value * factor`, modulo 2⁶⁴.
    pub fn scale(&mut self, value: Value, factor: u64) -> Value {
        if !value.is_known() {
            return value;
        }
        let offset = value.offset.wrapping_mul(factor);
        match (value.term, factor) {
            (_, 0) => Value::number(0),
            (_, 1) => value,
            (TermId::NUMBER, _) => Value::number(offset),
            (term, _) => match self.get(term) {
                Some(Term::Scaled { term, factor: before }) => self.with_offset(
                    Term::Scaled { term, factor: before.wrapping_mul(factor) },
                    offset,
                ),
                Some(Term::Sum(..) | Term::Either(..)) => Value::UNKNOWN,
                _ => self.with_offset(Term::Scaled { term, factor }, offset),
            },
        }
    }

    /// `value >> by`, zeros coming in.
    pub fn shift_right(&mut self, value: Value, by: u8) -> Value {
        match value.as_number() {
            _ if by == 0 || !value.is_known() => value,
            Some(number) => Value::number(number.checked_shr(by.into()).unwrap_or(0)),
            None => self.value(Term::ShiftedRight { value, by }),
        }
    }

    /// `value & mask`.
    pub fn mask(&mut self, value: Value, mask: u64) -> Value {
        if let Some(number) = value.as_number() {
            return Value::number(number & mask);
        }
        match self.of(value) {
            None => Value::UNKNOWN,
            Some(_) if mask == u64::MAX => value,
            Some(_) if mask == 0 => Value::number(0),
            Some(Term::Contents { size, signed: false, .. })
                if value.offset == 0 && size < 8 && mask & low_bits(size) == low_bits(size) =>
            {
                value
            }
            Some(Term::Masked { value: inner, mask: before }) if value.offset == 0 => {
                self.mask(inner, before & mask)
            }
            Some(Term::Stack | Term::AlignedStack { .. }) if mask > u64::from(u32::MAX) => {
                self.value(Term::AlignedStack { from: value, mask })
            }
            Some(Term::Either(..)) => Value::UNKNOWN,
            Some(_) => self.value(Term::Masked { value, mask }),
        }
    }

    /// The low `bits` bits of `value`, sign-extended to 64.
    pub fn sign_extend(&mut self, value: Value, bits: u32) -> Value {
        if bits >= 64 {
            return value;
        }
        if let Some(number) = value.as_number() {
            let shift = 64_u32.wrapping_sub(bits);
            let high = number.wrapping_shl(shift).cast_signed();
            return Value::number(high.wrapping_shr(shift).cast_unsigned());
        }
        match self.of(value) {
            Some(Term::Contents { address, size, .. })
                if value.offset == 0 && u32::from(size).wrapping_mul(8) == bits =>
            {
                self.value(Term::Contents { address, size, signed: true })
            }
            _ => Value::UNKNOWN,
        }
    }

    /// The least value that covers both: themselves if equal, [`Term::Either`]
    /// for two alternatives, unknown beyond.
    pub fn join(&mut self, left: Value, right: Value) -> Value {
        if left == right {
            return left;
        }
        if !left.is_known() || !right.is_known() {
            return Value::UNKNOWN;
        }
        match (self.of(left), self.of(right)) {
            (Some(Term::Either(..)), _) if self.alternatives(left).any(|of| of == right) => left,
            (_, Some(Term::Either(..))) if self.alternatives(right).any(|of| of == left) => right,
            (Some(Term::Either(..)), _) | (_, Some(Term::Either(..))) => Value::UNKNOWN,
            _ => self.value(Term::Either(left, right)),
        }
    }

    /// The alternatives `value` stands for: two for a [`Term::Either`], else itself.
    pub fn alternatives(&self, value: Value) -> impl Iterator<Item = Value> {
        let (first, second) = match self.of(value) {
            Some(Term::Either(a, b)) => (a.plus(value.offset), Some(b.plus(value.offset))),
            _ => (value, None),
        };
        core::iter::once(first).chain(second)
    }

    /// The address meant where an access may be through a null pointer, or
    /// through one that is not: the first would end the program.
    #[must_use]
    pub(super) fn not_null(&self, address: Value) -> Value {
        let mut valid = self.alternatives(address).filter(|value| !value.is_null());
        match (valid.next(), valid.next()) {
            (Some(only), None) => only,
            _ => address,
        }
    }

    /// The link-time address `value` is, if it is one: an address that moves
    /// with the image, or where the image is `fixed` a plain number.
    #[must_use]
    pub fn as_address(&self, value: Value, fixed: bool) -> Option<VirtAddr> {
        match self.of(value) {
            Some(Term::Image) => Some(VirtAddr(value.offset)),
            None if fixed => value.as_number().map(VirtAddr),
            _ => None,
        }
    }
}

/// The mask of the low `size` bytes.
#[must_use]
pub(crate) const fn low_bits(size: u8) -> u64 {
    if size >= 8 { u64::MAX } else { (1_u64 << (size * 8)) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_canonical() {
        let mut terms = Terms::default();
        let tp = terms.value(Term::ThreadPointer);
        let a = terms.value(Term::Entry(Reg(7)));
        let b = terms.value(Term::Entry(Reg(6)));
        let left = terms.add(tp, a);
        let left = terms.add(left, b.plus(3));
        let right = terms.add(b, tp);
        let right = terms.add(a.plus(3), right);
        assert_eq!(left, right);
        assert_eq!(terms.sub(left, tp), terms.add(a, b).plus(3));
        assert_eq!(terms.sub(left, left), Value::number(0));
    }

    #[test]
    fn five_summands_are_given_up() {
        let mut terms = Terms::default();
        let mut sum = Value::number(0);
        for reg in 0..4 {
            let entry = terms.value(Term::Entry(Reg(reg)));
            sum = terms.add(sum, entry);
            assert!(sum.is_known());
        }
        let fifth = terms.value(Term::Entry(Reg(9)));
        assert!(!terms.add(sum, fifth).is_known());
    }

    #[test]
    fn joins_climb_to_unknown() {
        let mut terms = Terms::default();
        let (a, b, c) = (Value::number(0), Value::number(8), Value::number(16));
        let either = terms.join(a, b);
        assert!(terms.alternatives(either).eq([a, b]));
        assert_eq!(terms.join(either, b), either);
        assert_eq!(terms.join(a, either), either);
        assert_eq!(terms.join(either, c), Value::UNKNOWN);
    }

    #[test]
    fn a_four_byte_load_is_its_own_low_half() {
        let mut terms = Terms::default();
        let address = terms.image(VirtAddr(0x1000));
        let word = terms.value(Term::Contents { address, size: 4, signed: false });
        assert_eq!(terms.mask(word, 0xffff_ffff), word);
        assert_ne!(terms.mask(word.plus(1), 0xffff_ffff), word.plus(1));
        assert_eq!(
            terms.sign_extend(Value::number(0xffff_fffe), 32).as_number(),
            Some(u64::MAX - 1)
        );
    }
}
