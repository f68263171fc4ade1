//! Abstract execution of a function, over all of its paths.

use alloc::{boxed::Box, vec, vec::Vec};

use super::{
    state::{Held, NO_STEP, State, StepId},
    trace::{Place, Trace},
    value::{Term, Terms, Value},
};
use crate::{
    addr::VirtAddr,
    code::{
        self, Abi, Lifter,
        ir::{Flow, Lifted, Reg, Target, Width},
    },
    image::{Callee, Image, Range},
    ordered::Map,
    report::StepRole,
};

mod calls;
mod memory;
mod operations;

/// What an [`Observer`] wants done with a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Execute the callee with the arguments it is given.
    Follow,
    /// Step over it: it returns something unknown.
    Skip,
    /// Step over it: it leaves every register as it is (`__fentry__`, `mcount`).
    Transparent,
    /// Step over it: it returns this number.
    Returns(u64),
    /// Step over it: it returns so many bytes of memory at its first argument.
    Loads(u8),
    /// Step over it, and mark it as a sink.
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
    /// Where it stands in the trace.
    pub place: CallPlace,
    /// Calls followed to get here.
    pub depth: u8,
    /// A jump in tail position.
    pub tail: bool,
}

/// Where a call stands in the trace of its exploration, for
/// [`Explorer::mark_sink`].
#[derive(Clone, Copy, Debug)]
pub struct CallPlace {
    pub(super) step: StepId,
    /// The step that produced the first argument.
    pub(super) argument: StepId,
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
    /// Each different value a path was seen to return, at most 32.
    pub returns: Vec<Value>,
    /// Why not all paths were followed to their end, where that is so.
    pub incomplete: Option<Incomplete>,
    pub(super) return_origin: StepId,
}

/// Different return values that are kept apart.
const MOST_RETURNS: usize = 32;

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
    /// Execute each path for itself, joining nothing where paths meet: for
    /// short functions whose loops the budget may end.
    pub every_path: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { budget: 2000, depth: 4, trace: false, glibc_self: false, every_path: false }
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
    code: Option<Code<'d>>,
    incomplete: Option<Incomplete>,
    /// The instruction accessed memory through a null pointer.
    faulted: bool,
    /// Entry addresses of the functions being executed, outermost first.
    active: Vec<VirtAddr>,
    step: StepId,
    again: bool,
    /// The steps at which something consumes what is looked for.
    sinks: Vec<StepId>,
    returns: Vec<Value>,
}

/// A segment of code, to lift instructions from.
#[derive(Debug)]
struct Code<'d> {
    range: Range,
    lifter: Lifter<'d>,
}

