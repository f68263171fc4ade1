//! From a thread pointer to a `PyThreadState`.

use agent_ebpf::{
    limit::THREADS,
    status::RouteStatus,
    target::{
        Dtv, ROUTE_DTV, ROUTE_GLOBAL, ROUTE_KEY, ROUTE_LIST, ROUTE_THREAD_POINTER, Route,
        SHAPE_ARRAY, SHAPE_TWO_LEVEL, Target, ThreadData, UNKNOWN_DISTANCE,
    },
};

use super::memory::{self, Fault};

/// Keys a C library has at most (glibc: `PTHREAD_KEYS_MAX`, 1024; musl: 128).
const KEYS: u32 = 1024;

/// Follows a route: the state (null where there is none) and how that went.
#[inline(always)]
pub(super) fn follow(target: &Target, route: &Route, thread_pointer: u64) -> (u64, RouteStatus) {
    let found = match route.kind {
        ROUTE_KEY => by_key(&target.thread_data, route, thread_pointer),
        ROUTE_THREAD_POINTER => read(thread_pointer.wrapping_add(route.place)),
        ROUTE_DTV => by_dtv(&target.dtv, route, thread_pointer),
        ROUTE_GLOBAL => read(route.place),
        ROUTE_LIST => by_list(target, route, thread_pointer),
        _ => return (0, RouteStatus::ABSENT),
    };
    found.unwrap_or((0, RouteStatus::FAULT))
}

#[inline(always)]
fn read(address: u64) -> Result<(u64, RouteStatus), Fault> {
    Ok((memory::user(address)?, RouteStatus::READ))
}

/// The word of a pthread key: `pthread_getspecific`, without its check of the
/// sequence number, which matters only for keys that were deleted.
#[inline(always)]
fn by_key(
    data: &ThreadData,
    route: &Route,
    thread_pointer: u64,
) -> Result<(u64, RouteStatus), Fault> {
    if route.extra != 0 {
        let created: i32 = memory::user(route.extra)?;
        if created == 0 {
            return Ok((0, RouteStatus::NOT_INITIALIZED));
        }
    }
    let key: u32 = memory::user(route.place)?;
    if key >= KEYS {
        return Ok((0, RouteStatus::NOT_INITIALIZED));
    }
    let first = thread_pointer.wrapping_add(data.first as u64);
    match data.shape {
        SHAPE_TWO_LEVEL => {
            let block_keys = data.block_keys;
            if block_keys == 0 {
                return Err(Fault);
            }
            let block = if key < block_keys {
                first
            } else {
                let blocks = thread_pointer.wrapping_add(data.blocks as u64);
                memory::user(blocks + 8 * u64::from(key / block_keys))?
            };
            if block == 0 {
                return Ok((0, RouteStatus::UNALLOCATED));
            }
            let slot = u64::from(key % block_keys) * u64::from(data.slot_size);
            read(block + slot + u64::from(data.value_offset))
        }
        SHAPE_ARRAY => {
            let array: u64 = memory::user(first)?;
            if array == 0 {
                return Ok((0, RouteStatus::UNALLOCATED));
            }
            read(array + 8 * u64::from(key))
        }
        _ => Ok((0, RouteStatus::ABSENT)),
    }
}

/// A word in a module's TLS block: `__tls_get_addr`, without allocating.
#[inline(always)]
fn by_dtv(dtv: &Dtv, route: &Route, thread_pointer: u64) -> Result<(u64, RouteStatus), Fault> {
    if dtv.entry_size == 0 {
        return Ok((0, RouteStatus::ABSENT));
    }
    let entries: u64 = memory::user(thread_pointer.wrapping_add(dtv.pointer as u64))?;
    // A thread's DTV grows when the thread first touches a newer module.
    let length: u64 = memory::user(entries.wrapping_sub(u64::from(dtv.length_back)))?;
    if route.place == 0 || route.place > length {
        return Ok((0, RouteStatus::UNALLOCATED));
    }
    let block: u64 = memory::user(entries + route.place * u64::from(dtv.entry_size))?;
    if block == 0 || block == u64::MAX {
        return Ok((0, RouteStatus::UNALLOCATED));
    }
    read(block.wrapping_add(route.extra))
}

/// What `pthread_self()` returns in this thread, if it is known.
#[inline(always)]
pub(super) fn pthread_self(target: &Target, thread_pointer: u64) -> Option<u64> {
    (target.pthread_self != UNKNOWN_DISTANCE)
        .then(|| thread_pointer.wrapping_add(target.pthread_self as u64))
}

/// The interpreter's thread state whose `thread_id` is this thread's.
#[inline(always)]
fn by_list(
    target: &Target,
    route: &Route,
    thread_pointer: u64,
) -> Result<(u64, RouteStatus), Fault> {
    let Some(this) = pthread_self(target, thread_pointer) else {
        return Ok((0, RouteStatus::ABSENT));
    };
    let mut state: u64 = memory::user(route.place)?;
    for _ in 0..THREADS {
        if state == 0 {
            break;
        }
        let id: u64 = memory::user(state + u64::from(target.walk.state_thread_id))?;
        if id == this {
            return Ok((state, RouteStatus::READ));
        }
        state = memory::user(state + u64::from(target.walk.state_next))?;
    }
    Ok((0, RouteStatus::READ))
}
