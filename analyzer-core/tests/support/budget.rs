//! How much work and memory a case took.

use std::fs;
use std::time::Duration;

/// Processor time of this thread so far: unlike the clock on the wall it says
/// the same on a busy machine.
fn processor_time() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split_whitespace().next().and_then(|word| word.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or_default())
}

/// The most memory this process has held so far, in bytes.
pub(crate) fn peak_memory() -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kilobytes = text
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or_default() * 1024
}

/// Does it, and checks that it took no more processor time than `most`.
///
/// # Panics
/// It took more.
pub(crate) fn within<T>(most: Duration, what: &dyn Fn() -> String, work: impl FnOnce() -> T) -> T {
    let start = processor_time();
    let result = work();
    let taken = processor_time().saturating_sub(start);
    assert!(taken <= most, "{} took {taken:?}, more than {most:?}", what());
    result
}
