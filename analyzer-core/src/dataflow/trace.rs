//! The record of an exploration: every instruction that was executed
//! abstractly, once, with what it changed.

use alloc::{vec, vec::Vec};

use super::{
    state::{NO_STEP, StepId},
    value::{TermId, Terms, Value},
};
use crate::{addr::VirtAddr, code::ir::Reg, ordered::Map, report::StepRole};

/// A place an instruction changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// A register.
    Reg(Reg),
    /// Stack memory: region and offset in bytes from it.
    Stack(TermId, i64),
    /// Other memory, at an abstract address.
    Memory(Value),
}

/// One instruction of the record.
#[derive(Clone, Debug)]
pub struct RawStep {
    /// Link-time address.
    pub address: VirtAddr,
    /// Length in bytes.
    pub len: u8,
    /// Calls followed to get here.
    pub depth: u8,
    /// Link-time address of the function it was reached in.
    pub function: VirtAddr,
    /// Places changed, and what they hold afterwards.
    pub effects: Vec<(Place, Value)>,
    /// What it is for the analysis.
    pub role: Option<StepRole>,
    reads: Vec<StepId>,
}

impl RawStep {
    /// Positions of the steps whose results this one used.
    #[must_use]
    pub fn reads(&self) -> &[StepId] {
        &self.reads
    }
}

/// The steps of one exploration, in the order they were first executed.
#[derive(Debug, Default)]
pub struct Trace {
    steps: Vec<RawStep>,
    by_place: Map<(u8, VirtAddr), StepId>,
}

impl Trace {
    /// Most steps that are kept.
    const LIMIT: usize = 4096;

    /// Begins the step at `address`, or returns to it when it was executed before.
    pub(super) fn begin(
        &mut self,
        address: VirtAddr,
        len: u8,
        depth: u8,
        function: VirtAddr,
    ) -> StepId {
        if let Some(&step) = self.by_place.get(&(depth, address)) {
            return step;
        }
        let Some(step) =
            StepId::try_from(self.steps.len()).ok().filter(|step| usize::from(*step) < Self::LIMIT)
        else {
            return NO_STEP;
        };
        self.by_place.insert((depth, address), step);
        self.steps.push(RawStep {
            address,
            len,
            depth,
            function,
            effects: Vec::new(),
            role: None,
            reads: Vec::new(),
        });
        step
    }

    pub(super) fn read(&mut self, step: StepId, from: StepId) {
        if let Some(step) = self.steps.get_mut(usize::from(step))
            && from != NO_STEP
            && !step.reads.contains(&from)
        {
            step.reads.push(from);
        }
    }

    /// Records what `place` holds after `step`; an earlier execution of the
    /// same instruction is joined.
    pub(super) fn effect(
        &mut self,
        step: StepId,
        place: Place,
        value: Value,
        again: bool,
        terms: &mut Terms,
    ) {
        let Some(step) = self.steps.get_mut(usize::from(step)) else { return };
        match step.effects.iter_mut().find(|(known, _)| *known == place) {
            Some((_, known)) => *known = if again { terms.join(*known, value) } else { value },
            None => step.effects.push((place, value)),
        }
    }

    pub(super) fn role(&mut self, step: StepId, role: StepRole) {
        if let Some(step) = self.steps.get_mut(usize::from(step))
            && step.role != Some(StepRole::Sink)
        {
            step.role = Some(role);
        }
    }

    /// Whether the step has been completed once already.
    pub(super) fn len(&self) -> usize {
        self.steps.len()
    }

    /// The steps, in order of first execution.
    #[must_use]
    pub fn steps(&self) -> &[RawStep] {
        &self.steps
    }

    /// For each step, whether a value it produced goes into one of the `ends`.
    #[must_use]
    pub(super) fn path_to(&self, ends: &[StepId]) -> Vec<bool> {
        let mut on_path = vec![false; self.steps.len()];
        let mut pending: Vec<StepId> = ends.to_vec();
        while let Some(step) = pending.pop() {
            let Some(mark) = on_path.get_mut(usize::from(step)) else { continue };
            if !core::mem::replace(mark, true)
                && let Some(step) = self.steps.get(usize::from(step))
            {
                pending.extend(&step.reads);
            }
        }
        on_path
    }
}
