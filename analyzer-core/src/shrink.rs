//! Small ELF files: written from a description, or cut from a large one.
//!
//! [`ElfBuilder`] writes an ELF file from addresses, bytes, symbols and
//! relocations. Everything lies at the link-time address it is given; the
//! file is compact all the same, because only what has bytes takes room.

mod builder;
mod hash;
mod layout;
mod sections;
mod strings;
mod symbols;
mod tables;
mod unwind;
mod write;

pub use self::builder::{
    BuildError, ElfBuilder, Permissions, RelocationKind, SectionSpec, SymbolId, SymbolSpec,
};
