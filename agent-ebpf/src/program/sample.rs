//! The start of a sample: which process, which thread state.

use agent_ebpf::{
    counter::Counter,
    event,
    status::{GilState, PthreadIdMatch, RouteStatus, StackStatus, StateSource, ThreadStateMatch},
    target::{ROUTE_GLOBAL, Target},
};
use aya_ebpf::{
    EbpfContext,
    helpers::{
        bpf_get_current_comm,
        generated::{bpf_get_smp_processor_id, bpf_ktime_get_ns},
    },
    macros::perf_event,
    programs::PerfEventContext,
};

use super::{
    gil,
    maps::{PROGRAM_WALK, PROGRAMS, Scratch, TARGETS, count, kernel, scratch},
    memory, send, task, thread_state, walk,
};

/// Runs at every tick.
#[perf_event]
fn sample(ctx: PerfEventContext) -> u32 {
    count(Counter::Ticks);
    let kernel = kernel();
    let Some((pid, tid)) = task::current_ids(&kernel) else {
        count(Counter::OutsideNamespace);
        return 0;
    };
    // SAFETY: the agent replaces entries, it does not change them in place.
    let Some(target) = (unsafe { TARGETS.get(pid) }) else {
        count(Counter::Unconfigured);
        return 0;
    };
    let Some(scratch) = scratch() else { return 0 };
    begin(scratch, target, pid, tid);
    match task::thread_pointer(&kernel) {
        Some(thread_pointer) if thread_pointer != 0 => {
            walk_from(&ctx, scratch, target, thread_pointer);
        }
        _ => send::sample(&ctx, scratch, StackStatus::NO_STATE),
    }
    0
}

/// Fills in what does not depend on the thread state.
#[inline(always)]
fn begin(scratch: &mut Scratch, target: &Target, pid: u32, tid: u32) {
    scratch.walk = target.walk;
    scratch.objects = target.objects;
    scratch.incarnation = target.incarnation;
    scratch.frame = 0;
    scratch.pending_count = 0;
    scratch.copied = 0;
    scratch.boundaries = 0;
    scratch.cframe = 0;
    let sample = &mut scratch.sample;
    sample.kind = event::SAMPLE;
    // SAFETY: no arguments; so below.
    sample.cpu = unsafe { bpf_get_smp_processor_id() };
    sample.time = unsafe { bpf_ktime_get_ns() };
    sample.incarnation = target.incarnation;
    sample.state = 0;
    sample.interpreter = 0;
    sample.pid = pid;
    sample.tid = tid;
    sample.comm = bpf_get_current_comm().unwrap_or_default();
    sample.thread_state_match = ThreadStateMatch::UNKNOWN;
    sample.gil_state = GilState::NO_INFO;
    sample.pthread_id_match = PthreadIdMatch::THREAD_STATE_NULL;
    sample.stack_status = StackStatus::COMPLETE;
    sample.source = StateSource::NONE;
    sample.owned_status = RouteStatus::ABSENT;
    sample.attached_status = RouteStatus::ABSENT;
    sample.reserved = 0;
    sample.entries = 0;
    sample.frames = 0;
}

/// Finds the thread state and starts the walk.
#[inline(always)]
fn walk_from<C: EbpfContext>(ctx: &C, scratch: &mut Scratch, target: &Target, thread_pointer: u64) {
    let (owned, owned_status) = thread_state::follow(target, &target.owned, thread_pointer);
    let (current, current_status) = thread_state::follow(target, &target.attached, thread_pointer);
    let this = thread_state::pthread_self(target, thread_pointer);
    scratch.sample.owned_status = owned_status;
    scratch.sample.attached_status = current_status;
    scratch.sample.thread_state_match = compare(owned, owned_status, current, current_status);

    // A process-wide current state counts for this thread only if this thread made it.
    let attached = if current != 0
        && current != owned
        && target.attached.kind == ROUTE_GLOBAL
        && (this.is_none() || made_by(target, current) != this)
    {
        0
    } else {
        current
    };
    let (state, source) = if attached != 0 {
        (attached, StateSource::ATTACHED)
    } else if owned != 0 {
        (owned, StateSource::OWNED)
    } else {
        (0, StateSource::NONE)
    };
    scratch.sample.source = source;
    scratch.sample.state = state;
    if state == 0 {
        scratch.sample.gil_state = gil::state(&target.gil, owned, current, 0);
        send::sample(ctx, scratch, StackStatus::NO_STATE);
        return;
    }
    scratch.sample.pthread_id_match = match (made_by(target, state), this) {
        (None, _) => PthreadIdMatch::ERROR,
        (Some(0), _) => PthreadIdMatch::NULL,
        (Some(_), None) => PthreadIdMatch::UNKNOWN,
        (Some(maker), Some(this)) if maker == this => PthreadIdMatch::MATCH,
        (Some(_), Some(_)) => PthreadIdMatch::MISMATCH,
    };
    let interpreter =
        memory::user(state + u64::from(target.walk.state_interpreter)).unwrap_or_default();
    scratch.sample.interpreter = interpreter;
    scratch.sample.gil_state = gil::state(&target.gil, owned, current, interpreter);
    match walk::first_frame(scratch, state) {
        Ok(frame) => {
            scratch.frame = frame;
            // SAFETY: nothing needs to be dropped.
            unsafe { PROGRAMS.tail_call(ctx, PROGRAM_WALK) };
            count(Counter::WalkCallFailed);
        }
        Err(status) => send::sample(ctx, scratch, status),
    }
}

/// `thread_id` of a thread state.
#[inline(always)]
fn made_by(target: &Target, state: u64) -> Option<u64> {
    memory::user(state + u64::from(target.walk.state_thread_id)).ok()
}

#[inline(always)]
fn compare(
    owned: u64,
    owned_status: RouteStatus,
    current: u64,
    current_status: RouteStatus,
) -> ThreadStateMatch {
    let unknown = |status| status == RouteStatus::ABSENT || status == RouteStatus::FAULT;
    if unknown(owned_status) || unknown(current_status) {
        ThreadStateMatch::UNKNOWN
    } else if owned == 0 && current == 0 {
        ThreadStateMatch::BOTH_NULL
    } else if owned == 0 {
        ThreadStateMatch::THIS_THREAD_NULL
    } else if current == 0 {
        ThreadStateMatch::GLOBAL_CURRENT_THREAD_NULL
    } else if owned == current {
        ThreadStateMatch::MATCH
    } else {
        ThreadStateMatch::MISMATCH
    }
}
