//! A pointer to a thread state, from what a getter returns.

use super::{
    Flow,
    callees::{Callees, Known},
    finding::{Finding, Reason, TlsVariable},
};
use crate::{
    addr::VirtAddr,
    dataflow::{Action, Call, Explorer, Observer, Term, Terms, Value},
    image::Image,
    report::{Arch, Reaches, TlsModel, TlsSegment},
};

/// Follows calls as far as they help to know a result.
#[derive(Debug)]
struct Results<'c, 'a, 'd> {
    callees: &'c Callees<'a, 'd>,
}

impl Observer for Results<'_, '_, '_> {
    fn call(&mut self, call: &Call<'_>, _terms: &Terms) -> Action {
        match self.callees.classify(&call.callee) {
            Known::NoReturn => Action::NoReturn,
            Known::AtomicLoad(size) => Action::Loads(size),
            Known::FakeStack => Action::Returns(0),
            Known::Sanitizer => Action::Skip,
            Known::Instrumentation => Action::Transparent,
            Known::Getspecific => Action::Skip,
            _ => Action::Follow,
        }
    }
}

/// Follows the getter at `entry`; a thread-local variable it returns reaches
/// `reaches`.
pub(super) fn follow(
    explorer: &mut Explorer<'_, '_>,
    image: &Image<'_>,
    callees: &Callees<'_, '_>,
    entry: VirtAddr,
    reaches: Reaches,
) -> Flow {
    let exploration = explorer.explore(entry, &mut Results { callees });
    let found = returned(exploration.returned, &explorer.terms, image, reaches);
    Flow { found, exploration }
}

/// What a returned value says about where the state pointer is kept.
pub(super) fn returned(
    value: Option<Value>,
    terms: &Terms,
    image: &Image<'_>,
    reaches: Reaches,
) -> Result<Finding, Reason> {
    let value = value.filter(|value| value.is_known()).ok_or(Reason::ResultUnknown)?;
    let mut found = Err(Reason::ResultNotLoaded);
    for alternative in terms.alternatives(value) {
        if alternative == Value::number(0) {
            continue;
        }
        let Some(Term::Contents { address, size: 8, .. }) =
            terms.of(alternative).filter(|_| alternative.offset() == 0)
        else {
            return Err(Reason::ResultNotLoaded);
        };
        if found.is_ok() {
            return Err(Reason::ResultUnknown);
        }
        found = match terms.as_address(address, image.is_fixed()) {
            Some(address) => Ok(Finding::Global { reaches: Reaches::Holder, address }),
            None => variable(address, terms, image)
                .map(|variable| Finding::ThreadLocal { reaches, variable }),
        };
    }
    found
}

/// The thread-local variable at an abstract address.
fn variable(address: Value, terms: &Terms, image: &Image<'_>) -> Result<TlsVariable, Reason> {
    let offset = address.offset();
    match terms.of(address) {
        Some(Term::ThreadPointer) => {
            let tp_offset = offset.cast_signed();
            let tls = image.tls();
            let module_offset = tls.and_then(|tls| module_offset(image.arch(), &tls, tp_offset));
            Ok(TlsVariable {
                model: Some(TlsModel::LocalExec),
                module_offset,
                got_slot: None,
                slot_offset: None,
                tp_offset: Some(tp_offset),
            })
        }
        Some(Term::TlsBlock { slot, start, padded }) => {
            let displaced = offset != start;
            let model = if !displaced && (padded || start != 0 || image.arch() == Arch::Aarch64) {
                TlsModel::GeneralDynamic
            } else {
                TlsModel::LocalDynamic
            };
            Ok(TlsVariable {
                model: Some(model),
                module_offset: Some(offset),
                got_slot: Some(slot),
                slot_offset: None,
                tp_offset: None,
            })
        }
        Some(Term::Sum(first, second)) => {
            let parts = [terms.get(first), terms.get(second)];
            if !parts.contains(&Some(Term::ThreadPointer)) {
                return Err(Reason::ResultNotLoaded);
            }
            parts
                .into_iter()
                .find_map(|part| match part? {
                    Term::TpOffset { slot, module_offset, descriptor } => Some(TlsVariable {
                        model: Some(if descriptor {
                            TlsModel::Descriptor
                        } else {
                            TlsModel::InitialExec
                        }),
                        module_offset: Some(module_offset.wrapping_add(offset)),
                        got_slot: Some(slot),
                        slot_offset: Some(module_offset),
                        tp_offset: None,
                    }),
                    _ => None,
                })
                .ok_or(Reason::ResultNotLoaded)
        }
        _ => Err(Reason::ResultNotLoaded),
    }
}

