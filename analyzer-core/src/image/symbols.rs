//! Looking symbols up by name, in whichever way the file makes cheap.

use alloc::vec::Vec;

use object::{LittleEndian as LE, elf};

use super::{
    Image,
    hash::{GnuHash, SysvHash},
    symbol::{self, Symbol, SymbolKind, SymbolTable, Table, is_definition, string_at, unversioned},
};
use crate::addr::VirtAddr;
use crate::bytes::number;

type Record = elf::Sym64<LE>;

/// The dynamic symbol table and the ways into it.
#[derive(Clone, Copy, Debug)]
pub(super) struct DynamicSymbols<'d> {
    pub(super) table: SymbolTable<'d>,
    gnu_hash: Option<GnuHash<'d>>,
    sysv_hash: Option<SysvHash<'d>>,
    /// `DT_VERSYM`, from its start to the end of what the file holds.
    versions: &'d [u8],
}

/// A symbol found by [`Image::static_symbols_named`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedSymbol<'d> {
    /// Which of the asked-for names, as an index.
    pub which: usize,
    /// What the compiler put after the name (`.lto_priv.0`, `.cold`, …);
    /// empty when the symbol has exactly that name.
    pub suffix: &'d str,
    /// The symbol.
    pub symbol: Symbol<'d>,
}

/// Suffixes by which compilers mark a copy or a part of a function or
/// variable: gcc's IPA clones, LTO privatization and hot/cold splitting
/// (gcc `symtab-clones.cc`, `cgraphclones.cc`), LLVM's ThinLTO promotion and
/// machine function splitting.
const CLONE_SUFFIXES: [&str; 7] =
    [".lto_priv", ".part", ".constprop", ".isra", ".cold", ".llvm", ".localalias"];

