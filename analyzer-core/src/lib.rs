//! From an ELF image of CPython to how a profiler reaches a thread's
//! `PyThreadState`.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod addr;
pub mod code;
pub mod image;
pub mod report;
