//! What is known at one point of the code: registers and stack slots.

use alloc::vec::Vec;

use super::value::{Term, TermId, Terms, Value};
use crate::code::ir::Reg;

/// Index of the trace step that last wrote a place; [`NO_STEP`] before any did.
pub(super) type StepId = u16;

/// No step of the trace.
pub(super) const NO_STEP: StepId = StepId::MAX;

/// A value together with the trace step that produced it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Held {
    pub(super) value: Value,
    pub(super) by: StepId,
}

impl Held {
    pub(super) const UNKNOWN: Held = Held { value: Value::UNKNOWN, by: NO_STEP };
}

/// One tracked piece of stack memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Slot {
    region: TermId,
    offset: i64,
    size: u8,
    held: Held,
}

impl Slot {
    fn overlaps(&self, region: TermId, offset: i64, size: u64) -> bool {
        self.region == region
            && i128::from(self.offset) < i128::from(offset) + i128::from(size)
            && i128::from(offset) < i128::from(self.offset) + i128::from(self.size)
    }
}

/// Registers and stack slots at one point.
///
/// Only memory of the function's own stack is tracked. A store through an
/// unknown pointer forgets all of it; a call forgets what lies at or above the
/// lowest stack address that has left the function.
#[derive(Clone, Debug)]
pub(super) struct State {
    regs: [Held; Reg::COUNT],
    slots: Vec<Slot>,
    escaped: Option<(TermId, i64)>,
}

impl State {
    /// Most slots that are tracked; beyond it, the oldest is forgotten.
    const SLOTS: usize = 64;

    /// Nothing known but the stack pointer.
    pub(super) fn at_entry(terms: &mut Terms, stack_pointer: Reg) -> Self {
        let mut state =
            Self { regs: [Held::UNKNOWN; Reg::COUNT], slots: Vec::new(), escaped: None };
        for (number, held) in (0..).zip(&mut state.regs) {
            let reg = Reg(number);
            if reg < Reg::TEMP0 {
                let term = if reg == stack_pointer { Term::Stack } else { Term::Entry(reg) };
                held.value = terms.value(term);
            }
        }
        state
    }

    pub(super) fn reg(&self, reg: Reg) -> Held {
        self.regs.get(usize::from(reg.0)).copied().unwrap_or(Held::UNKNOWN)
    }

    pub(super) fn set_reg(&mut self, reg: Reg, held: Held) {
        if let Some(place) = self.regs.get_mut(usize::from(reg.0)) {
            *place = held;
        }
    }

    /// What the `size` bytes of stack at `address` hold.
    pub(super) fn stack_load(&self, region: TermId, offset: i64, size: u8) -> Held {
        self.slots
            .iter()
            .find(|slot| slot.region == region && slot.offset == offset && slot.size == size)
            .map_or(Held::UNKNOWN, |slot| slot.held)
    }

    /// Forgets what `size` bytes of stack at `offset` held.
    pub(super) fn stack_forget(&mut self, region: TermId, offset: i64, size: u64) {
        self.slots.retain(|slot| !slot.overlaps(region, offset, size));
    }

    pub(super) fn stack_store(&mut self, region: TermId, offset: i64, size: u8, held: Held) {
        self.stack_forget(region, offset, size.into());
        if !held.value.is_known() {
            return;
        }
        if self.slots.len() >= Self::SLOTS {
            self.slots.remove(0);
        }
        self.slots.push(Slot { region, offset, size, held });
    }

    /// Any memory may have changed.
    pub(super) fn forget_memory(&mut self) {
        self.slots.clear();
    }

    /// The stack address may be known outside of the function from now on.
    pub(super) fn escape(&mut self, region: TermId, offset: i64) {
        self.escaped = match self.escaped {
            Some((known, lowest)) if known == region => Some((region, lowest.min(offset))),
            Some(_) => Some((region, i64::MIN)),
            None => Some((region, offset)),
        };
    }

    /// Memory that a callee can reach may have changed.
    pub(super) fn forget_escaped(&mut self) {
        if let Some((region, lowest)) = self.escaped {
            self.slots.retain(|slot| {
                slot.region == region && slot.offset.saturating_add(slot.size.into()) <= lowest
            });
        }
    }

    /// Joins `other` into this state; tells whether anything changed.
    pub(super) fn join(&mut self, other: &Self, terms: &mut Terms) -> bool {
        let mut changed = false;
        for (mine, theirs) in self.regs.iter_mut().zip(&other.regs) {
            let joined = terms.join(mine.value, theirs.value);
            if joined != mine.value {
                mine.value = joined;
                changed = true;
            }
        }
        let before = self.slots.len();
        self.slots.retain_mut(|slot| {
            let theirs = other.stack_load(slot.region, slot.offset, slot.size);
            let joined = terms.join(slot.held.value, theirs.value);
            if joined != slot.held.value {
                slot.held.value = joined;
                changed = true;
            }
            joined.is_known()
        });
        changed |= self.slots.len() != before;
        if let Some((region, offset)) = other.escaped {
            let before = self.escaped;
            self.escape(region, offset);
            changed |= self.escaped != before;
        }
        changed
    }
}
