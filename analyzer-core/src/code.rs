//! Machine code as one lifted form for both instruction sets.

pub mod ir;