impl<'d> Code<'d> {
    /// What the file holds of the executable segment around `at`.
    fn around(image: &Image<'d>, at: VirtAddr) -> Option<Self> {
        let segment = image.segment_at(at).filter(|segment| segment.executable)?;
        let range = Range::new(segment.address, segment.file_size);
        let lifter = Lifter::new(image.arch(), image.segment_bytes(segment), segment.address);
        range.contains(at).then_some(Self { range, lifter })
    }
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
            code: None,
            incomplete: None,
            faulted: false,
            active: Vec::new(),
            step: NO_STEP,
            again: false,
            sinks: Vec::new(),
            returns: Vec::new(),
        }
    }

    /// Executes the function at link-time address `entry` on all of its paths.
    pub fn explore(&mut self, entry: VirtAddr, observer: &mut dyn Observer) -> Exploration {
        let state = State::at_entry(&mut self.terms, self.abi.sp);
        let run = self.run(entry, state, 0, observer);
        Exploration {
            returned: run.returned.map(|held| held.value),
            returns: core::mem::take(&mut self.returns),
            incomplete: self.incomplete,
            return_origin: run.returned.map_or(NO_STEP, |held| held.by),
        }
    }

    /// The record of what was executed; empty unless [`Settings::trace`] is set.
    #[must_use]
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Marks a call whose argument turned out to be the answer as a sink, also
    /// one that was followed.
    pub fn mark_sink(&mut self, call: CallPlace) {
        if self.settings.trace {
            self.trace.read(call.step, call.argument);
            self.trace.role(call.step, StepRole::Sink);
            self.sinks.push(call.step);
        }
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
            leaders: Map::default(),
            returned: None,
        };
        while let Some((at, mut state)) = function.pending.pop() {
            if self.settings.every_path {
                self.straight(at, state, &mut function, observer);
                continue;
            }
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
        if let Err(problem) = self.lift(at, lifted) {
            self.incomplete = Some(problem);
            return None;
        }
        if self.settings.trace {
            let before = self.trace.len();
            self.step = self.trace.begin(at, lifted.len, function.depth, function.entry);
            self.again = self.trace.len() == before;
        }
        self.faulted = false;
        for op in &lifted.ops {
            self.op(op, state);
        }
        if self.faulted {
            return Some(Flow::Stop);
        }
        Some(self.without_retpoline(at, lifted))
    }

    /// Lifts the instruction at `at`.
    fn lift(&mut self, at: VirtAddr, lifted: &mut Lifted) -> Result<(), Incomplete> {
        let code = match &mut self.code {
            Some(code) if code.range.contains(at) => code,
            _ => {
                let code = Code::around(self.image, at).ok_or(Incomplete::NoCode(at))?;
                self.code.insert(code)
            }
        };
        let result = code.lifter.lift(at, lifted);
        let read = if result.is_ok() { lifted.len.into() } else { code::MAX_INSTRUCTION_LEN };
        self.image.keep(at, read);
        result.map_err(|_| Incomplete::Undecodable(at))
    }

    /// Where the instruction goes, seen through the idiom that hides it.
    fn without_retpoline(&self, at: VirtAddr, lifted: &Lifted) -> Flow {
        let through = |at| code::retpoline(self.image, at);
        match lifted.flow {
            Flow::Call(Target::Address(thunk)) => through(at).or_else(|| match through(thunk)? {
                Flow::Jump(target) => Some(Flow::Call(target)),
                _ => None,
            }),
            Flow::Jump(Target::Address(thunk)) => through(thunk),
            _ => None,
        }
        .unwrap_or(lifted.flow)
    }

    fn returns(&mut self, state: &State, function: &mut Function) {
        let value = state.reg(self.abi.ret);
        self.read(value);
        if function.depth == 0
            && self.returns.len() < MOST_RETURNS
            && !self.returns.contains(&value.value)
        {
            self.returns.push(value.value);
        }
        function.returns(value, &mut self.terms);
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

    fn mark_call(&mut self, action: Action, call: &Call<'_>) {
        match action {
            Action::Follow => self.mark(StepRole::FollowedCall),
            Action::Skip
            | Action::Transparent
            | Action::Returns(_)
            | Action::Loads(_)
            | Action::NoReturn => self.mark(StepRole::SkippedCall),
            Action::Note | Action::Sink => self.mark_sink(call.place),
        }
    }
}

/// One function's execution in progress.
#[derive(Debug)]
struct Function {
    entry: VirtAddr,
    depth: u8,
    pending: Vec<(VirtAddr, State)>,
    /// States at the places where paths can join.
    leaders: Map<VirtAddr, Box<State>>,
    returned: Option<Held>,
}

impl Function {
    fn returns(&mut self, held: Held, terms: &mut Terms) {
        self.returned = Some(match self.returned {
            None => held,
            Some(before) => {
                // A path that only returns null says nothing about the other's value.
                let by = if held.value == Value::number(0) { before.by } else { held.by };
                Held { value: terms.join(before.value, held.value), by }
            }
        });
    }
}

fn low_u32(number: u64) -> u32 {
    u32::try_from(number & 63).unwrap_or(0)
}
