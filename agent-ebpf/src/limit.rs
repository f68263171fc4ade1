//! Bounds that both sides rely on.

/// Entries of one stack: frames and class notes together.
pub const STACK_ENTRIES: usize = 1024;

/// Entries walked by one run of the walking program before it calls itself again.
pub const WALK_STEPS: usize = 64;

/// Bytes read of one frame at most.
pub const FRAME_BYTES: usize = 128;

/// Bytes read of one code object at most.
pub const CODE_BYTES: usize = 256;

/// Code objects and types one sample can queue for copying.
pub const PENDING: usize = 64;

/// Objects copied by one run of the copying program before it calls itself again.
pub const COPY_STEPS: usize = 4;

/// Bytes copied of a name or a file name at most; one less than a power of two.
pub const NAME_BYTES: usize = 1023;

/// Bytes copied of a line table at most; one less than a power of two.
pub const LINES_BYTES: usize = 8191;

/// Entries of each CPU's table of objects already copied; a power of two.
pub const SEEN_ENTRIES: u32 = 16384;

/// Thread states looked at when a thread is searched in the interpreter's list.
pub const THREADS: usize = 128;

/// Processes that can be configured at once.
pub const PROCESSES: u32 = 8192;

/// Bytes of the ring buffer, unless the agent asks for another size; a power of two.
pub const RING_BYTES: u32 = 8 << 20;
