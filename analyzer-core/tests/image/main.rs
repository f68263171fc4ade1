//! Images read from files that are built here, linked here, and damaged here.

mod built;
mod linked;
mod mutated;
mod reproducer;
