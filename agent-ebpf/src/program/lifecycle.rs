//! Keeping the configurations right when processes fork, exec and end.

use agent_ebpf::{
    counter::Counter,
    event::{EXEC, EXIT, FORK, Notice},
    kernel::Kernel,
};
use aya_ebpf::{
    helpers::generated::bpf_ktime_get_ns, macros::raw_tracepoint, programs::RawTracePointContext,
};

use super::{
    maps::{EVENTS, FOLLOWED, TARGETS, count, kernel},
    send::FORCE_WAKEUP,
    task,
};

/// `sched_process_fork(parent task, child task)`: the child inherits.
#[raw_tracepoint(tracepoint = "sched_process_fork")]
fn fork(ctx: RawTracePointContext) -> i32 {
    let kernel = kernel();
    let (parent, child): (u64, u64) = (ctx.arg(0), ctx.arg(1));
    if !task::leads(&kernel, child) {
        return 0;
    }
    let (Some(parent), Some(child)) =
        (task::process_id(&kernel, parent), task::process_id(&kernel, child))
    else {
        return 0;
    };
    // A process that had this number before is gone.
    let _ = TARGETS.remove(child);
    // SAFETY: no arguments.
    let time = unsafe { bpf_ktime_get_ns() };
    let mut incarnation = 0;
    let mut parent_incarnation = 0;
    // SAFETY: entries are replaced, not changed in place, once a process runs.
    if let Some(target) = unsafe { TARGETS.get(parent) } {
        parent_incarnation = target.incarnation;
        if TARGETS.insert(child, target, 0).is_ok()
            && let Some(own) = TARGETS.get_ptr_mut(child)
        {
            // The child does not run yet. Its number is told from those the agent
            // gives by the highest bit.
            incarnation = 1 << 63 | time << 16 & !(1 << 63) | u64::from(child) & 0xffff;
            // SAFETY: nobody else uses the entry yet.
            unsafe { (*own).incarnation = incarnation };
            count(Counter::Inherited);
        } else {
            count(Counter::InheritFailed);
        }
    }
    if follows(&kernel, parent) {
        let _ = FOLLOWED.insert(child, 1, 0);
        notify(Notice {
            kind: FORK,
            pid: child,
            time,
            incarnation,
            parent,
            reserved: 0,
            parent_incarnation,
        });
    }
    0
}

/// `sched_process_exec(task, old pid, binprm)`: another program, nothing is known about it.
#[raw_tracepoint(tracepoint = "sched_process_exec")]
fn exec(ctx: RawTracePointContext) -> i32 {
    let kernel = kernel();
    let Some(pid) = task::process_id(&kernel, ctx.arg(0)) else { return 0 };
    // SAFETY: as above.
    let incarnation = unsafe { TARGETS.get(pid) }.map_or(0, |target| target.incarnation);
    let _ = TARGETS.remove(pid);
    ended_or_replaced(&kernel, EXEC, pid, incarnation);
    0
}

/// `sched_process_exit(task)`: told when the first thread ends; the agent looks
/// whether others go on.
#[raw_tracepoint(tracepoint = "sched_process_exit")]
fn exit(ctx: RawTracePointContext) -> i32 {
    let kernel = kernel();
    let ending: u64 = ctx.arg(0);
    if !task::leads(&kernel, ending) {
        return 0;
    }
    let Some(pid) = task::process_id(&kernel, ending) else { return 0 };
    // SAFETY: as above.
    let incarnation = unsafe { TARGETS.get(pid) }.map_or(0, |target| target.incarnation);
    ended_or_replaced(&kernel, EXIT, pid, incarnation);
    0
}

#[inline(always)]
fn ended_or_replaced(kernel: &Kernel, kind: u32, pid: u32, incarnation: u64) {
    if follows(kernel, pid) {
        notify(Notice {
            kind,
            pid,
            // SAFETY: no arguments.
            time: unsafe { bpf_ktime_get_ns() },
            incarnation,
            parent: 0,
            reserved: 0,
            parent_incarnation: 0,
        });
    }
}

#[inline(always)]
fn follows(kernel: &Kernel, pid: u32) -> bool {
    // SAFETY: only whether there is an entry is looked at.
    kernel.follow_all != 0 || unsafe { FOLLOWED.get(pid) }.is_some()
}

#[inline(always)]
fn notify(notice: Notice) {
    match EVENTS.reserve::<Notice>(0) {
        Some(mut place) => {
            place.write(notice);
            place.submit(FORCE_WAKEUP);
        }
        None => count(Counter::NoticeRingFull),
    }
}
