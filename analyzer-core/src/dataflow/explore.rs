//! Abstract execution of a function, over all of its paths.

use alloc::{boxed::Box, collections::BTreeMap, vec, vec::Vec};

use super::{
    state::{Held, NO_STEP, State, StepId},
    trace::{Place, Trace},
    value::{Term, TermId, Terms, Value, low_bits},
};
use crate::{
    addr::VirtAddr,
    code::{
        self, Abi,
        ir::{Address, BinaryOp, Flow, Index, Lifted, Op, Operand, Reg, Target, Width},
    },
    image::{Callee, Image, Relocation, Via},
    report::{Arch, StepRole},
};

/// What an [`Observer`] wants done with a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Execute the callee with the arguments it is given.
    Follow,
    /// Step over it: it returns something unknown.
    Skip,
    /// Step over it: it leaves every register as it is (`__fentry__`, `mcount`).
    Transparent,
    /// Step over it, it is worth marking as a sink.
    Note,
    /// The answer is here; the path need not be followed any further.
    Sink,
    /// It does not return.
    NoReturn,
}

/// A call, or a jump to another function, as an [`Observer`] sees it.
#[derive(Clone, Copy, Debug)]
pub struct Call<'c> {
    /// Link-time address of the instruction.
    pub site: VirtAddr,
    /// Where it goes.
    pub callee: Callee<'c>,
    /// The first four integer arguments of the psABI.
    pub args: [Value; 4],
    /// The trace steps that produced them.
    pub(super) origins: [StepId; 4],
    /// Calls followed to get here.
    pub depth: u8,
    /// A jump in tail position.
    pub tail: bool,
}

/// Decides about calls and collects what is asked for.
pub trait Observer {
    /// Decides what to do with `call`.
    fn call(&mut self, call: &Call<'_>, terms: &Terms) -> Action;
}

/// What an exploration found.
#[derive(Clone, Debug)]
pub struct Exploration {
    /// What the function returns; `None` when no path was seen to return.
    pub returned: Option<Value>,
    /// Why not all paths were followed to their end, where that is so.
    pub incomplete: Option<Incomplete>,
    pub(super) return_origin: StepId,
}

/// Why an exploration is incomplete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Incomplete {
    /// More instructions than allowed.
    Budget,
    /// Bytes at this link-time address that are no instruction.
    Undecodable(VirtAddr),
    /// A jump at this link-time address to a place that is not known.
    UnknownJump(VirtAddr),
    /// A jump or fall to this link-time address, which holds no code of the file.
    NoCode(VirtAddr),
}

/// Limits and knowledge of an exploration.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Instructions executed in all, repetitions counted.
    pub budget: u32,
    /// Calls within calls that are followed.
    pub depth: u8,
    /// Record a [`Trace`].
    pub trace: bool,
    /// `%fs:0x10` holds the thread pointer (glibc's `tcbhead_t.self`, x86-64).
    pub glibc_self: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { budget: 2000, depth: 4, trace: false, glibc_self: false }
    }
}

/// Executes functions of one image abstractly.
#[derive(Debug)]
pub struct Explorer<'a, 'd> {
    image: &'a Image<'d>,
    abi: &'static Abi,
    settings: Settings,
    /// The terms the values of this exploration are made of.
    pub terms: Terms,
    trace: Trace,
    lifted: Lifted,
    incomplete: Option<Incomplete>,
    /// Entry addresses of the functions being executed, outermost first.
    active: Vec<VirtAddr>,
    step: StepId,
    again: bool,
    /// The steps at which an observer found what it looks for.
    sinks: Vec<StepId>,
}

/// What one function's execution came to.
#[derive(Clone, Copy, Debug)]
struct Run {
    returned: Option<Held>,
}

impl<'a, 'd> Explorer<'a, 'd> {
    /// An explorer of `image`.
    #[must_use]
    pub fn new(image: &'a Image<'d>, settings: Settings) -> Self {
        Self {
            image,
            abi: code::abi(image.arch()),
            settings,
            terms: Terms::default(),
            trace: Trace::default(),
            lifted: Lifted::new(),
            incomplete: None,
            active: Vec::new(),
            step: NO_STEP,
            again: false,
            sinks: Vec::new(),
        }
    }

