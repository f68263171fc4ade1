//! Reads a range of code from its start to its end, without following it.

use alloc::vec::Vec;

use crate::{
    addr::VirtAddr,
    code::{
        Lifter,
        ir::{Address, BinaryOp, Flow, Lifted, Op, Operand, Reg, Target},
        x86_64::{self, glance::Glance},
    },
    image::{Image, Range},
    ordered::sort_by_key,
    report::Arch,
};

/// What the code of a range refers to.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Where direct jumps and branches leave the range, sorted.
    pub(super) jumps: Vec<Reference>,
    /// Where direct calls go, in order.
    pub(super) calls: Vec<Reference>,
    /// Addresses outside of code that instructions form or use, sorted.
    pub(super) addresses: Vec<Reference>,
}

/// An address that code refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Reference {
    /// The address.
    pub(super) to: VirtAddr,
    /// From the first to the last instruction it takes to form it.
    pub(super) site: Range,
}

/// Reads the code of `range`; what it takes is subtracted from `budget`, in
/// bytes, and when that is used up the rest is left out.
///
/// Code that is no instruction (data between functions, or bytes the decoder
/// does not know) is stepped over, and so is what the file does not hold (of a
/// reproducer). What of the code matters is for the caller to keep.
pub(super) fn sweep(image: &Image<'_>, range: Range, budget: &mut u64) -> Seen {
    let size = range.size().min(*budget);
    *budget = budget.saturating_sub(size);
    let end = Range::new(range.start, size).end;
    let here = Range::new(range.start, 0);
    let mut sweep = Sweep { image, range, here, seen: Seen::default(), pages: [None; Reg::COUNT] };
    let mut at = range.start;
    while let Some(next) = image.next_content(at, end) {
        let size = usize::try_from(Range { start: next, end }.size()).unwrap_or(usize::MAX);
        at = sweep.code(next, image.aside(|| image.bytes_from(next, size)));
    }
    let mut seen = sweep.seen;
    for places in [&mut seen.jumps, &mut seen.addresses] {
        sort_by_key(places, |place| (place.to.0, place.site.start.0));
        places.dedup_by_key(|place| place.to);
    }
    seen
}

struct Sweep<'a, 'd> {
    image: &'a Image<'d>,
    range: Range,
    /// The instruction that is read.
    here: Range,
    seen: Seen,
    /// The address an instruction before put into a register (AArch64 forms
    /// addresses in two steps), and where that began.
    pages: [Option<Known>; Reg::COUNT],
}

/// An address that an instruction forms, and the first of the instructions
/// that it takes.
#[derive(Clone, Copy, Debug)]
struct Known {
    address: VirtAddr,
    since: VirtAddr,
}

impl Known {
    fn plus(self, distance: u64) -> Self {
        Self { address: VirtAddr(self.address.0.wrapping_add(distance)), ..self }
    }
}

impl Sweep<'_, '_> {
    /// Reads the instructions in `code`, which lies at `at`; tells where it ends.
    fn code(&mut self, at: VirtAddr, code: &[u8]) -> VirtAddr {
        let end = VirtAddr(at.0.wrapping_add(code.len() as u64));
        match self.image.arch() {
            Arch::X86_64 => self.glance_at(at, end, code),
            Arch::Aarch64 => self.lift(at, end, code),
        }
        end
    }

    /// On x86-64 one instruction names an address.
    fn glance_at(&mut self, mut at: VirtAddr, end: VirtAddr, code: &[u8]) {
        let mut reader = x86_64::Reader::new(code, at);
        let is_fixed = self.image.is_fixed();
        while at < end {
            let seen = reader.glance(at).unwrap_or(Glance { len: 1, ..Glance::default() });
            self.here = Range::new(at, seen.len.into());
            if let Some(to) = seen.jump.filter(|to| !self.range.contains(*to)) {
                self.seen.jumps.push(Reference { to, site: self.here });
            }
            if let Some(to) = seen.call {
                self.seen.calls.push(Reference { to, site: self.here });
            }
            let memory = seen.memory.filter(|_| is_fixed || !seen.is_absolute);
            let immediate = seen.immediate.filter(|_| is_fixed).map(VirtAddr);
            for address in [memory, immediate].into_iter().flatten() {
                self.note(Some(Known { address, since: at }));
            }
            at = self.here.end;
        }
    }

