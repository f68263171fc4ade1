//! Calls, jumps out of a function, and what is known of their results.

use super::{Action, Call, CallPlace, Explorer, Function, Incomplete, Observer};
use crate::{
    addr::VirtAddr,
    code::ir::{Address, Operand, Reg, Target},
    dataflow::{
        state::{Held, NO_STEP, State},
        value::{Term, Value},
    },
    image::{Callee, Relocation, Via},
    report::{Arch, ImageKind, StepRole},
};

impl<'d> Explorer<'_, 'd> {
    /// Decides about a jump; returns where the same function goes on.
    pub(super) fn jump(
        &mut self,
        at: VirtAddr,
        target: Target,
        state: &mut State,
        function: &mut Function,
        observer: &mut dyn Observer,
    ) -> Option<VirtAddr> {
        let value = self.target(target, state);
        let Some(callee) = self.callee(target, value) else {
            self.incomplete = Some(Incomplete::UnknownJump(at));
            return None;
        };
        let call = self.describe(at, callee, state, function.depth, true);
        let action = match self.tls_call(&call, value) {
            Some(result) => {
                self.set(self.abi.ret, result, state);
                self.returns(state, function);
                return None;
            }
            None => observer.call(&call, &self.terms),
        };
        self.mark_call(action, &call);
        match action {
            Action::Follow => match callee.address {
                Some(address) if callee.via == Via::Direct && self.image.is_executable(address) => {
                    Some(address)
                }
                Some(address) if self.can_enter(address, function) => {
                    let depth = function.depth.saturating_add(1);
                    if let Some(held) = self.run(address, state.clone(), depth, observer).returned {
                        function.returns(held, &mut self.terms);
                    }
                    None
                }
                _ => {
                    self.unknown_result(at, state);
                    self.returns(state, function);
                    None
                }
            },
            Action::Skip
            | Action::Transparent
            | Action::Returns(_)
            | Action::Loads(_)
            | Action::Note => {
                let result = self.told_result(action, &call, state);
                self.set_result(result, at, state);
                self.returns(state, function);
                None
            }
            Action::Sink | Action::NoReturn => None,
        }
    }

    /// Executes a call; returns whether the path goes on behind it.
    pub(super) fn call(
        &mut self,
        at: VirtAddr,
        next: VirtAddr,
        target: Target,
        state: &mut State,
        function: &mut Function,
        observer: &mut dyn Observer,
    ) -> bool {
        let value = self.target(target, state);
        let callee = self.callee(target, value).unwrap_or(Callee {
            name: None,
            address: None,
            slot: None,
            resolver: None,
            via: Via::Direct,
        });
        let call = self.describe(at, callee, state, function.depth, false);
        if let Some(result) = self.tls_call(&call, value) {
            self.step_over(state);
            if !self.is_descriptor_call(value) {
                self.clobber_for_call(state);
            }
            self.set(self.abi.ret, result, state);
            return true;
        }
        if self.asks_for_stack(next, state) {
            self.mark_call(Action::NoReturn, &call);
            return false;
        }
        let action = observer.call(&call, &self.terms);
        let follow = action == Action::Follow
            && callee.address.is_some_and(|address| self.can_enter(address, function));
        let marked = if action == Action::Follow && !follow { Action::Skip } else { action };
        self.mark_call(marked, &call);
        match action {
            Action::Transparent => {
                self.step_over(state);
                return true;
            }
            Action::Sink | Action::NoReturn => return false,
            Action::Follow
            | Action::Skip
            | Action::Note
            | Action::Returns(_)
            | Action::Loads(_) => {}
        }
        let (caller_step, caller_again) = (self.step, self.again);
        let result = match callee.address {
            Some(address) if follow => {
                let run =
                    self.run(address, state.clone(), function.depth.saturating_add(1), observer);
                (self.step, self.again) = (caller_step, caller_again);
                match run.returned {
                    Some(held) => Some(held),
                    None => return false,
                }
            }
            _ if self.ends_function(next) => return false,
            _ => self.told_result(action, &call, state),
        };
        self.step_over(state);
        self.clobber_for_call(state);
        self.set_result(result, at, state);
        true
    }

    /// What a call returns as the observer says, where it does.
    fn told_result(&mut self, action: Action, call: &Call<'_>, state: &State) -> Option<Held> {
        let value = match action {
            Action::Returns(number) => Value::number(number),
            Action::Loads(size) => {
                let [address, ..] = call.args;
                self.trace_read(call.place.step, call.place.argument);
                self.load(address, size, false, state).value
            }
            _ => return None,
        };
        Some(Held { value, by: self.step })
    }

    fn set_result(&mut self, result: Option<Held>, site: VirtAddr, state: &mut State) {
        match result {
            Some(held) => {
                self.read(held);
                self.set(self.abi.ret, held.value, state);
            }
            None => self.unknown_result(site, state),
        }
    }

    /// Whether a call, behind which lies `next`, is to libgcc's `__morestack`:
    /// it calls the rest of the function on a larger stack, which is the other
    /// branch's code, and what lies behind the call only returns its result.
    ///
    /// gcc's `-fsplit-stack` on x86-64 (`ix86_expand_split_stack_prologue`)
    /// hands the sizes of the frame and of the arguments over in r10 and r11,
    /// which carry no arguments otherwise.
    fn asks_for_stack(&self, next: VirtAddr, state: &State) -> bool {
        const RET: u8 = 0xc3;
        let is_number = |reg| state.reg(Reg(reg)).value.as_number().is_some();
        self.image.arch() == Arch::X86_64
            && is_number(10)
            && is_number(11)
            && self.image.bytes_from(next, 1) == [RET]
    }

    /// Whether a callee is code that is not being executed already.
    fn can_enter(&self, callee: VirtAddr, caller: &Function) -> bool {
        caller.depth < self.settings.depth
            && self.image.is_executable(callee)
            && !self.active.contains(&callee)
    }

    /// Takes back what the call instruction pushed.
    fn step_over(&self, state: &mut State) {
        let mut sp = state.reg(self.abi.sp);
        sp.value = sp.value.plus(self.abi.call_pushes.into());
        state.set_reg(self.abi.sp, sp);
    }

    /// Whether `next` lies behind the function's last instruction, so that a
    /// call before it cannot return.
    fn ends_function(&self, next: VirtAddr) -> bool {
        self.image
            .unwind_range(VirtAddr(next.0.wrapping_sub(1)))
            .is_some_and(|range| range.end == next)
    }

    fn describe<'c>(
        &self,
        site: VirtAddr,
        callee: Callee<'c>,
        state: &State,
        depth: u8,
        tail: bool,
    ) -> Call<'c> {
        let mut args = [Value::UNKNOWN; 4];
        for (arg, reg) in args.iter_mut().zip(self.abi.args) {
            *arg = state.reg(*reg).value;
        }
        let argument = self.abi.args.first().map_or(NO_STEP, |reg| state.reg(*reg).by);
        let place = CallPlace { step: self.step, argument };
        Call { site, callee, args, place, depth, tail }
    }

    /// The value a jump or call takes its destination from.
    fn target(&mut self, target: Target, state: &State) -> Value {
        match target {
            Target::Address(address) => self.address_value(address),
            Target::Reg(reg) => {
                let held = state.reg(reg);
                self.read(held);
                held.value
            }
            Target::Memory(address) => {
                let address = self.address(&address, state);
                self.load(address, 8, false, state).value
            }
        }
    }

    fn callee(&self, target: Target, value: Value) -> Option<Callee<'d>> {
        if let Target::Memory(Address {
            base: Operand::Pc(base), index: None, displacement, ..
        }) = target
        {
            let slot = VirtAddr(base.0.wrapping_add(displacement));
            if let Some(callee) = self.image.slot_target(slot) {
                return Some(callee);
            }
        }
        if let Some(Term::Symbol(symbol)) = self.terms.of(value) {
            let name = self.image.symbol_name(symbol);
            return Some(Callee {
                name,
                address: None,
                slot: None,
                resolver: None,
                via: Via::Slot,
            });
        }
        let address = self.terms.as_address(value, self.image.is_fixed())?;
        Some(self.image.callee(address))
    }

    /// The result of a call that finds a thread-local variable, if it is one.
    fn tls_call(&mut self, call: &Call<'_>, target: Value) -> Option<Value> {
        if let Some(Term::DescriptorResolver { slot }) = self.terms.of(target) {
            return Some(self.descriptor_offset(slot));
        }
        (call.callee.name == Some("__tls_get_addr")).then(|| self.tls_block(call))
    }

    /// The address that `__tls_get_addr` returns.
    fn tls_block(&mut self, call: &Call<'_>) -> Value {
        let [pair, ..] = call.args;
        let Some(slot) = self.terms.as_address(pair, self.image.is_fixed()) else {
            return Value::UNKNOWN;
        };
        if !self.names_module(slot) {
            return Value::UNKNOWN;
        }
        let Some(start) = self.pair_offset(slot) else { return Value::UNKNOWN };
        let padded = self.is_padded(call.site);
        let block = self.terms.value(Term::TlsBlock { slot, start, padded });
        self.trace_read(call.place.step, call.place.argument);
        self.mark(StepRole::Sink);
        block.plus(start)
    }

    /// Whether the word at `slot` will hold the number of this image's TLS
    /// module. A program's is 1, which linkers may store themselves (ELF
    /// Handling For Thread-Local Storage, section 2).
    fn names_module(&self, slot: VirtAddr) -> bool {
        const PROGRAM: u64 = 1;
        match self.image.relocation_at(slot) {
            Some(relocation) => matches!(relocation, Relocation::TlsModule { .. }),
            None => {
                matches!(self.image.kind(), ImageKind::Pie | ImageKind::Executable)
                    && self.image.u64_at(slot) == Some(PROGRAM)
            }
        }
    }

    /// Whether the call carries the operand-size prefix with which the
    /// general-dynamic sequence is padded (ELF Handling For Thread-Local
    /// Storage, 4.4.6; the local-dynamic one is not).
    fn is_padded(&self, site: VirtAddr) -> bool {
        const DATA16: u8 = 0x66;
        self.image.arch() == Arch::X86_64 && self.image.bytes_from(site, 1) == [DATA16]
    }

    fn is_descriptor_call(&self, target: Value) -> bool {
        matches!(self.terms.of(target), Some(Term::DescriptorResolver { .. }))
    }

    /// The offset the second word of a `__tls_get_addr` pair will hold.
    ///
    /// For a variable of the module itself linkers store the offset without a
    /// relocation; the first word's then names no symbol, or with gold a
    /// section's.
    fn pair_offset(&self, slot: VirtAddr) -> Option<u64> {
        let word = slot.checked_add(8)?;
        let stored = || self.image.u64_at(word);
        if let Some(Relocation::TlsModule { symbol: 0 }) = self.image.relocation_at(slot) {
            return stored();
        }
        match self.image.relocation_at(word) {
            None => stored(),
            Some(Relocation::TlsOffset { module_offset, .. }) => {
                module_offset.map(i64::cast_unsigned)
            }
            Some(_) => None,
        }
    }

    fn descriptor_offset(&mut self, slot: VirtAddr) -> Value {
        self.mark(StepRole::Sink);
        match self.image.relocation_at(slot) {
            Some(Relocation::TlsDescriptor { module_offset: Some(offset), .. }) => {
                self.tp_offset(slot, offset, true)
            }
            _ => Value::UNKNOWN,
        }
    }

    pub(super) fn tp_offset(
        &mut self,
        slot: VirtAddr,
        module_offset: i64,
        descriptor: bool,
    ) -> Value {
        let module_offset = module_offset.cast_unsigned();
        self.terms.value(Term::TpOffset { slot, module_offset, descriptor })
    }

    fn unknown_result(&mut self, site: VirtAddr, state: &mut State) {
        let result = self.terms.value(Term::CallResult { site });
        self.set(self.abi.ret, result, state);
    }

    fn clobber_for_call(&mut self, state: &mut State) {
        for reg in self.abi.args {
            self.note_escape(state.reg(*reg).value, state);
        }
        state.forget_escaped();
        for reg in (0..Reg::TEMP0.0).map(Reg) {
            if self.abi.is_caller_saved(reg) {
                state.set_reg(reg, Held { value: Value::UNKNOWN, by: self.step });
            }
        }
    }
}
