//! Which function an address lies in, for naming.

use alloc::vec::Vec;

use super::{
    Image,
    symbol::{Symbol, SymbolTable, Table, is_definition, kind},
};
use crate::addr::VirtAddr;

/// Function symbols looked at before an address when no function starts there.
const NEIGHBOURS: usize = 16;

/// The function symbols of both tables, in order of address.
#[derive(Debug, Default)]
pub(super) struct FunctionIndex {
    starts: Vec<Start>,
}

/// Where a function symbol starts, and which it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Start {
    address: u64,
    is_dynamic: bool,
    index: u32,
}

impl FunctionIndex {
    fn new(tables: [SymbolTable<'_>; 2]) -> Self {
        let mut starts = Vec::new();
        for table in tables {
            let is_dynamic = table.table == Table::Dynamic;
            starts.extend(
                (0_u32..)
                    .zip(table.entries)
                    .filter(|(_, entry)| is_function(entry) && is_definition(entry))
                    .map(|(index, entry)| Start {
                        address: entry.st_value.get(object::LittleEndian),
                        is_dynamic,
                        index,
                    }),
            );
        }
        starts.sort_unstable();
        Self { starts }
    }
}

fn is_function(entry: &object::elf::Sym64<object::LittleEndian>) -> bool {
    use super::symbol::SymbolKind::{Function, IndirectFunction};
    matches!(kind(entry), Function | IndirectFunction)
}

impl<'d> Image<'d> {
    /// The function symbol that starts at `address` or whose range holds it.
    /// Of several the one with the widest visibility, then the shortest name.
    ///
    /// The first call reads both symbol tables through.
    #[must_use]
    pub fn function_at(&self, address: VirtAddr) -> Option<Symbol<'d>> {
        let index = self.functions.get_or_init(|| {
            FunctionIndex::new([self.counted_dynamic_table(), self.static_table()])
        });
        let after = index.starts.partition_point(|start| start.address <= address.0);
        let before = index.starts.get(..after)?;
        let mut best: Option<Symbol<'d>> = None;
        for start in before.iter().rev().take(NEIGHBOURS) {
            let symbol = if start.is_dynamic {
                self.dynamic_symbol_at(start.index)
            } else {
                self.static_table().get(start.index)
            };
            let Some(symbol) = symbol.filter(|symbol| {
                !symbol.name.is_empty() && (symbol.address == address || symbol.contains(address))
            }) else {
                continue;
            };
            let better = best
                .is_none_or(|best| symbol.address == best.address && rank(&symbol) < rank(&best));
            if better {
                best = Some(symbol);
            }
        }
        best
    }
}

/// Smaller is the better name.
fn rank<'d>(symbol: &Symbol<'d>) -> (bool, usize, &'d str) {
    (symbol.binding == super::Binding::Local, symbol.name.len(), symbol.name)
}
