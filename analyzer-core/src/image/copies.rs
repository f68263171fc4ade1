//! Copy relocations: an executable's own copies of libraries' variables.

use alloc::vec::Vec;

use object::LittleEndian as LE;

use super::{Image, relocation, symbol::Table};
use crate::{addr::VirtAddr, report::ImageKind};

/// A copy relocation.
#[derive(Clone, Copy, Debug)]
pub(super) struct CopyTarget {
    address: VirtAddr,
    symbol: u32,
}

impl Image<'_> {
    /// Where an executable keeps its copy of a library's variable: the target
    /// of the copy relocation (`R_X86_64_COPY`, `R_AARCH64_COPY`) of `name`.
    #[must_use]
    pub fn copy_relocated(&self, name: &str) -> Option<VirtAddr> {
        let table = self.dynamic_table().table;
        self.copies()
            .iter()
            .find(|copy| {
                table
                    .entries
                    .get(copy.symbol as usize)
                    .is_some_and(|entry| table.is_named(entry, name.as_bytes()))
            })
            .map(|copy| {
                self.note_copy(copy);
                copy.address
            })
    }

    /// Whether a copy relocation fills `address`: the symbol there is this
    /// executable's copy of a library's variable, not a definition of its own.
    #[must_use]
    pub fn is_copy(&self, address: VirtAddr) -> bool {
        let copy = self.copies().iter().find(|copy| copy.address == address);
        copy.inspect(|copy| self.note_copy(copy)).is_some()
    }

    fn note_copy(&self, copy: &CopyTarget) {
        self.note(|record| {
            record.relocations.insert(copy.address);
        });
        self.note_symbol(Table::Dynamic, copy.symbol);
    }

    fn copies(&self) -> &[CopyTarget] {
        self.copies.get_or_init(|| {
            // Libraries have none: the linker makes them for executables only.
            if self.kind() == ImageKind::Shared {
                return Vec::new();
            }
            self.relocations()
                .non_relative()
                .filter(|record| relocation::is_copy(self.arch(), record))
                .map(|record| CopyTarget {
                    address: VirtAddr(record.r_offset.get(LE)),
                    symbol: record.r_sym(LE, false),
                })
                .collect()
        })
    }
}
