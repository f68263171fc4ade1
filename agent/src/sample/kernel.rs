//! What the program must know about the kernel it runs on.

use std::os::unix::fs::MetadataExt as _;

use agent_ebpf::kernel::Kernel;
use anyhow::{Context, Result};

use super::btf::Btf;

/// Inode number of the initial PID namespace (`PROC_PID_INIT_INO`, include/linux/proc_ns.h).
const INITIAL_PID_NAMESPACE: u64 = 0xefff_fffc;

/// The running kernel's offsets from its BTF, and the agent's PID namespace.
///
/// # Errors
/// The kernel has no BTF, or a structure lacks a member that is needed.
pub(crate) fn facts(wake_bytes: u32, follow_all: bool) -> Result<Kernel> {
    let btf = Btf::of_running_kernel()?;
    let namespace = std::fs::metadata("/proc/self/ns/pid")
        .context("the agent's PID namespace cannot be told from /proc/self/ns/pid")?
        .ino();
    let thread_pointer: &[&str] = if cfg!(target_arch = "aarch64") {
        &["thread", "uw", "tp_value"]
    } else {
        &["thread", "fsbase"]
    };
    Ok(Kernel {
        task_thread_pointer: btf.offset("task_struct", thread_pointer)?,
        task_thread_pid: btf.offset("task_struct", &["thread_pid"])?,
        task_group_leader: btf.offset("task_struct", &["group_leader"])?,
        task_pid: btf.offset("task_struct", &["pid"])?,
        task_tgid: btf.offset("task_struct", &["tgid"])?,
        pid_level: btf.offset("pid", &["level"])?,
        pid_numbers: btf.offset("pid", &["numbers"])?,
        upid_size: btf.size("upid")?,
        upid_nr: btf.offset("upid", &["nr"])?,
        upid_ns: btf.offset("upid", &["ns"])?,
        namespace_inode: btf.offset("pid_namespace", &["ns", "inum"])?,
        agent_namespace: if namespace == INITIAL_PID_NAMESPACE {
            0
        } else {
            u32::try_from(namespace).context("the PID namespace has a number beyond 32 bits")?
        },
        wake_bytes,
        follow_all: u32::from(follow_all),
    })
}
