//! Finding Python in processes: which image holds the runtime, where it lies,
//! and what the analyzer says about it.

pub(crate) mod bias;
pub(crate) mod build;
pub(crate) mod memory;
pub(crate) mod process;
mod static_data;
