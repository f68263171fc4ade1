//! Facts about the task that was interrupted, from the kernel's structures.

use agent_ebpf::kernel::Kernel;
use aya_ebpf::helpers::{bpf_get_current_pid_tgid, generated::bpf_get_current_task};

use super::memory;

/// PID namespaces nest this deep at most (`MAX_PID_NS_LEVEL`, include/linux/pid_namespace.h).
const LEVELS: u32 = 32;

/// The ids of the current thread in the agent's PID namespace: process, thread.
#[inline(always)]
pub(super) fn current_ids(kernel: &Kernel) -> Option<(u32, u32)> {
    if kernel.agent_namespace == 0 {
        let ids = bpf_get_current_pid_tgid();
        return Some(((ids >> 32) as u32, ids as u32));
    }
    // SAFETY: no arguments.
    let task = unsafe { bpf_get_current_task() };
    Some((process_id(kernel, task)?, number(kernel, task)?))
}

/// The process id of a task in the agent's PID namespace.
#[inline(always)]
pub(super) fn process_id(kernel: &Kernel, task: u64) -> Option<u32> {
    if kernel.agent_namespace == 0 {
        return memory::kernel(task + u64::from(kernel.task_tgid)).ok();
    }
    let leader = memory::kernel(task + u64::from(kernel.task_group_leader)).ok()?;
    number(kernel, leader)
}

/// Whether a task is the first thread of its process.
#[inline(always)]
pub(super) fn leads(kernel: &Kernel, task: u64) -> bool {
    let pid: Result<u32, _> = memory::kernel(task + u64::from(kernel.task_pid));
    let tgid: Result<u32, _> = memory::kernel(task + u64::from(kernel.task_tgid));
    matches!((pid, tgid), (Ok(pid), Ok(tgid)) if pid == tgid)
}

/// The current thread's user thread pointer.
#[inline(always)]
pub(super) fn thread_pointer(kernel: &Kernel) -> Option<u64> {
    // SAFETY: no arguments.
    let task = unsafe { bpf_get_current_task() };
    memory::kernel(task + u64::from(kernel.task_thread_pointer)).ok()
}

/// The number of a task's `struct pid` at the level of the agent's namespace.
#[inline(always)]
fn number(kernel: &Kernel, task: u64) -> Option<u32> {
    let pid: u64 = memory::kernel(task + u64::from(kernel.task_thread_pid)).ok()?;
    let level: u32 = memory::kernel(pid + u64::from(kernel.pid_level)).ok()?;
    let mut upid = pid + u64::from(kernel.pid_numbers);
    for step in 0..LEVELS {
        if step > level {
            break;
        }
        let namespace: u64 = memory::kernel(upid + u64::from(kernel.upid_ns)).ok()?;
        let inode: u32 = memory::kernel(namespace + u64::from(kernel.namespace_inode)).ok()?;
        if inode == kernel.agent_namespace {
            return memory::kernel(upid + u64::from(kernel.upid_nr)).ok();
        }
        upid += u64::from(kernel.upid_size);
    }
    None
}
