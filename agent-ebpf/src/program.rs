//! The programs of the object file.

mod class;
mod copy;
mod gil;
mod lifecycle;
mod maps;
mod memory;
mod sample;
mod send;
mod task;
mod thread_state;
mod walk;