    /// Executes the function at link-time address `entry` on all of its paths.
    pub fn explore(&mut self, entry: VirtAddr, observer: &mut dyn Observer) -> Exploration {
        let state = State::at_entry(&mut self.terms, self.abi.sp);
        let run = self.run(entry, state, 0, observer);
        Exploration {
            returned: run.returned.map(|held| held.value),
            incomplete: self.incomplete,
            return_origin: run.returned.map_or(NO_STEP, |held| held.by),
        }
    }

    /// The record of what was executed; empty unless [`Settings::trace`] is set.
    #[must_use]
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// For each step of the trace, whether a value it produced goes into a
    /// sink, or where there was none into what the function returned.
    #[must_use]
    pub fn on_path(&self, exploration: &Exploration) -> Vec<bool> {
        if self.sinks.is_empty() {
            self.trace.path_to(&[exploration.return_origin])
        } else {
            self.trace.path_to(&self.sinks)
        }
    }

    fn run(
        &mut self,
        entry: VirtAddr,
        state: State,
        depth: u8,
        observer: &mut dyn Observer,
    ) -> Run {
        self.active.push(entry);
        let mut function = Function {
            entry,
            depth,
            pending: vec![(entry, state)],
            leaders: BTreeMap::new(),
            returned: None,
        };
        while let Some((at, mut state)) = function.pending.pop() {
            match function.leaders.get_mut(&at) {
                Some(known) => {
                    if !known.join(&state, &mut self.terms) {
                        continue;
                    }
                    state = (**known).clone();
                }
                None => {
                    function.leaders.insert(at, Box::new(state.clone()));
                }
            }
            self.straight(at, state, &mut function, observer);
        }
        self.active.pop();
        Run { returned: function.returned }
    }

    /// Executes from `at` until the path ends, branches or meets a place where
    /// paths join.
    fn straight(
        &mut self,
        mut at: VirtAddr,
        mut state: State,
        function: &mut Function,
        observer: &mut dyn Observer,
    ) {
        loop {
            if self.settings.budget == 0 {
                self.incomplete = Some(Incomplete::Budget);
                return;
            }
            self.settings.budget = self.settings.budget.wrapping_sub(1);
            let mut lifted = core::mem::take(&mut self.lifted);
            let flow = self.execute(at, &mut state, function, &mut lifted);
            let next = VirtAddr(at.0.wrapping_add(lifted.len.into()));
            self.lifted = lifted;
            let Some(flow) = flow else { return };
            let goes_on = match flow {
                Flow::Next => true,
                Flow::Stop => false,
                Flow::Return => {
                    self.mark(StepRole::Return);
                    self.returns(&state, function);
                    false
                }
                Flow::Branch(target) => {
                    self.mark(StepRole::Branch);
                    function.pending.push((target, state.clone()));
                    function.pending.push((next, state));
                    return;
                }
                Flow::Jump(target) => match self.jump(at, target, &mut state, function, observer) {
                    Some(target) => {
                        function.pending.push((target, state));
                        return;
                    }
                    None => false,
                },
                Flow::Call(target) => self.call(at, next, target, &mut state, function, observer),
            };
            if !goes_on {
                return;
            }
            if function.leaders.contains_key(&next) {
                function.pending.push((next, state));
                return;
            }
            at = next;
        }
    }

    /// Executes the instruction at `at`; `None` where there is none.
    fn execute(
        &mut self,
        at: VirtAddr,
        state: &mut State,
        function: &Function,
        lifted: &mut Lifted,
    ) -> Option<Flow> {
        let bytes = self.image.bytes_from(at, code::MAX_INSTRUCTION_LEN);
        if bytes.is_empty() || !self.image.is_executable(at) {
            self.incomplete = Some(Incomplete::NoCode(at));
            return None;
        }
        if code::lift(self.image.arch(), bytes, at, lifted).is_err() {
            self.incomplete = Some(Incomplete::Undecodable(at));
            return None;
        }
        if self.settings.trace {
            let before = self.trace.len();
            self.step = self.trace.begin(at, lifted.len, function.depth, function.entry);
            self.again = self.trace.len() == before;
        }
        for op in &lifted.ops {
            self.op(op, state);
        }
        Some(lifted.flow)
    }

    fn returns(&mut self, state: &State, function: &mut Function) {
        let value = state.reg(self.abi.ret);
        self.read(value);
        function.returns(value, &mut self.terms);
    }

