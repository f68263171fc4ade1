//! *First offset added to the thread pointer answers*.
//!
//! Describes `extractTLSOffsetFromCodeARM64` of the OpenTelemetry eBPF
//! profiler as of b442421 (2026), which reads `_PyThreadState_GetCurrent` for
//! 3.13 and later: within 16 instructions behind `mrs tpidr_el0`, the first
//! `add` or `ldr` with an immediate of 1 to 4095 on it. Shifts are dropped and
//! what is added later is not seen, so the second half of a pair or the load's
//! own displacement is missed; `b` is followed, five deep.

use super::{
    Answer, Failure,
    first_fs_load::{ATTACHED_GETTER, WINDOW},
    last_argument_offset::{added, is_branch, loaded_from, register},
    stub::Stub,
};
use crate::{
    addr::VirtAddr,
    code::aarch64::{decode, flow::TPIDR_EL0, word::Word},
    image::Image,
};

/// Bytes read at the target of a branch.
const TARGET_WINDOW: usize = 256;
/// How many branches are followed.
const DEPTH: usize = 6;
/// Bytes from the `mrs` within which the offset is looked for.
const LOOK_AHEAD: usize = 64;

pub(super) fn find(image: &Image<'_>) -> Result<Answer<i64>, Failure> {
    let stub = Stub::read(image, ATTACHED_GETTER, WINDOW)?;
    let mut seen_thread_pointer = None;
    let mut pending = alloc::vec![stub];
    let mut visited = alloc::vec![];
    while let Some(stub) = pending.pop() {
        if visited.contains(&stub.address) || visited.len() >= DEPTH {
            continue;
        }
        visited.push(stub.address);
        match scan(&stub, &mut seen_thread_pointer) {
            Scan::Found(answer) => return Ok(answer),
            Scan::Branches(targets) => {
                pending.extend(targets.into_iter().rev().map(|address| Stub {
                    address,
                    code: image.bytes_from(address, TARGET_WINDOW),
                }));
            }
        }
    }
    Err(match seen_thread_pointer {
        Some(at) => {
            let detail = "No small offset is added to the thread pointer behind it.";
            Failure::new("offset-not-added", at, detail)
        }
        None => Failure::new(
            "no-thread-pointer",
            None,
            "The code does not read the thread pointer itself.",
        ),
    })
}

enum Scan {
    Found(Answer<i64>),
    Branches(alloc::vec::Vec<VirtAddr>),
}

fn scan(stub: &Stub<'_>, seen: &mut Option<VirtAddr>) -> Scan {
    let mut branches = alloc::vec![];
    // The decoder stops one instruction before the end.
    let words = stub.code.len().saturating_sub(1) / 4;
    let instruction = |index: usize| -> Option<Word> {
        let start = index.checked_mul(4)?;
        let bytes = stub.code.get(start..).filter(|_| index < words)?;
        decode(bytes).ok()
    };
    for index in 0..words {
        let at = VirtAddr(stub.address.0.wrapping_add(index as u64 * 4));
        let Some(current) = instruction(index) else {
            continue;
        };
        let reads_thread_pointer =
            current.is(0xfff0_0000, 0xd530_0000) && current.bits(5, 15) == TPIDR_EL0;
        if reads_thread_pointer {
            let Some(target) = register(current.number(0)) else { continue };
            *seen = seen.or(Some(at));
            let following = (index.saturating_add(1)..index.saturating_add(LOOK_AHEAD / 4))
                .map(|next| (next, instruction(next)));
            if let Some((next, offset)) = first_offset(target, following) {
                let at = VirtAddr(stub.address.0.wrapping_add(next as u64 * 4));
                return Scan::Found(Answer { value: offset, at: Some(at) });
            }
        } else if is_branch(current) {
            branches.push(current.target(at));
        }
    }
    Scan::Branches(branches)
}

fn first_offset(
    mut pointer: u8,
    following: impl Iterator<Item = (usize, Option<Word>)>,
) -> Option<(usize, i64)> {
    for (index, instruction) in following {
        let Some(word) = instruction else { continue };
        let offset = if let Some(immediate) = added(word) {
            if word.number(5) != pointer {
                continue;
            }
            pointer = register(word.number(0)).unwrap_or(pointer);
            immediate
        } else if let Some((base, offset)) = loaded_from(word) {
            if base != pointer {
                continue;
            }
            offset
        } else {
            continue;
        };
        if (1..4096).contains(&offset) {
            return Some((index, offset as i64));
        }
    }
    None
}
