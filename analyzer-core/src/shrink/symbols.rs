//! Symbol tables.

use alloc::{vec, vec::Vec};

use object::{LittleEndian as LE, U16, U32, U64, elf, pod::bytes_of};

use super::{
    builder::{SymbolId, SymbolSpec},
    hash,
    strings::Strings,
};
use crate::{
    addr::VirtAddr,
    image::{Binding, SymbolKind},
    ordered::sort_by_key,
};

/// A symbol table ready to be written.
pub(super) struct SymbolTable {
    pub(super) bytes: Vec<u8>,
    /// Index of the first symbol that is not local.
    pub(super) first_global: u32,
}

/// The dynamic symbols and the tables to find them by.
pub(super) struct DynamicTable {
    pub(super) symbols: SymbolTable,
    pub(super) gnu_hash: Vec<u8>,
    pub(super) sysv_hash: Vec<u8>,
    /// Index in the table for each [`SymbolId`].
    indices: Vec<u32>,
}

impl DynamicTable {
    /// Imports first, then definitions in the order the GNU hash table needs.
    pub(super) fn new(
        symbols: &[SymbolSpec],
        strings: &mut Strings,
        section_of: impl Fn(VirtAddr) -> u16,
    ) -> Self {
        let (mut order, mut defined): (Vec<usize>, Vec<usize>) =
            (0..symbols.len()).partition(|&at| symbols.get(at).is_some_and(|s| !s.defined));
        let buckets = hash::gnu_buckets(defined.len());
        let bucket =
            |at: &usize| symbols.get(*at).map_or(0, |s| hash::gnu_bucket(&s.name, buckets));
        sort_by_key(&mut defined, |at| (bucket(at).into(), 0));
        let first = u32::try_from(order.len().saturating_add(1)).unwrap_or(u32::MAX);
        let names = |order: &[usize]| -> Vec<&str> {
            order.iter().filter_map(|&at| symbols.get(at)).map(|s| s.name.as_str()).collect()
        };
        let gnu_hash = hash::gnu(&names(&defined), first);
        order.append(&mut defined);
        let mut all = vec![""];
        all.extend(names(&order));
        let sysv_hash = hash::sysv(&all);

        let mut indices = vec![0; symbols.len()];
        for (index, &at) in (1_u32..).zip(&order) {
            if let Some(place) = indices.get_mut(at) {
                *place = index;
            }
        }
        let ordered = order.iter().filter_map(|&at| symbols.get(at));
        let symbols = table(ordered, strings, section_of);
        Self { symbols, gnu_hash, sysv_hash, indices }
    }

    pub(super) fn index(&self, symbol: SymbolId) -> u32 {
        self.indices.get(symbol.0).copied().unwrap_or(0)
    }
}

/// A `.symtab`: local symbols first.
pub(super) fn static_table(
    symbols: &[SymbolSpec],
    strings: &mut Strings,
    section_of: impl Fn(VirtAddr) -> u16,
) -> SymbolTable {
    let is_local = |symbol: &&SymbolSpec| symbol.binding == Binding::Local;
    let local = symbols.iter().filter(is_local);
    let global = symbols.iter().filter(|symbol| !is_local(symbol));
    table(local.chain(global), strings, section_of)
}

fn table<'s>(
    symbols: impl Iterator<Item = &'s SymbolSpec>,
    strings: &mut Strings,
    section_of: impl Fn(VirtAddr) -> u16,
) -> SymbolTable {
    let mut bytes = vec![0; size_of::<elf::Sym64<LE>>()];
    let mut first_global = 1_u32;
    for symbol in symbols {
        let kind = match symbol.kind {
            SymbolKind::Function => elf::STT_FUNC,
            SymbolKind::IndirectFunction => elf::STT_GNU_IFUNC,
            SymbolKind::Object => elf::STT_OBJECT,
            SymbolKind::Tls => elf::STT_TLS,
            SymbolKind::Other => elf::STT_NOTYPE,
        };
        let binding = match symbol.binding {
            Binding::Local => elf::STB_LOCAL,
            Binding::Global => elf::STB_GLOBAL,
            Binding::Weak => elf::STB_WEAK,
        };
        if symbol.binding == Binding::Local {
            first_global = first_global.saturating_add(1);
        }
        let section = if symbol.defined { section_of(symbol.address) } else { 0 };
        bytes.extend(bytes_of(&elf::Sym64::<LE> {
            st_name: U32::new(LE, strings.add(&symbol.name)),
            st_info: elf::SymbolInfo::new(binding, kind),
            st_other: elf::SymbolOther(0),
            st_shndx: U16::new(LE, elf::SymbolSection(section)),
            st_value: U64::new(LE, symbol.address.0),
            st_size: U64::new(LE, symbol.size),
        }));
    }
    SymbolTable { bytes, first_global }
}
