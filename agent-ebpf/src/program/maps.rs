//! The maps, and what each CPU keeps between the programs of one sample.

use agent_ebpf::{
    counter::{COUNTERS as COUNTER_COUNT, Counter},
    event::{Class, Code, Entry, Sample},
    kernel::Kernel,
    limit::{
        CODE_BYTES, FRAME_BYTES, LINES_BYTES, NAME_BYTES, PENDING, PROCESSES, RING_BYTES,
        SEEN_ENTRIES, STACK_ENTRIES,
    },
    target::{Objects, Target, Walk},
};
use aya_ebpf::{
    macros::map,
    maps::{HashMap, PerCpuArray, ProgramArray, RingBuf},
};

/// What the agent tells about the kernel; set before loading.
#[unsafe(no_mangle)]
static KERNEL: Kernel = Kernel {
    task_thread_pointer: 0,
    task_thread_pid: 0,
    task_group_leader: 0,
    task_pid: 0,
    task_tgid: 0,
    pid_level: 0,
    pid_numbers: 0,
    upid_size: 0,
    upid_nr: 0,
    upid_ns: 0,
    namespace_inode: 0,
    agent_namespace: 0,
    wake_bytes: 0,
    follow_all: 0,
};

/// The facts about the kernel.
#[inline(always)]
pub(super) fn kernel() -> Kernel {
    // SAFETY: a static; volatile, because the loader changes it after compilation.
    unsafe { core::ptr::read_volatile(&raw const KERNEL) }
}

/// [`Kernel::wake_bytes`], without the rest.
#[inline(always)]
pub(super) fn wake_bytes() -> u64 {
    // SAFETY: as in `kernel`.
    u64::from(unsafe { core::ptr::read_volatile(&raw const KERNEL.wake_bytes) })
}

/// Configured processes, by process id in the agent's namespace.
#[map]
pub(super) static TARGETS: HashMap<u32, Target> = HashMap::with_max_entries(PROCESSES, 0);

/// Processes whose forks and execs the agent wants to hear of.
#[map]
pub(super) static FOLLOWED: HashMap<u32, u32> = HashMap::with_max_entries(PROCESSES * 4, 0);

/// To the agent.
#[map]
pub(super) static EVENTS: RingBuf = RingBuf::with_byte_size(RING_BYTES, 0);

/// See [`Counter`].
#[map]
pub(super) static COUNTERS: PerCpuArray<u64> = PerCpuArray::with_max_entries(COUNTER_COUNT, 0);

/// Objects this CPU has copied: [`fingerprint::seen`](agent_ebpf::fingerprint::seen)
/// with the lowest byte replaced by what [`class`](super::class) found out.
#[map]
pub(super) static SEEN: PerCpuArray<u64> = PerCpuArray::with_max_entries(SEEN_ENTRIES, 0);

/// The sample under way.
#[map]
static SCRATCH: PerCpuArray<Scratch> = PerCpuArray::with_max_entries(1, 0);

/// The copy under way.
#[map]
static COPY: PerCpuArray<Copy> = PerCpuArray::with_max_entries(1, 0);

/// The programs that call each other; filled by the agent.
#[map]
pub(super) static PROGRAMS: ProgramArray = ProgramArray::with_max_entries(2, 0);

/// Index of the walking program in [`PROGRAMS`].
pub(super) const PROGRAM_WALK: u32 = 0;
/// Index of the copying program in [`PROGRAMS`].
pub(super) const PROGRAM_COPY: u32 = 1;

/// The state of one sample.
#[repr(C)]
pub(super) struct Scratch {
    pub(super) sample: Sample,
    pub(super) entries: [Entry; STACK_ENTRIES],
    /// The next frame to walk.
    pub(super) frame: u64,
    pub(super) incarnation: u64,
    pub(super) walk: Walk,
    pub(super) objects: Objects,
    pub(super) frame_bytes: [u8; FRAME_BYTES + 8],
    pub(super) code_bytes: [u8; CODE_BYTES + 8],
    pub(super) pending: [Pending; PENDING],
    pub(super) pending_count: u32,
    pub(super) copied: u32,
    pub(super) boundaries: u32,
    pub(super) reserved: u32,
    /// The `_PyCFrame` whose frames are walked (3.11, 3.12), zero if no other is to be tried.
    pub(super) cframe: u64,
}

/// An object to copy.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Pending {
    /// As in [`Entry::object`].
    pub(super) object: u64,
    pub(super) print: u32,
    /// Its place in [`SEEN`].
    pub(super) slot: u32,
}

/// An event of copied text. Both kinds of header are as long as the space
/// before `data` or shorter; the text follows the header directly.
#[repr(C)]
pub(super) struct Copy {
    pub(super) code: Code,
    pub(super) code_data: [u8; 2 * (NAME_BYTES + 1) + LINES_BYTES + 1],
    pub(super) class: Class,
    pub(super) class_data: [u8; NAME_BYTES + 1],
}

/// This CPU's sample.
#[inline(always)]
pub(super) fn scratch() -> Option<&'static mut Scratch> {
    // SAFETY: per-CPU memory, and the programs of one CPU do not interrupt each other.
    SCRATCH.get_ptr_mut(0).map(|scratch| unsafe { &mut *scratch })
}

/// This CPU's copy.
#[inline(always)]
pub(super) fn copy() -> Option<&'static mut Copy> {
    // SAFETY: as above.
    COPY.get_ptr_mut(0).map(|copy| unsafe { &mut *copy })
}

/// Counts one.
#[inline(always)]
pub(super) fn count(counter: Counter) {
    count_many(counter, 1);
}

/// Counts several.
#[inline(always)]
pub(super) fn count_many(counter: Counter, number: u64) {
    if let Some(place) = COUNTERS.get_ptr_mut(counter as u32) {
        // SAFETY: per-CPU memory.
        unsafe { *place = (*place).wrapping_add(number) };
    }
}
