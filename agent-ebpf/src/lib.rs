//! What crosses the boundary between the kernel and the agent.
//!
//! Plain data with a fixed layout (`#[repr(C)]`, no padding, sizes checked
//! when compiled): the configuration the agent writes for one process
//! ([`target`]), the events the program sends ([`event`]), what a sample says
//! about its thread ([`status`]) and what was counted ([`counter`]). The
//! program is this crate's binary; both sides are built from these files, so
//! they cannot drift apart.
//!
//! All addresses here are run-time addresses of the sampled process.

#![no_std]

pub mod counter;
pub mod event;
pub mod fingerprint;
pub mod kernel;
pub mod limit;
pub mod status;
pub mod target;
