//! Loads and stores: the stack, the image, and what is known only as an address.

use super::Explorer;
use crate::{
    addr::VirtAddr,
    bytes::number,
    dataflow::{
        state::{Held, State},
        value::{Term, TermId, Value},
    },
    image::Relocation,
    report::Arch,
};

impl Explorer<'_, '_> {
    pub(super) fn load(&mut self, address: Value, size: u8, signed: bool, state: &State) -> Held {
        let step = self.step;
        let held = |value| Held { value, by: step };
        let address = self.terms.not_null(address);
        self.faulted |= address.is_null();
        let Some(region) = address.term() else { return Held::UNKNOWN };
        if let Some(address) = self.terms.as_address(address, self.image.is_fixed()) {
            return held(self.load_image(address, size, signed));
        }
        match self.terms.get(region) {
            None | Some(Term::Either(..)) => Held::UNKNOWN,
            Some(Term::Stack | Term::AlignedStack { .. }) => {
                let mut slot = state.stack_load(region, address.offset().cast_signed(), size);
                if signed && size < 8 {
                    let bits = u32::from(size).wrapping_mul(8);
                    slot.value = self.terms.sign_extend(slot.value, bits);
                }
                slot
            }
            Some(Term::ThreadPointer) if size == 8 && self.holds_thread_pointer(address) => {
                held(self.terms.value(Term::ThreadPointer))
            }
            Some(_) if self.mentions_stack(region) => Held::UNKNOWN,
            Some(_) => held(self.terms.value(Term::Contents { address, size, signed })),
        }
    }

    /// Whether the word at this thread-pointer-relative address is the thread
    /// pointer itself (x86-64 psABI: the word at `%fs:0`).
    fn holds_thread_pointer(&self, address: Value) -> bool {
        self.image.arch() == Arch::X86_64
            && (address.offset() == 0 || self.settings.glibc_self && address.offset() == 0x10)
    }

    /// Whether a store to this address may change the function's own stack: a
    /// sanitizer's shadow of the stack is no part of it.
    fn may_be_stack(&self, term: TermId) -> bool {
        match self.terms.get(term) {
            Some(Term::ShiftedRight { .. }) => false,
            Some(Term::Either(a, b)) => {
                [a, b].into_iter().filter_map(Value::term).any(|term| self.may_be_stack(term))
            }
            _ => self.mentions_stack(term),
        }
    }

    fn mentions_stack(&self, term: TermId) -> bool {
        match self.terms.get(term) {
            Some(Term::Stack | Term::AlignedStack { .. }) => true,
            Some(Term::Sum(first, rest)) => self.mentions_stack(first) || self.mentions_stack(rest),
            Some(Term::Scaled { term, .. }) => self.mentions_stack(term),
            Some(Term::Either(a, b)) => {
                [a, b].into_iter().filter_map(Value::term).any(|term| self.mentions_stack(term))
            }
            Some(Term::Masked { value, .. } | Term::ShiftedRight { value, .. }) => {
                value.term().is_some_and(|term| self.mentions_stack(term))
            }
            _ => false,
        }
    }

    /// What memory of the image holds once it is relocated.
    fn load_image(&mut self, address: VirtAddr, size: u8, signed: bool) -> Value {
        if size == 8
            && let Some(relocation) = self.image.relocation_at(address)
        {
            return self.relocated(address, relocation);
        }
        let bytes = self.image.bytes(address, size.into());
        match bytes {
            Some(bytes) if self.image.is_constant(address) => {
                let value = Value::number(number(bytes));
                if signed {
                    self.terms.sign_extend(value, u32::from(size).wrapping_mul(8))
                } else {
                    value
                }
            }
            _ => {
                let address = self.address_value(address);
                self.terms.value(Term::Contents { address, size, signed })
            }
        }
    }

    fn relocated(&mut self, address: VirtAddr, relocation: Relocation) -> Value {
        match relocation {
            Relocation::Relative { address } => self.address_value(address),
            Relocation::Symbolic { symbol, addend, .. } => {
                let distance = addend.cast_unsigned();
                match self.image.dynamic_symbol_at(symbol) {
                    Some(known) if known.defined => {
                        self.address_value(known.address).plus(distance)
                    }
                    Some(_) => self.terms.value(Term::Symbol(symbol)).plus(distance),
                    None => Value::UNKNOWN,
                }
            }
            Relocation::TpOffset { module_offset: Some(offset), .. } => {
                self.tp_offset(address, offset, false)
            }
            Relocation::TlsDescriptor { .. } => {
                self.terms.value(Term::DescriptorResolver { slot: address })
            }
            _ => Value::UNKNOWN,
        }
    }

    pub(super) fn store(&mut self, address: Value, held: Held, size: u64, state: &mut State) {
        let address = self.terms.not_null(address);
        self.faulted |= address.is_null();
        self.effect(address, held.value);
        let Some(region) = address.term() else {
            state.forget_memory();
            return;
        };
        match self.terms.get(region) {
            Some(Term::Stack | Term::AlignedStack { .. }) => {
                let offset = address.offset().cast_signed();
                match u8::try_from(size) {
                    Ok(size) => state.stack_store(region, offset, size, held),
                    Err(_) => state.stack_forget(region, offset, size),
                }
            }
            _ if self.may_be_stack(region) => state.forget_memory(),
            _ => self.note_escape(held.value, state),
        }
    }

    /// A stack address has left the function's own registers and memory.
    pub(super) fn note_escape(&self, value: Value, state: &mut State) {
        let Some(term) = value.term() else { return };
        match self.terms.get(term) {
            Some(Term::Stack | Term::AlignedStack { .. }) => {
                state.escape(term, value.offset().cast_signed());
            }
            Some(_) if self.mentions_stack(term) => state.escape(term, i64::MIN),
            _ => {}
        }
    }
}
