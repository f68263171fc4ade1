//! The sampling program: runs in the kernel at every tick of a perf event.
//!
//! `sample` finds the thread state of the thread that was interrupted, `walk`
//! collects its frames, `copy` sends the names of code objects this CPU has
//! not seen before; each calls the next. `fork`, `exec` and `exit` keep the
//! configurations of processes right between the ticks.
//!
//! On the sampling path only per-CPU memory is written, and the ring buffer.

#![cfg_attr(target_arch = "bpf", no_std)]
#![cfg_attr(target_arch = "bpf", no_main)]
#![cfg_attr(target_arch = "bpf", feature(asm_experimental_arch))]

#[cfg(target_arch = "bpf")]
mod program;

#[cfg(target_arch = "bpf")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

/// The license the kernel requires of programs that use its GPL helpers.
#[cfg(target_arch = "bpf")]
#[unsafe(no_mangle)]
#[unsafe(link_section = "license")]
static LICENSE: [u8; 13] = *b"Dual MIT/GPL\0";

#[cfg(not(target_arch = "bpf"))]
fn main() {
    eprintln!("this program runs in the kernel: build it with `cargo xtask ebpf`");
}
