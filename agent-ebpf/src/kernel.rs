//! What the program must be told about the kernel it runs on.

/// Offsets in the kernel's structures, from its BTF, and the agent's place
/// among the PID namespaces. The agent sets the program's global `KERNEL` to
/// it before loading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Kernel {
    /// Bytes from `struct task_struct` to the user thread pointer
    /// (`thread.fsbase` on x86-64, `thread.uw.tp_value` on aarch64).
    pub task_thread_pointer: u32,
    /// Bytes from `struct task_struct` to `thread_pid`.
    pub task_thread_pid: u32,
    /// Bytes from `struct task_struct` to `group_leader`.
    pub task_group_leader: u32,
    /// Bytes from `struct task_struct` to `pid`.
    pub task_pid: u32,
    /// Bytes from `struct task_struct` to `tgid`.
    pub task_tgid: u32,
    /// Bytes from `struct pid` to `level`.
    pub pid_level: u32,
    /// Bytes from `struct pid` to `numbers`.
    pub pid_numbers: u32,
    /// Size of `struct upid`.
    pub upid_size: u32,
    /// Bytes from `struct upid` to `nr`.
    pub upid_nr: u32,
    /// Bytes from `struct upid` to `ns`.
    pub upid_ns: u32,
    /// Bytes from `struct pid_namespace` to `ns.inum`.
    pub namespace_inode: u32,
    /// Inode number of the agent's PID namespace; zero when it is the initial one.
    pub agent_namespace: u32,
    /// Bytes waiting in the ring buffer from which on the agent is woken at once.
    pub wake_bytes: u32,
    /// Not zero: every process is followed, not only those in the map `FOLLOWED`.
    pub follow_all: u32,
}

const _: () = assert!(size_of::<Kernel>() == 56);