    /// On AArch64 it takes several, so what each does matters.
    fn lift(&mut self, mut at: VirtAddr, end: VirtAddr, code: &[u8]) {
        const LEN: u64 = 4;
        let mut lifter = Lifter::new(Arch::Aarch64, code, at);
        let mut lifted = Lifted::new();
        while at < end {
            self.here = Range::new(at, LEN);
            if lifter.lift(at, &mut lifted).is_ok() {
                self.instruction(&lifted);
            }
            at = self.here.end;
        }
    }

    fn instruction(&mut self, lifted: &Lifted) {
        for op in &lifted.ops {
            self.op(op);
        }
        match lifted.flow {
            Flow::Branch(target) | Flow::Jump(Target::Address(target))
                if !self.range.contains(target) =>
            {
                self.seen.jumps.push(Reference { to: target, site: self.here });
            }
            Flow::Call(Target::Address(target)) => {
                self.seen.calls.push(Reference { to: target, site: self.here });
            }
            Flow::Jump(Target::Memory(address)) | Flow::Call(Target::Memory(address)) => {
                self.address(&address);
            }
            _ => {}
        }
    }

    fn op(&mut self, op: &Op) {
        match *op {
            Op::Move { dst, src, .. } => {
                let known = self.operand(src);
                self.note(known);
                self.set(dst, known);
            }
            Op::Binary { op: BinaryOp::Add, dst, left, right: Operand::Const(more), .. } => {
                let sum = self.operand(left).map(|base| base.plus(more));
                self.note(sum);
                self.set(dst, sum);
            }
            Op::Lea { dst, address, .. } => {
                let known = self.address(&address);
                self.set(dst, known);
            }
            Op::Load { dst, address, .. } => {
                self.address(&address);
                self.set(dst, None);
            }
            Op::Binary { dst, .. }
            | Op::Extend { dst, .. }
            | Op::Select { dst, .. }
            | Op::ThreadPointer { dst }
            | Op::Clobber { dst } => self.set(dst, None),
            Op::Store { .. } | Op::ClobberMemory { .. } | Op::ClobberAllMemory => {}
        }
    }

    fn set(&mut self, dst: Reg, known: Option<Known>) {
        if let Some(page) = self.pages.get_mut(usize::from(dst.0)) {
            *page = known;
        }
    }

    fn operand(&self, operand: Operand) -> Option<Known> {
        let since = self.here.start;
        match operand {
            Operand::Pc(address) => Some(Known { address, since }),
            Operand::Const(number) if self.image.is_fixed() => {
                Some(Known { address: VirtAddr(number), since })
            }
            Operand::Const(_) => None,
            Operand::Reg(reg) => self.pages.get(usize::from(reg.0)).copied().flatten(),
        }
    }

    /// The address without its index.
    fn address(&mut self, address: &Address) -> Option<Known> {
        if address.thread_pointer {
            return None;
        }
        let base = self.operand(address.base)?;
        let sum = base.plus(address.displacement);
        self.note(Some(sum));
        address.index.is_none().then_some(sum)
    }

    fn note(&mut self, known: Option<Known>) {
        if let Some(Known { address, since }) = known
            && address.0.is_multiple_of(8)
            && !self.range.contains(address)
            && self.image.segment_at(address).is_some_and(|segment| !segment.executable)
        {
            let site = Range { start: since.min(self.here.start), end: self.here.end };
            self.seen.addresses.push(Reference { to: address, site });
        }
    }
}