    /// Decides about a jump; returns where the same function goes on.
    fn jump(
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
        self.mark_call(action);
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
            Action::Skip | Action::Transparent | Action::Note => {
                self.unknown_result(at, state);
                self.returns(state, function);
                None
            }
            Action::Sink => {
                self.read_args(&call);
                None
            }
            Action::NoReturn => None,
        }
    }

    /// Executes a call; returns whether the path goes on behind it.
    fn call(
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
        let action = observer.call(&call, &self.terms);
        let follow = action == Action::Follow
            && callee.address.is_some_and(|address| self.can_enter(address, function));
        self.mark_call(match action {
            Action::Follow if !follow => Action::Skip,
            action => action,
        });
        match action {
            Action::Transparent => {
                self.step_over(state);
                return true;
            }
            Action::Sink => {
                self.read_args(&call);
                return false;
            }
            Action::NoReturn => return false,
            Action::Note => self.read_args(&call),
            Action::Follow | Action::Skip => {}
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
            _ => None,
        };
        self.step_over(state);
        self.clobber_for_call(state);
        match result {
            Some(held) => {
                self.read(held);
                self.set(self.abi.ret, held.value, state);
            }
            None => self.unknown_result(at, state),
        }
        true
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
        let mut origins = [NO_STEP; 4];
        for ((arg, origin), reg) in args.iter_mut().zip(&mut origins).zip(self.abi.args) {
            let held = state.reg(*reg);
            (*arg, *origin) = (held.value, held.by);
        }
        Call { site, callee, args, origins, depth, tail }
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
        if call.callee.name != Some("__tls_get_addr") {
            return None;
        }
        let [pair, ..] = call.args;
        let Some(slot) = self.terms.as_address(pair, self.image.is_fixed()) else {
            return Some(Value::UNKNOWN);
        };
        let Some(Relocation::TlsModule { symbol }) = self.image.relocation_at(slot) else {
            return Some(Value::UNKNOWN);
        };
        let Some(start) = self.pair_offset(slot, symbol) else { return Some(Value::UNKNOWN) };
        let padded = self.is_padded(call.site);
        let block = self.terms.value(Term::TlsBlock { slot, start, padded });
        let step = self.step;
        self.trace_read(step, call.origins[0]);
        self.mark(StepRole::Sink);
        Some(block.plus(start))
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
    /// For a variable of the module itself the first word's relocation names
    /// no symbol, and linkers store the offset without a relocation.
    fn pair_offset(&self, slot: VirtAddr, symbol: u32) -> Option<u64> {
        let word = slot.checked_add(8)?;
        if symbol == 0 {
            return self.image.u64_at(word);
        }
        match self.image.relocation_at(word)? {
            Relocation::TlsOffset { module_offset, .. } => module_offset.map(i64::cast_unsigned),
            _ => None,
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

    fn tp_offset(&mut self, slot: VirtAddr, module_offset: i64, descriptor: bool) -> Value {
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

    fn op(&mut self, op: &Op, state: &mut State) {
        match *op {
            Op::Move { dst, src, width } => {
                let value = self.operand(src, state);
                self.set_truncated(dst, value, width, state);
            }
            Op::Binary { op, dst, left, right, width } => {
                let value = self.binary(op, left, right, width, state);
                self.set_truncated(dst, value, width, state);
            }
            Op::Extend { dst, src, from, signed, width } => {
                let value = self.operand(src, state);
                let low = self.terms.mask(value, from.mask());
                let value = if signed { self.sign_extended(value, low, from) } else { low };
                self.set_truncated(dst, value, width, state);
            }
            Op::Lea { dst, address, width } => {
                let value = self.address(&address, state);
                self.set_truncated(dst, value, width, state);
            }
            Op::Load { dst, address, size, signed, width } => {
                let address = self.address(&address, state);
                let held = self.load(address, size, signed, state);
                self.read(held);
                self.set_truncated(dst, held.value, width, state);
            }
            Op::Store { address, src, size } => {
                let address = self.address(&address, state);
                let value = self.operand(src, state);
                let value = if size < 8 { self.terms.mask(value, low_bits(size)) } else { value };
                self.store(address, Held { value, by: self.step }, size.into(), state);
            }
            Op::Select { dst, left, right, width } => {
                let left = self.operand(left, state);
                let right = self.operand(right, state);
                let value = self.terms.join(left, right);
                self.set_truncated(dst, value, width, state);
            }
            Op::ThreadPointer { dst } => {
                let value = self.terms.value(Term::ThreadPointer);
                self.set(dst, value, state);
            }
            Op::Clobber { dst } => self.set(dst, Value::UNKNOWN, state),
            Op::ClobberMemory { address, size } => {
                let address = self.address(&address, state);
                self.store(address, Held::UNKNOWN, size.into(), state);
            }
            Op::ClobberAllMemory => state.forget_memory(),
        }
    }

    fn sign_extended(&mut self, value: Value, low: Value, from: Width) -> Value {
        let bits = u32::from(from.bytes()).wrapping_mul(8);
        let extended = self.terms.sign_extend(low, bits);
        if extended.is_known() { extended } else { self.terms.sign_extend(value, bits) }
    }

    fn binary(
        &mut self,
        op: BinaryOp,
        left: Operand,
        right: Operand,
        width: Width,
        state: &State,
    ) -> Value {
        if left == right && matches!(op, BinaryOp::Xor | BinaryOp::Sub) {
            return Value::number(0);
        }
        let same = left == right;
        let left = self.operand(left, state);
        let right = self.operand(right, state);
        let numbers = left.as_number().zip(right.as_number());
        match op {
            BinaryOp::Add => self.terms.add(left, right),
            BinaryOp::Sub => self.terms.sub(left, right),
            BinaryOp::And | BinaryOp::Or if same => left,
            BinaryOp::And => match (left.as_number(), right.as_number()) {
                (_, Some(mask)) => self.terms.mask(left, mask),
                (Some(mask), _) => self.terms.mask(right, mask),
                _ => Value::UNKNOWN,
            },
            BinaryOp::Or | BinaryOp::Xor => match (op, numbers) {
                (BinaryOp::Or, Some((a, b))) => Value::number(a | b),
                (_, Some((a, b))) => Value::number(a ^ b),
                _ if right == Value::number(0) => left,
                _ if left == Value::number(0) => right,
                _ => Value::UNKNOWN,
            },
            BinaryOp::Shl => match right.as_number() {
                Some(by @ 0..64) => self.terms.scale(left, 1_u64.wrapping_shl(low_u32(by))),
                _ => Value::UNKNOWN,
            },
            BinaryOp::Shr => match right.as_number().and_then(|by| u8::try_from(by).ok()) {
                Some(by @ 0..64) => {
                    let low = self.terms.mask(left, width.mask());
                    self.terms.shift_right(low, by)
                }
                _ => Value::UNKNOWN,
            },
            BinaryOp::Sar => match (right.as_number(), left.as_number()) {
                (Some(by @ 0..64), Some(number)) => {
                    let bits = u32::from(width.bytes()).wrapping_mul(8);
                    let signed = self.terms.sign_extend(Value::number(number), bits);
                    let shifted =
                        signed.offset().cast_signed().wrapping_shr(low_u32(by)).cast_unsigned();
                    Value::number(shifted)
                }
                _ => Value::UNKNOWN,
            },
            BinaryOp::Mul => match (left.as_number(), right.as_number()) {
                (_, Some(factor)) => self.terms.scale(left, factor),
                (Some(factor), _) => self.terms.scale(right, factor),
                _ => Value::UNKNOWN,
            },
        }
    }

    fn operand(&mut self, operand: Operand, state: &State) -> Value {
        match operand {
            Operand::Reg(reg) => {
                let held = state.reg(reg);
                self.read(held);
                held.value
            }
            Operand::Const(number) => Value::number(number),
            Operand::Pc(address) => self.address_value(address),
        }
    }

    /// The value of a link-time address: a number where addresses are fixed.
    fn address_value(&mut self, address: VirtAddr) -> Value {
        if self.image.is_fixed() { Value::number(address.0) } else { self.terms.image(address) }
    }

    fn address(&mut self, address: &Address, state: &State) -> Value {
        let mut value = self.operand(address.base, state).plus(address.displacement);
        if let Some(index) = address.index {
            let index = self.index(index, state);
            value = self.terms.add(value, index);
        }
        if address.thread_pointer {
            let thread_pointer = self.terms.value(Term::ThreadPointer);
            value = self.terms.add(thread_pointer, value);
        }
        value
    }

    fn index(&mut self, index: Index, state: &State) -> Value {
        let value = self.operand(Operand::Reg(index.reg), state);
        let low = self.terms.mask(value, index.width.mask());
        let value = if index.signed && index.width != Width::W64 {
            self.sign_extended(value, low, index.width)
        } else {
            low
        };
        self.terms.scale(value, 1_u64.wrapping_shl(index.shift.into()))
    }

    fn load(&mut self, address: Value, size: u8, signed: bool, state: &State) -> Held {
        let step = self.step;
        let held = |value| Held { value, by: step };
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

    fn mentions_stack(&self, term: TermId) -> bool {
        match self.terms.get(term) {
            Some(Term::Stack | Term::AlignedStack { .. }) => true,
            Some(Term::Sum(first, rest)) => self.mentions_stack(first) || self.mentions_stack(rest),
            Some(Term::Scaled { term, .. }) => self.mentions_stack(term),
            Some(Term::Either(a, b)) => [a, b]
                .into_iter()
                .any(|value| value.term().is_some_and(|term| self.mentions_stack(term))),
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
                let number =
                    bytes.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
                let value = Value::number(number);
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

    fn store(&mut self, address: Value, held: Held, size: u64, state: &mut State) {
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
            _ if self.mentions_stack(region) => state.forget_memory(),
            _ => self.note_escape(held.value, state),
        }
    }

    /// A stack address has left the function's own registers and memory.
    fn note_escape(&self, value: Value, state: &mut State) {
        let Some(term) = value.term() else { return };
        match self.terms.get(term) {
            Some(Term::Stack | Term::AlignedStack { .. }) => {
                state.escape(term, value.offset().cast_signed());
            }
            Some(_) if self.mentions_stack(term) => state.escape(term, i64::MIN),
            _ => {}
        }
    }

    fn set_truncated(&mut self, dst: Reg, value: Value, width: Width, state: &mut State) {
        let value = if width == Width::W64 { value } else { self.terms.mask(value, width.mask()) };
        self.set(dst, value, state);
    }

    fn set(&mut self, dst: Reg, value: Value, state: &mut State) {
        state.set_reg(dst, Held { value, by: self.step });
        let plain_stack = dst == self.abi.sp && value.is_known();
        if self.settings.trace && dst < Reg::TEMP0 && !plain_stack {
            self.trace.effect(self.step, Place::Reg(dst), value, self.again, &mut self.terms);
        }
    }

    fn effect(&mut self, address: Value, value: Value) {
        if !self.settings.trace {
            return;
        }
        let place = match address.term() {
            Some(region)
                if matches!(
                    self.terms.get(region),
                    Some(Term::Stack | Term::AlignedStack { .. })
                ) =>
            {
                Place::Stack(region, address.offset().cast_signed())
            }
            _ => Place::Memory(address),
        };
        self.trace.effect(self.step, place, value, self.again, &mut self.terms);
    }

    fn read(&mut self, held: Held) {
        let step = self.step;
        self.trace_read(step, held.by);
    }

    fn read_args(&mut self, call: &Call<'_>) {
        let step = self.step;
        self.trace_read(step, call.origins[0]);
    }

    fn trace_read(&mut self, step: StepId, from: StepId) {
        if self.settings.trace {
            self.trace.read(step, from);
        }
    }

    fn mark(&mut self, role: StepRole) {
        if self.settings.trace {
            self.trace.role(self.step, role);
        }
    }

    fn mark_call(&mut self, action: Action) {
        if self.settings.trace && matches!(action, Action::Note | Action::Sink) {
            self.sinks.push(self.step);
        }
        self.mark(match action {
            Action::Follow => StepRole::FollowedCall,
            Action::Skip | Action::Transparent | Action::NoReturn => StepRole::SkippedCall,
            Action::Note | Action::Sink => StepRole::Sink,
        });
    }
}

/// One function's execution in progress.
#[derive(Debug)]
struct Function {
    entry: VirtAddr,
    depth: u8,
    pending: Vec<(VirtAddr, State)>,
    /// States at the places where paths can join.
    leaders: BTreeMap<VirtAddr, Box<State>>,
    returned: Option<Held>,
}

impl Function {
    fn returns(&mut self, held: Held, terms: &mut Terms) {
        self.returned = Some(match self.returned {
            None => held,
            Some(before) => Held { value: terms.join(before.value, held.value), by: held.by },
        });
    }
}

fn low_u32(number: u64) -> u32 {
    u32::try_from(number & 63).unwrap_or(0)
}
