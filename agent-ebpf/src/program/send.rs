//! Sending a finished sample.

use agent_ebpf::{
    counter::Counter,
    event::{Entry, Sample},
    limit::STACK_ENTRIES,
    status::StackStatus,
};
use aya_ebpf::{EbpfContext, helpers::generated::bpf_ringbuf_output};

use super::{
    maps::{EVENTS, PROGRAM_COPY, PROGRAMS, Scratch, count, count_many, wake_bytes},
    memory,
};

/// `BPF_RB_NO_WAKEUP`, include/uapi/linux/bpf.h.
const NO_WAKEUP: u64 = 1;
/// `BPF_RB_FORCE_WAKEUP`.
pub(super) const FORCE_WAKEUP: u64 = 2;
/// `BPF_RB_AVAIL_DATA`.
const AVAILABLE_DATA: u64 = 0;

/// Ring buffer flags: the agent looks by itself at least every 50 ms, and is
/// only woken when much is waiting.
#[inline(always)]
pub(super) fn flags() -> u64 {
    if EVENTS.query(AVAILABLE_DATA) > wake_bytes() { FORCE_WAKEUP } else { NO_WAKEUP }
}

/// Sends an event of `size` bytes; the verifier proves that they are there.
#[inline(always)]
pub(super) fn event<T>(event: *const T, size: u64) -> Result<(), ()> {
    // SAFETY: as above.
    let status = unsafe {
        bpf_ringbuf_output(
            (&raw const EVENTS).cast_mut().cast(),
            event.cast_mut().cast(),
            size,
            flags(),
        )
    };
    if status == 0 { Ok(()) } else { Err(()) }
}

/// Sends the sample, counts how it ended, and has the names copied that are new.
#[inline(always)]
pub(super) fn sample<C: EbpfContext>(ctx: &C, scratch: &mut Scratch, status: StackStatus) {
    scratch.sample.stack_status = status;
    match status {
        StackStatus::TRUNCATED => count(Counter::Truncated),
        StackStatus::ERROR => count(Counter::WalkError),
        StackStatus::NOT_RESIDENT => count(Counter::WalkFault),
        StackStatus::NO_STATE => count(Counter::NoState),
        _ => {}
    }
    if scratch.boundaries != 0 {
        count_many(Counter::Boundaries, u64::from(scratch.boundaries));
    }
    let entries = memory::bounded(scratch.sample.entries);
    if entries > STACK_ENTRIES as u64 {
        return;
    }
    let size = size_of::<Sample>() as u64 + entries * size_of::<Entry>() as u64;
    if event(&raw const scratch.sample, size).is_ok() {
        count(Counter::Samples);
    } else {
        count(Counter::SampleRingFull);
    }
    if scratch.pending_count != 0 {
        // SAFETY: nothing needs to be dropped.
        unsafe { PROGRAMS.tail_call(ctx, PROGRAM_COPY) };
    }
}