/// Where the TLS block of an executable starts, in bytes from the thread
/// pointer (ELF Handling For Thread-Local Storage, section 3; the rounding
/// with `p_vaddr` modulo `p_align` is what linkers and glibc agree on).
#[must_use]
pub fn executable_block_start(arch: Arch, tls: &TlsSegment) -> Option<i64> {
    let mask = tls.align.max(1).checked_next_power_of_two()?.wrapping_sub(1);
    let start = match arch {
        // Variant II: the block ends at the thread pointer.
        Arch::X86_64 => {
            let end = tls.address.0.wrapping_add(tls.memory_size);
            tls.memory_size.checked_add(end.wrapping_neg() & mask)?.wrapping_neg()
        }
        // Variant I: the block follows two words of thread control block.
        Arch::Aarch64 => {
            const CONTROL_BLOCK: u64 = 16;
            CONTROL_BLOCK.checked_add(tls.address.0.wrapping_sub(CONTROL_BLOCK) & mask)?
        }
    };
    Some(start.cast_signed())
}

/// Offset in the executable's TLS block of what lies `tp_offset` bytes from
/// the thread pointer; `None` outside of the block.
fn module_offset(arch: Arch, tls: &TlsSegment, tp_offset: i64) -> Option<u64> {
    let start = executable_block_start(arch, tls)?;
    let offset = tp_offset.checked_sub(start)?;
    u64::try_from(offset).ok().filter(|offset| *offset < tls.memory_size)
}

/// The thread-pointer offset of what lies `module_offset` bytes into the
/// executable's TLS block.
#[must_use]
pub fn tp_offset(arch: Arch, tls: &TlsSegment, module_offset: u64) -> Option<i64> {
    executable_block_start(arch, tls)?.checked_add_unsigned(module_offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(address: u64, memory_size: u64, align: u64) -> TlsSegment {
        TlsSegment { address: VirtAddr(address), file_size: 0, memory_size, align }
    }

    /// Debian's 3.15 executable for amd64: size 0x29, the variable at 0x10 is
    /// 0x20 below the thread pointer.
    #[test]
    fn variant_two_rounds_the_block_up() {
        let tls = segment(0x1000, 0x29, 8);
        assert_eq!(tp_offset(Arch::X86_64, &tls, 0x10), Some(-0x20));
        assert_eq!(module_offset(Arch::X86_64, &tls, -0x20), Some(0x10));
        assert_eq!(module_offset(Arch::X86_64, &tls, -0x38), None);
    }

    /// A segment that starts inside an alignment unit keeps its remainder.
    #[test]
    fn a_biased_segment_keeps_its_remainder() {
        let tls = segment(0x1010, 0x50, 0x40);
        let start = executable_block_start(Arch::X86_64, &tls).unwrap();
        assert_eq!(start.rem_euclid(0x40), 0x10);
        assert!(start <= -0x50 && start > -0x90);
        let start = executable_block_start(Arch::Aarch64, &tls).unwrap();
        assert_eq!((start, start.rem_euclid(0x40)), (0x10, 0x10));
        let aligned = segment(0x1000, 0x50, 0x40);
        assert_eq!(executable_block_start(Arch::Aarch64, &aligned), Some(0x40));
    }
}
