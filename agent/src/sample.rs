//! Sampling: the program in the kernel, what it is told and what it sends.

pub(crate) mod btf;
pub(crate) mod collector;
pub(crate) mod event;
pub(crate) mod kernel;
pub(crate) mod processes;
pub(crate) mod program;
pub(crate) mod target;
