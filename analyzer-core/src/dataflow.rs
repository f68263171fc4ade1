//! What registers, stack slots and memory hold while a function runs, without
//! running it.
//!
//! [`Explorer`] executes the lifted form of a function over all of its paths
//! on abstract [`Value`]s. It knows instructions, the calling convention and
//! what relocations will put into memory; it knows nothing about Python. What
//! a call means is decided by an [`Observer`].
//!
//! What is not understood becomes unknown, never something plausible: a
//! register written in a way the lifted form cannot express, a stack slot that
//! a store through an unknown pointer may have hit, a value that differs
//! between more than two paths.

mod explore;
mod state;
mod trace;
mod value;

pub use explore::{Action, Call, CallPlace, Exploration, Explorer, Incomplete, Observer, Settings};
pub use trace::{Place, RawStep, Trace};
pub(crate) use value::low_bits;
pub use value::{Term, TermId, Terms, Value};
