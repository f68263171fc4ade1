//! Which function an address lies in, for naming.

use alloc::vec::Vec;
use core::cell::{Cell, OnceCell};

use object::{LittleEndian as LE, elf};

use super::{
    Image,
    symbol::{Binding, Symbol, SymbolKind, SymbolTable, is_definition, kind},
};
use crate::addr::VirtAddr;
use crate::ordered::sort_keys;

/// Look-ups that read the table through before an index of it is built:
/// a report names a handful of functions, and the index of a large library
/// costs as much time as that many passes and a lot more memory.
const MOST_PASSES: u32 = 8;

/// Function symbols looked at before an address when no function starts there.
const NEIGHBOURS: usize = 64;

/// The way into the function symbols of one table.
#[derive(Debug, Default)]
pub(super) struct Functions {
    passes: Cell<u32>,
    /// Address, 0, and index in the table, in order of address.
    index: OnceCell<Vec<(u64, u64, u32)>>,
}

impl Functions {
    fn find<'d>(&self, table: SymbolTable<'d>, address: VirtAddr) -> Option<Symbol<'d>> {
        if self.index.get().is_none() && self.passes.get() < MOST_PASSES {
            self.passes.set(self.passes.get().saturating_add(1));
            return best(address, functions(table), table);
        }
        let starts = self.index.get_or_init(|| {
            let mut starts: Vec<(u64, u64, u32)> =
                functions(table).map(|(index, entry)| (entry.st_value.get(LE), 0, index)).collect();
            sort_keys(&mut starts);
            starts
        });
        let after = starts.partition_point(|start| start.0 <= address.0);
        let near = starts.get(..after)?.iter().rev().take(NEIGHBOURS);
        best(
            address,
            near.filter_map(|&(_, _, index)| Some((index, table.entries.get(index as usize)?))),
            table,
        )
    }
}

fn functions<'d>(table: SymbolTable<'d>) -> impl Iterator<Item = (u32, &'d elf::Sym64<LE>)> {
    (0_u32..).zip(table.entries).filter(|(_, entry)| is_function(entry) && is_definition(entry))
}

/// Of the functions that hold `address` the one that starts last; of several
/// at its start the one with the best name.
fn best<'d>(
    address: VirtAddr,
    functions: impl Iterator<Item = (u32, &'d elf::Sym64<LE>)>,
    table: SymbolTable<'d>,
) -> Option<Symbol<'d>> {
    functions
        .filter(|(_, entry)| {
            let into = address.0.checked_sub(entry.st_value.get(LE));
            into.is_some_and(|into| into == 0 || into < entry.st_size.get(LE))
        })
        .map(|(index, entry)| table.symbol(index, entry))
        .filter(|symbol| !symbol.name.is_empty())
        .max_by(|left, right| {
            left.address.cmp(&right.address).then_with(|| rank(right).cmp(&rank(left)))
        })
}

fn is_function(entry: &elf::Sym64<LE>) -> bool {
    matches!(kind(entry), SymbolKind::Function | SymbolKind::IndirectFunction)
}

/// Smaller is the better name.
fn rank<'d>(symbol: &Symbol<'d>) -> (bool, usize, &'d str) {
    (symbol.binding == Binding::Local, symbol.name.len(), symbol.name)
}

impl<'d> Image<'d> {
    /// The function symbol that starts at `address` or whose range holds it,
    /// from `.symtab`, or where that has none, from the dynamic symbols.
    /// Of several at one address, a global one, then the shortest name.
    ///
    /// The first calls read a symbol table through.
    #[must_use]
    pub fn function_at(&self, address: VirtAddr) -> Option<Symbol<'d>> {
        let in_static = || {
            let table = self.static_table();
            self.static_functions.find(table, address)
        };
        let in_dynamic = || {
            let table = self.counted_dynamic_table();
            self.dynamic_functions.find(table, address)
        };
        in_static().or_else(in_dynamic).map(|symbol| self.noted(symbol))
    }
}
