//! Reading the memory of the process that was interrupted.

use core::ffi::c_void;

use aya_ebpf::helpers::generated;

/// The memory is not there, or not resident: a program that runs with page
/// faults disabled cannot tell which.
pub(super) struct Fault;

/// One value at a user address.
#[inline(always)]
pub(super) fn user<T>(address: u64) -> Result<T, Fault> {
    let mut value = core::mem::MaybeUninit::<T>::uninit();
    // SAFETY: the helper checks the address; the value is plain data of its size.
    let status = unsafe {
        generated::bpf_probe_read_user(
            value.as_mut_ptr().cast::<c_void>(),
            size_of::<T>() as u32,
            address as *const c_void,
        )
    };
    if status == 0 { Ok(unsafe { value.assume_init() }) } else { Err(Fault) }
}

/// `size` bytes at a user address into `place`, which has room for them.
#[inline(always)]
pub(super) unsafe fn user_bytes(place: *mut u8, size: u64, address: u64) -> Result<(), Fault> {
    // SAFETY: the verifier proves the room.
    let status = unsafe {
        generated::bpf_probe_read_user(
            place.cast::<c_void>(),
            size as u32,
            address as *const c_void,
        )
    };
    if status == 0 { Ok(()) } else { Err(Fault) }
}

/// One value at a kernel address.
#[inline(always)]
pub(super) fn kernel<T>(address: u64) -> Result<T, Fault> {
    let mut value = core::mem::MaybeUninit::<T>::uninit();
    // SAFETY: as in `user`.
    let status = unsafe {
        generated::bpf_probe_read_kernel(
            value.as_mut_ptr().cast::<c_void>(),
            size_of::<T>() as u32,
            address as *const c_void,
        )
    };
    if status == 0 { Ok(unsafe { value.assume_init() }) } else { Err(Fault) }
}

/// A value at `offset` in a buffer of `SIZE` bytes (a power of two) that has
/// eight bytes more. The offset is cut to the buffer, so that the verifier
/// sees its bound; the agent has checked it against the same size.
#[inline(always)]
pub(super) unsafe fn field<T: Copy, const SIZE: u32>(buffer: *const u8, offset: u32) -> T {
    let offset = bounded(offset) & (SIZE as u64 - 1);
    // SAFETY: at most SIZE - 1, and the buffer has eight bytes more.
    unsafe { buffer.add(offset as usize).cast::<T>().read_unaligned() }
}

/// The same number, about which the compiler assumes nothing: keeps it from
/// moving, merging or splitting the checks that the verifier needs to see. In
/// 64 bits, because the verifier loses a bound that was checked on a
/// zero-extended copy of a register.
#[inline(always)]
pub(super) fn bounded(number: u32) -> u64 {
    let mut number = u64::from(number);
    // SAFETY: no instruction.
    unsafe {
        core::arch::asm!("/* {0} */", inout(reg) number, options(nomem, nostack, preserves_flags));
    }
    number
}
