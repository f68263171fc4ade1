//! Reads a range of code from its start to its end, without following it.

use alloc::vec::Vec;

use crate::{
    addr::VirtAddr,
    code::{
        self,
        ir::{Address, BinaryOp, Flow, Lifted, Op, Operand, Reg, Target},
    },
    image::{Image, Range},
    report::Arch,
};

/// What the code of a range refers to.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Where direct jumps and branches leave the range, in order.
    pub(super) jumps: Vec<VirtAddr>,
    /// Where direct calls go.
    pub(super) calls: Vec<VirtAddr>,
    /// Addresses outside of code that instructions form or use, sorted.
    pub(super) addresses: Vec<VirtAddr>,
}

/// Reads the code of `range`; what it takes is subtracted from `budget`, in
/// bytes, and when that is used up the rest is left out.
///
/// Code that is no instruction (data between functions, or bytes the decoder
/// does not know) is stepped over.
pub(super) fn sweep(image: &Image<'_>, range: Range, budget: &mut u64) -> Seen {
    let size = range.size().min(*budget);
    *budget = budget.saturating_sub(size);
    let mut rest = image.bytes_from(range.start, usize::try_from(size).unwrap_or(usize::MAX));
    let mut sweep = Sweep { image, range, seen: Seen::default(), pages: [None; Reg::COUNT] };
    let mut lifted = Lifted::new();
    let mut at = range.start;
    while !rest.is_empty() {
        let step: u8 = match code::lift(image.arch(), rest, at, &mut lifted) {
            Ok(()) => {
                sweep.instruction(&lifted);
                lifted.len
            }
            Err(_) => match image.arch() {
                Arch::X86_64 => 1,
                Arch::Aarch64 => 4,
            },
        };
        rest = rest.get(usize::from(step.max(1))..).unwrap_or_default();
        at = VirtAddr(at.0.wrapping_add(step.max(1).into()));
    }
    let mut seen = sweep.seen;
    seen.addresses.sort_unstable();
    seen.addresses.dedup();
    seen
}

struct Sweep<'a, 'd> {
    image: &'a Image<'d>,
    range: Range,
    seen: Seen,
    /// The address an instruction before put into a register (AArch64 forms
    /// addresses in two steps).
    pages: [Option<VirtAddr>; Reg::COUNT],
}

impl Sweep<'_, '_> {
    fn instruction(&mut self, lifted: &Lifted) {
        for op in &lifted.ops {
            self.op(op);
        }
        match lifted.flow {
            Flow::Branch(target) | Flow::Jump(Target::Address(target)) => {
                if !self.range.contains(target) {
                    self.seen.jumps.push(target);
                }
            }
            Flow::Call(Target::Address(target)) => self.seen.calls.push(target),
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
                let sum = self.operand(left).map(|base| VirtAddr(base.0.wrapping_add(more)));
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

    fn set(&mut self, dst: Reg, known: Option<VirtAddr>) {
        if let Some(page) = self.pages.get_mut(usize::from(dst.0)) {
            *page = known;
        }
    }

    fn operand(&self, operand: Operand) -> Option<VirtAddr> {
        match operand {
            Operand::Pc(address) => Some(address),
            Operand::Const(number) if self.image.is_fixed() => Some(VirtAddr(number)),
            Operand::Const(_) => None,
            Operand::Reg(reg) => self.pages.get(usize::from(reg.0)).copied().flatten(),
        }
    }

    /// The address without its index.
    fn address(&mut self, address: &Address) -> Option<VirtAddr> {
        if address.thread_pointer {
            return None;
        }
        let base = self.operand(address.base)?;
        let sum = VirtAddr(base.0.wrapping_add(address.displacement));
        self.note(Some(sum));
        address.index.is_none().then_some(sum)
    }

    fn note(&mut self, address: Option<VirtAddr>) {
        if let Some(address) = address
            && address.0.is_multiple_of(8)
            && !self.range.contains(address)
            && self.image.segment_at(address).is_some_and(|segment| !segment.executable)
        {
            self.seen.addresses.push(address);
        }
    }
}