impl<'d> Image<'d> {
    pub(super) fn dynamic_table(&self) -> &DynamicSymbols<'d> {
        self.dynamic_symbols.get_or_init(|| {
            let dynamic = &self.dynamic;
            let rest_from =
                |address: Option<VirtAddr>| address.map_or(&[][..], |at| self.rest_from(at));
            let strings = rest_from(dynamic.strings);
            let size = usize::try_from(dynamic.strings_size).unwrap_or(usize::MAX);
            let strings = strings.get(..size).unwrap_or(strings);
            let gnu_hash = dynamic.gnu_hash.and_then(|at| GnuHash::parse(self.rest_from(at)));
            let sysv_hash = dynamic.sysv_hash.and_then(|at| SysvHash::parse(self.rest_from(at)));
            DynamicSymbols {
                table: SymbolTable::new(rest_from(dynamic.symbols), strings, Table::Dynamic),
                gnu_hash,
                sysv_hash,
                versions: rest_from(dynamic.symbol_versions),
            }
        })
    }

    /// The dynamic symbols cut to their number, which only hash tables tell.
    /// Without one, they end at latest where the next table begins.
    pub(super) fn counted_dynamic_table(&self) -> SymbolTable<'d> {
        *self.counted_symbols.get_or_init(|| self.count_dynamic_symbols())
    }

    fn count_dynamic_symbols(&self) -> SymbolTable<'d> {
        let all = self.dynamic_table();
        let hashed = all.sysv_hash.and_then(|hash| hash.symbol_count());
        let hashed = hashed.or_else(|| all.gnu_hash.and_then(|hash| hash.symbol_count()));
        let count = hashed.map(|count| count as usize).or_else(|| {
            let start = self.dynamic.symbols?;
            let end = self.dynamic.tables().filter(|&table| table > start).min()?;
            usize::try_from(end.distance_from(start)?).ok()?.checked_div(size_of::<Record>())
        });
        let entries = all.table.entries;
        let entries = count.and_then(|count| entries.get(..count)).unwrap_or(entries);
        SymbolTable { entries, ..all.table }
    }

    /// The `.symtab` table; empty when the file is stripped or has no section headers.
    pub(super) fn static_table(&self) -> SymbolTable<'d> {
        *self.static_symbols.get_or_init(|| {
            let sections = self.section_table();
            let Some(section) = sections.of_kind(elf::SHT_SYMTAB).next() else {
                return SymbolTable::new(&[], &[], Table::Static);
            };
            let strings = sections.get(section.link).map_or(&[][..], |strings| strings.data);
            SymbolTable::new(section.data, strings, Table::Static)
        })
    }

    /// The definition of `name`: from the dynamic symbol table through
    /// `DT_GNU_HASH` or `DT_HASH`, else from `.symtab` by reading it through.
    ///
    /// Definitions at address zero do not count, thread-local ones excepted.
    /// A symbol that another image may interpose counts as its own definition.
    /// For several `.symtab` names at once, [`Image::static_symbols_named`]
    /// reads the table once.
    #[must_use]
    pub fn symbol(&self, name: &str) -> Option<Symbol<'d>> {
        self.dynamic_symbol(name).or_else(|| self.static_symbol(name))
    }

    /// The definition of `name` in the dynamic symbol table alone. Of several
    /// versions of a name, the default one.
    #[must_use]
    pub fn dynamic_symbol(&self, name: &str) -> Option<Symbol<'d>> {
        let symbols = self.dynamic_table();
        let table = symbols.table;
        let bytes = name.as_bytes();
        let is_default = |index: u32| {
            // The highest bit of a version index marks a name that only old
            // binaries bind to (glibc elf/dl-lookup.c, VERSYM_HIDDEN).
            let at = (index as usize).checked_mul(2)?;
            let version = symbols.versions.get(at..)?.first_chunk::<2>()?;
            Some(u16::from_le_bytes(*version) & 0x8000 == 0)
        };
        let pick = |found: &mut dyn Iterator<Item = (u32, &'d Record)>| {
            let mut definitions = found.filter(|(_, entry)| is_definition(entry));
            let first = definitions.next()?;
            let other = definitions.find(|&(index, _)| is_default(index) == Some(true));
            Some(match other {
                Some(other) if is_default(first.0) == Some(false) => other,
                _ => first,
            })
        };
        let found = if let Some(hash) = symbols.gnu_hash {
            pick(&mut hash.find(table, bytes))
        } else if let Some(hash) = symbols.sysv_hash {
            pick(&mut hash.find(table, bytes))
        } else {
            let counted = self.counted_dynamic_table();
            pick(
                &mut (0_u32..)
                    .zip(counted.entries)
                    .filter(|(_, entry)| table.is_named(entry, bytes)),
            )
        };
        let (index, entry) = found?;
        Some(self.noted(table.symbol(index, entry)))
    }

    /// The definition of `name` in `.symtab`, global ones before local ones.
    #[must_use]
    pub fn static_symbol(&self, name: &str) -> Option<Symbol<'d>> {
        let table = self.static_table();
        let bytes = name.as_bytes();
        let mut local = None;
        for (index, entry) in (0_u32..).zip(table.entries) {
            if table.is_named(entry, bytes) && is_definition(entry) {
                if entry.st_bind() != elf::STB_LOCAL {
                    return Some(self.noted(table.symbol(index, entry)));
                }
                local = local.or(Some((index, entry)));
            }
        }
        local.map(|(index, entry)| self.noted(table.symbol(index, entry)))
    }

    /// Index in the dynamic symbol table of the import `name`.
    #[must_use]
    pub fn undefined(&self, name: &str) -> Option<u32> {
        let index = self.import(name)?;
        self.note_symbol(Table::Dynamic, index);
        Some(index)
    }

    fn import(&self, name: &str) -> Option<u32> {
        let symbols = self.dynamic_table();
        let table = symbols.table;
        let bytes = name.as_bytes();
        let is_import = |entry: &Record| entry.st_shndx.get(LE) == elf::SHN_UNDEF;
        let in_order = |entries: &'d [Record]| {
            (0_u32..)
                .zip(entries)
                .find(|(_, entry)| is_import(entry) && table.is_named(entry, bytes))
                .map(|(index, _)| index)
        };
        if let Some(hash) = symbols.sysv_hash {
            return hash
                .find(table, bytes)
                .find(|(_, entry)| is_import(entry))
                .map(|found| found.0);
        }
        let Some((hash, first)) = symbols.gnu_hash.and_then(|hash| Some((hash, hash.first()?)))
        else {
            return in_order(self.counted_dynamic_table().entries);
        };
        // Imports are not hashed, unless their PLT entry stands for their address.
        in_order(table.entries.get(..first as usize).unwrap_or(table.entries)).or_else(|| {
            hash.find(table, bytes).find(|(_, entry)| is_import(entry)).map(|found| found.0)
        })
    }

    /// The dynamic symbol at an index, as relocations use it.
    #[must_use]
    pub fn dynamic_symbol_at(&self, index: u32) -> Option<Symbol<'d>> {
        self.dynamic_table().table.get(index).map(|symbol| self.noted(symbol))
    }

    /// The `.symtab` symbol at an index.
    pub(crate) fn static_symbol_at(&self, index: u32) -> Option<Symbol<'d>> {
        self.static_table().get(index)
    }

    /// The name of the dynamic symbol at an index.
    #[must_use]
    pub fn symbol_name(&self, dynsym_index: u32) -> Option<&'d str> {
        let table = self.dynamic_table().table;
        let entry = table.entries.get(dynsym_index as usize)?;
        self.note_symbol(Table::Dynamic, dynsym_index);
        table.name(entry).map(unversioned).filter(|name| !name.is_empty())
    }

    /// Every symbol of `.symtab`, the null entry included. A
    /// [`recording`](Image::recording) image does not note what is read here.
    pub fn static_symbols(&self) -> impl Iterator<Item = Symbol<'d>> + use<'d> {
        self.static_table().iter()
    }

    /// Every dynamic symbol, the null entry included. A
    /// [`recording`](Image::recording) image does not note what is read here.
    pub fn dynamic_symbols(&self) -> impl Iterator<Item = Symbol<'d>> + use<'d> {
        self.counted_dynamic_table().iter()
    }

    /// All definitions in `.symtab`, local ones included, with one of the
    /// given names or a compiler's clone of one (`gil_locked.lto_priv.0`), in
    /// the order of the table, found in one pass over it.
    #[must_use]
    pub fn static_symbols_named(&self, names: &[&str]) -> Vec<NamedSymbol<'d>> {
        self.static_symbols_where(names, |_| true)
    }

    /// All definitions in `.symtab` whose name starts with `prefix`, in the
    /// order of the table, found in one pass over it.
    #[must_use]
    pub fn static_symbols_starting(&self, prefix: &str) -> Vec<Symbol<'d>> {
        let table = self.static_table();
        let start = Start::of(prefix);
        let mut found = Vec::new();
        for (index, entry) in (0_u32..).zip(table.entries) {
            let at = entry.st_name.get(LE) as usize;
            let rest = table.strings.get(at..).unwrap_or_default();
            if start.fits(Start::word(rest))
                && rest.starts_with(prefix.as_bytes())
                && is_definition(entry)
            {
                found.push(self.noted(table.symbol(index, entry)));
            }
        }
        found
    }

    /// Of what [`Image::static_symbols_named`] finds, the symbols of one kind.
    pub(super) fn static_symbols_of(
        &self,
        kind: SymbolKind,
        names: &[&str],
    ) -> Vec<NamedSymbol<'d>> {
        match kind {
            // There are few of these: the pass is one comparison an entry.
            SymbolKind::Tls => {
                self.static_symbols_where(names, |entry| entry.st_type() == elf::STT_TLS)
            }
            _ => self.static_symbols_where(names, |entry| symbol::kind(entry) == kind),
        }
    }

    fn static_symbols_where(
        &self,
        names: &[&str],
        wanted: impl Fn(&elf::Sym64<LE>) -> bool,
    ) -> Vec<NamedSymbol<'d>> {
        let table = self.static_table();
        let starts: Vec<Start> = names.iter().map(|name| Start::of(name)).collect();
        let mut found = Vec::new();
        let entries = table.entries.iter().enumerate();
        for (index, entry) in entries.filter(|(_, entry)| wanted(entry)) {
            let Ok(index) = u32::try_from(index) else { break };
            let at = entry.st_name.get(LE) as usize;
            let rest = table.strings.get(at..).unwrap_or_default();
            let first = Start::word(rest);
            for (which, (name, start)) in names.iter().zip(&starts).enumerate() {
                if !start.fits(first) {
                    continue;
                }
                let suffix = rest.strip_prefix(name.as_bytes()).and_then(clone_suffix);
                if let Some(suffix) = suffix.filter(|_| is_definition(entry)) {
                    let symbol = self.noted(table.symbol(index, entry));
                    found.push(NamedSymbol { which, suffix, symbol });
                }
            }
        }
        found
    }

    /// Offset in this module's TLS block of the dynamic symbol at an index,
    /// when it is a thread-local definition.
    pub(super) fn own_tls_offset(&self, index: u32) -> Option<u64> {
        let entry = self.dynamic_table().table.entries.get(index as usize)?;
        let own = entry.st_shndx.get(LE) != elf::SHN_UNDEF && entry.st_type() == elf::STT_TLS;
        own.then(|| entry.st_value.get(LE))
    }
}

/// The first bytes of a name as a word, so that most names are told apart by
/// one comparison.
#[derive(Clone, Copy, Debug)]
struct Start {
    word: u64,
    mask: u64,
}

impl Start {
    fn of(name: &str) -> Self {
        let ones = [0xff; 8];
        let mask = Self::word(ones.get(..name.len().min(8)).unwrap_or_default());
        Self { word: Self::word(name.as_bytes()), mask }
    }

    fn word(bytes: &[u8]) -> u64 {
        number(bytes.first_chunk::<8>().map_or(bytes, |first| first))
    }

    fn fits(self, first: u64) -> bool {
        first & self.mask == self.word
    }
}

/// What a compiler put after a name, given the string table from the end of
/// the name on: nothing, or a chain of clone marks, each with an optional
/// number (`.constprop.0.cold`). `None` when it is another, longer name.
fn clone_suffix(after: &[u8]) -> Option<&str> {
    match after.first()? {
        0 => Some(""),
        b'.' => string_at(after, 0).filter(|suffix| {
            CLONE_SUFFIXES.iter().any(|mark| {
                suffix
                    .strip_prefix(mark)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            })
        }),
        b'@' => Some(""),
        _ => None,
    }
}
