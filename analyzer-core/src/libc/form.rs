//! What an abstract value is when the arguments of the function have given
//! values.

use alloc::boxed::Box;

use crate::{
    code::ir::Reg,
    dataflow::{Term, Terms, Value, low_bits},
};

/// Memory read through memory read through …: deeper is not followed.
const DEEPEST: u8 = 16;

/// A base and a number of bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Form {
    pub(super) base: Base,
    pub(super) offset: u64,
}

/// What the bytes are counted from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Base {
    /// Nothing: the form is a plain number.
    Number,
    /// The thread pointer.
    ThreadPointer,
    /// The 64-bit word at an address.
    Word(Box<Form>),
}

impl Form {
    fn number(number: u64) -> Self {
        Self { base: Base::Number, offset: number }
    }

    fn as_number(&self) -> Option<u64> {
        (self.base == Base::Number).then_some(self.offset)
    }

    /// The address whose word this is, if it is just that.
    pub(super) fn loaded_from(&self) -> Option<&Form> {
        match &self.base {
            Base::Word(address) if self.offset == 0 => Some(address),
            _ => None,
        }
    }

    /// Bytes from the thread pointer, if it is an address so given.
    pub(super) fn thread_pointer_offset(&self) -> Option<u64> {
        (self.base == Base::ThreadPointer).then_some(self.offset)
    }

    /// An address as a thread-pointer-relative word's content plus bytes.
    pub(super) fn word_and_offset(&self) -> Option<(u64, u64)> {
        match &self.base {
            Base::Word(address) => Some((address.thread_pointer_offset()?, self.offset)),
            _ => None,
        }
    }
}

/// What is known of the function's arguments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arguments<'a> {
    /// Register of the first argument.
    pub(super) register: Reg,
    /// What it holds.
    pub(super) value: u64,
    /// Words in memory, by address.
    pub(super) memory: &'a [(u64, u64)],
}

/// What `value` is for these arguments; `None` when it is unknown or of a
/// form that is not followed.
pub(super) fn form(value: Value, terms: &Terms, arguments: &Arguments<'_>) -> Option<Form> {
    form_of(value, terms, arguments, DEEPEST)
}

fn form_of(value: Value, terms: &Terms, arguments: &Arguments<'_>, depth: u8) -> Option<Form> {
    let depth = depth.checked_sub(1)?;
    let term = match value.as_number() {
        Some(number) => return Some(Form::number(number)),
        None => terms.of(value)?,
    };
    let number = |value| form_of(value, terms, arguments, depth)?.as_number();
    let of_term = |id| form_of(terms.plain(id), terms, arguments, depth);
    let mut form = match term {
        Term::ThreadPointer => Form { base: Base::ThreadPointer, offset: 0 },
        Term::Entry(register) if register == arguments.register => Form::number(arguments.value),
        Term::Contents { address, size, signed } => {
            let address = form_of(address, terms, arguments, depth)?;
            match address.as_number() {
                Some(at) => {
                    let (_, word) = arguments.memory.iter().find(|(known, _)| *known == at)?;
                    let low = word & low_bits(size);
                    (!signed || size == 8 || low == *word).then(|| Form::number(low))?
                }
                None if size == 8 => Form { base: Base::Word(Box::new(address)), offset: 0 },
                None => return None,
            }
        }
        Term::Scaled { term, factor } => {
            Form::number(of_term(term)?.as_number()?.wrapping_mul(factor))
        }
        Term::ShiftedRight { value, by } => Form::number(number(value)?.checked_shr(by.into())?),
        Term::Masked { value, mask } => Form::number(number(value)? & mask),
        Term::Sum(first, second) => {
            let (first, second) = (of_term(first)?, of_term(second)?);
            let offset = first.offset.wrapping_add(second.offset);
            let ((base, Base::Number) | (Base::Number, base)) = (first.base, second.base) else {
                return None;
            };
            Form { base, offset }
        }
        _ => return None,
    };
    form.offset = form.offset.wrapping_add(value.offset());
    Some(form)
}
