//! Symbols and the tables they are kept in.

use object::{LittleEndian as LE, elf, pod};

use crate::addr::VirtAddr;

/// Longest symbol name that is read, in bytes. Longer ones (none of interest
/// is) are treated as nameless, so that a string table without terminators
/// cannot make every symbol cost its whole size.
pub const LONGEST_NAME: usize = 4096;

/// One symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol<'d> {
    /// Its name as in the string table; empty when it has none, when it is
    /// not UTF-8 or longer than [`LONGEST_NAME`].
    pub name: &'d str,
    /// `st_value`: a link-time address; for [`SymbolKind::Tls`] an offset
    /// into the module's TLS block; zero for most imports.
    pub address: VirtAddr,
    /// `st_size` in bytes; zero when not known.
    pub size: u64,
    /// `st_info`'s type.
    pub kind: SymbolKind,
    /// `st_info`'s binding.
    pub binding: Binding,
    /// Not `SHN_UNDEF`: this file provides it.
    pub defined: bool,
    /// `st_shndx`.
    pub section: u16,
    /// Which table it is from.
    pub table: Table,
    /// Its index in that table.
    pub index: u32,
}

impl<'d> Symbol<'d> {
    /// The name without a version suffix (`@VER`, `@@VER`), which linkers
    /// write into `.symtab`.
    #[must_use]
    pub fn base_name(&self) -> &'d str {
        unversioned(self.name)
    }

    /// Whether `address` lies in the symbol's `[address, address + size)`.
    #[must_use]
    pub fn contains(&self, address: VirtAddr) -> bool {
        address.distance_from(self.address).is_some_and(|into| into < self.size)
    }
}

/// A name without a version suffix (`@VER`, `@@VER`).
pub(super) fn unversioned(name: &str) -> &str {
    match name.split_once('@') {
        Some((base, _)) if !base.is_empty() => base,
        _ => name,
    }
}

/// What a symbol stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SymbolKind {
    /// `STT_FUNC`.
    Function,
    /// `STT_GNU_IFUNC`: the address is a resolver's, which returns the function's.
    IndirectFunction,
    /// `STT_OBJECT` or `STT_COMMON`.
    Object,
    /// `STT_TLS`.
    Tls,
    /// Any other type.
    Other,
}

/// How a symbol binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binding {
    /// `STB_LOCAL`.
    Local,
    /// `STB_GLOBAL`, `STB_GNU_UNIQUE` and whatever else is not one of the others.
    Global,
    /// `STB_WEAK`.
    Weak,
}

/// Which table a symbol is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    /// `DT_SYMTAB` (`.dynsym`).
    Dynamic,
    /// `.symtab`.
    Static,
}

/// A symbol table with its string table: slices of the file, nothing read yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct SymbolTable<'d> {
    pub(super) entries: &'d [elf::Sym64<LE>],
    pub(super) strings: &'d [u8],
    pub(super) table: Table,
}

impl<'d> SymbolTable<'d> {
    /// As many whole entries as `bytes` holds.
    pub(super) fn new(bytes: &'d [u8], strings: &'d [u8], table: Table) -> Self {
        let count = (bytes.len() / size_of::<elf::Sym64<LE>>()).min(u32::MAX as usize);
        let entries = pod::slice_from_bytes(bytes, count).map_or(&[][..], |(entries, _)| entries);
        Self { entries, strings, table }
    }

    /// Whether entry `index` is named `name`, without looking for its terminator.
    pub(super) fn is_named(&self, entry: &elf::Sym64<LE>, name: &[u8]) -> bool {
        let at = entry.st_name.get(LE) as usize;
        at.checked_add(name.len()).is_some_and(|end| {
            self.strings.get(at..end) == Some(name) && self.strings.get(end) == Some(&0)
        })
    }

    pub(super) fn name(&self, entry: &elf::Sym64<LE>) -> Option<&'d str> {
        string_at(self.strings, u64::from(entry.st_name.get(LE)))
    }

    pub(super) fn get(&self, index: u32) -> Option<Symbol<'d>> {
        self.entries.get(index as usize).map(|entry| self.symbol(index, entry))
    }

    pub(super) fn symbol(&self, index: u32, entry: &elf::Sym64<LE>) -> Symbol<'d> {
        self.named_symbol(index, entry, self.name(entry).unwrap_or_default())
    }

    pub(super) fn named_symbol(
        &self,
        index: u32,
        entry: &elf::Sym64<LE>,
        name: &'d str,
    ) -> Symbol<'d> {
        let section = entry.st_shndx.get(LE);
        Symbol {
            name,
            address: VirtAddr(entry.st_value.get(LE)),
            size: entry.st_size.get(LE),
            kind: kind(entry),
            binding: match entry.st_bind() {
                elf::STB_LOCAL => Binding::Local,
                elf::STB_WEAK => Binding::Weak,
                _ => Binding::Global,
            },
            defined: section != elf::SHN_UNDEF,
            section: section.0,
            table: self.table,
            index,
        }
    }

    pub(super) fn iter(self) -> impl Iterator<Item = Symbol<'d>> {
        (0_u32..).zip(self.entries).map(move |(index, entry)| self.symbol(index, entry))
    }
}

pub(super) fn kind(entry: &elf::Sym64<LE>) -> SymbolKind {
    match entry.st_type() {
        elf::STT_FUNC => SymbolKind::Function,
        elf::STT_GNU_IFUNC => SymbolKind::IndirectFunction,
        elf::STT_OBJECT | elf::STT_COMMON => SymbolKind::Object,
        elf::STT_TLS => SymbolKind::Tls,
        _ => SymbolKind::Other,
    }
}

/// Whether an entry is a definition with a meaningful value: a TLS variable
/// may lie at offset zero, nothing else has address zero.
pub(super) fn is_definition(entry: &elf::Sym64<LE>) -> bool {
    entry.st_shndx.get(LE) != elf::SHN_UNDEF
        && (entry.st_value.get(LE) != 0 || entry.st_type() == elf::STT_TLS)
}

/// The zero-terminated UTF-8 string at `offset` of a string table; `None`
/// when it is not there, not terminated within [`LONGEST_NAME`] or not UTF-8.
pub(super) fn string_at(strings: &[u8], offset: u64) -> Option<&str> {
    let rest = strings.get(usize::try_from(offset).ok()?..)?;
    let window = rest.get(..=LONGEST_NAME).unwrap_or(rest);
    let end = window.iter().position(|&byte| byte == 0)?;
    core::str::from_utf8(window.get(..end)?).ok()
}
