//! The tables that are loaded, all in one segment of their own.

use alloc::{format, vec::Vec};

use object::{I64, LittleEndian as LE, U64, elf, pod::bytes_of};

use super::{
    builder::{BuildError, ElfBuilder, RelocationKind, RelocationSpec},
    sections::{self, Header},
    strings::Strings,
    symbols::DynamicTable,
    unwind,
};
use crate::{
    addr::VirtAddr,
    image::Range,
    ordered::sort_by_key,
    report::{Arch, ImageKind},
};

/// The tables and what points to them.
pub(super) struct Tables {
    /// The segment's content.
    pub(super) bytes: Vec<u8>,
    /// Section headers, their offsets counted from the segment's start.
    pub(super) headers: Vec<Header>,
    /// Program headers other than `PT_LOAD`.
    pub(super) specials: Vec<Special>,
    base: VirtAddr,
}

/// A program header over a part of the tables.
#[derive(Clone, Copy, Debug)]
pub(super) struct Special {
    pub(super) kind: elf::ProgramType,
    pub(super) at: VirtAddr,
    pub(super) size: u64,
    pub(super) align: u64,
}

/// `value` rounded up to a multiple of `align`.
pub(super) fn align_up(value: u64, align: u64) -> Option<u64> {
    value.checked_next_multiple_of(align)
}

impl Tables {
    /// Writes the tables a description needs, from `base` on. `places` are
    /// the headers of the sections from index 1 on.
    pub(super) fn build(
        file: &ElfBuilder,
        places: &[Header],
        base: VirtAddr,
    ) -> Result<Self, BuildError> {
        let mut tables =
            Self { bytes: Vec::new(), headers: Vec::new(), specials: Vec::new(), base };
        // Section index of the first table.
        let first = u32::try_from(places.len()).unwrap_or(u32::MAX).saturating_add(1);
        if let Some(path) = &file.interpreter {
            let mut text = path.clone().into_bytes();
            text.push(0);
            let header = tables.add(Header::new(".interp", elf::SHT_PROGBITS), &text)?;
            tables.special(elf::PT_INTERP, header);
        }
        tables.add_notes(file)?;
        if file.dynamic.is_some() {
            tables.add_dynamic(file, places, first)?;
        } else if !file.relocations.is_empty() {
            let records: Vec<_> = sorted(&file.relocations).collect();
            let bytes = records_bytes(file.arch, records.into_iter(), |_| 0);
            let mut header = Header::new(".rela.plt", elf::SHT_RELA);
            (header.entry_size, header.align) = (size_of::<elf::Rela64<LE>>() as u64, 8);
            tables.add(header, &bytes)?;
        }
        if !file.unwind.is_empty() {
            tables.add_unwind(file)?;
        }
        Ok(tables)
    }

    /// Appends a table; returns where it lies and its size.
    fn add(&mut self, header: Header, bytes: &[u8]) -> Result<Range, BuildError> {
        let align = header.align.max(4);
        let start = align_up(self.bytes.len() as u64, align).unwrap_or(u64::MAX);
        let no_room = BuildError::NoRoom { address: self.base };
        let address = self.base.checked_add(start).ok_or(no_room)?;
        self.bytes.resize(usize::try_from(start).map_err(|_| no_room)?, 0);
        self.bytes.extend(bytes);
        let size = bytes.len() as u64;
        address.checked_add(size).ok_or(no_room)?;
        let flags = elf::SHF_ALLOC.0;
        self.headers.push(Header { address, offset: start, size, align, flags, ..header });
        Ok(Range::new(address, size))
    }

    fn special(&mut self, kind: elf::ProgramType, range: Range) {
        self.specials.push(Special { kind, at: range.start, size: range.size(), align: 4 });
    }

    fn add_notes(&mut self, file: &ElfBuilder) -> Result<(), BuildError> {
        let mut all: Option<Range> = None;
        for note in &file.notes {
            let name = match note.kind {
                kind if note.owner == "GNU" && kind == elf::NT_GNU_BUILD_ID.0 => {
                    ".note.gnu.build-id".into()
                }
                _ => format!(".note.{}", note.owner),
            };
            let count = note.description.len();
            let too_many = BuildError::TooMany { what: "bytes of a note", count };
            let size = |len: usize| u32::try_from(len).map_err(|_| too_many);
            let mut bytes = Vec::new();
            bytes.extend(size(note.owner.len().saturating_add(1))?.to_le_bytes());
            bytes.extend(size(count)?.to_le_bytes());
            bytes.extend(note.kind.to_le_bytes());
            bytes.extend(note.owner.as_bytes());
            bytes.resize(bytes.len().saturating_add(1).next_multiple_of(4), 0);
            bytes.extend(&note.description);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            let range = self.add(Header::new(&name, elf::SHT_NOTE), &bytes)?;
            all.get_or_insert(range).end = range.end;
        }
        if let Some(all) = all {
            self.special(elf::PT_NOTE, all);
        }
        Ok(())
    }

    fn add_dynamic(
        &mut self,
        file: &ElfBuilder,
        places: &[Header],
        first: u32,
    ) -> Result<(), BuildError> {
        let Some(described) = &file.dynamic else { return Ok(()) };
        let mut strings = Strings::new();
        let section_of = |address| sections::index_of(places, address);
        let symbols = DynamicTable::new(&file.dynamic_symbols, &mut strings, section_of);
        let mut entries: Vec<(elf::DynamicTag, u64)> = Vec::new();
        for needed in &described.needed {
            entries.push((elf::DT_NEEDED, strings.add(needed).into()));
        }
        if let Some(soname) = &described.soname {
            entries.push((elf::DT_SONAME, strings.add(soname).into()));
        }

        let section = |tables: &Self| {
            first.saturating_add(u32::try_from(tables.headers.len()).unwrap_or(u32::MAX))
        };
        let symbols_section = section(self).saturating_add(2);
        let strings_section = symbols_section.saturating_add(1);
        let table = |name: &str, kind, link, entry_size: usize| {
            let entry_size = entry_size as u64;
            Header { link, entry_size, align: 8, ..Header::new(name, kind) }
        };
        let header = table(".gnu.hash", elf::SHT_GNU_HASH, symbols_section, 0);
        let at = self.add(header, &symbols.gnu_hash)?;
        entries.push((elf::DT_GNU_HASH, at.start.0));
        let header = table(".hash", elf::SHT_HASH, symbols_section, 4);
        let at = self.add(header, &symbols.sysv_hash)?;
        entries.push((elf::DT_HASH, at.start.0));
        let symbol_size = size_of::<elf::Sym64<LE>>();
        let mut header = table(".dynsym", elf::SHT_DYNSYM, strings_section, symbol_size);
        header.info = symbols.symbols.first_global;
        let at = self.add(header, &symbols.symbols.bytes)?;
        entries.push((elf::DT_SYMTAB, at.start.0));
        entries.push((elf::DT_SYMENT, symbol_size as u64));
        let at = self.add(table(".dynstr", elf::SHT_STRTAB, 0, 0), strings.bytes())?;
        entries.push((elf::DT_STRTAB, at.start.0));
        entries.push((elf::DT_STRSZ, at.size()));

        let is_plt = |record: &&RelocationSpec| record.kind == RelocationKind::JumpSlot;
        let is_relative = |record: &&RelocationSpec| record.kind == RelocationKind::Relative;
        let index = |record: &RelocationSpec| record.symbol.map_or(0, |id| symbols.index(id));
        let record_size = size_of::<elf::Rela64<LE>>();
        let relative = sorted(&file.relocations).filter(is_relative);
        let count = relative.clone().count() as u64;
        let others = sorted(&file.relocations).filter(|r| !is_relative(r) && !is_plt(r));
        let bytes = records_bytes(file.arch, relative.chain(others), index);
        if !bytes.is_empty() {
            let header = table(".rela.dyn", elf::SHT_RELA, symbols_section, record_size);
            let at = self.add(header, &bytes)?;
            entries.push((elf::DT_RELA, at.start.0));
            entries.push((elf::DT_RELASZ, at.size()));
            entries.push((elf::DT_RELAENT, record_size as u64));
            if count > 0 {
                entries.push((elf::DT_RELACOUNT, count));
            }
        }
        let bytes = records_bytes(file.arch, sorted(&file.relocations).filter(is_plt), index);
        if !bytes.is_empty() {
            let header = table(".rela.plt", elf::SHT_RELA, symbols_section, record_size);
            let at = self.add(header, &bytes)?;
            entries.push((elf::DT_JMPREL, at.start.0));
            entries.push((elf::DT_PLTRELSZ, at.size()));
            entries.push((elf::DT_PLTREL, elf::DT_RELA.0.cast_unsigned()));
        }

        let mut flags_1 = 0;
        for &(tag, value) in &described.entries {
            if tag == elf::DT_FLAGS_1.0 {
                flags_1 |= value;
            } else {
                entries.push((elf::DynamicTag(tag), value));
            }
        }
        if file.kind == ImageKind::Pie {
            flags_1 |= elf::DF_1_PIE.0;
        }
        if flags_1 != 0 {
            entries.push((elf::DT_FLAGS_1, flags_1));
        }
        entries.push((elf::DT_NULL, 0));
        let bytes: Vec<u8> = entries
            .iter()
            .flat_map(|&(tag, value)| {
                let entry =
                    elf::Dyn64::<LE> { d_tag: I64::new(LE, tag), d_val: U64::new(LE, value) };
                bytes_of(&entry).to_vec()
            })
            .collect();
        let entry_size = size_of::<elf::Dyn64<LE>>();
        let header = table(".dynamic", elf::SHT_DYNAMIC, strings_section, entry_size);
        let at = self.add(header, &bytes)?;
        self.specials.push(Special {
            kind: elf::PT_DYNAMIC,
            at: at.start,
            size: at.size(),
            align: 8,
        });
        Ok(())
    }

    fn add_unwind(&mut self, file: &ElfBuilder) -> Result<(), BuildError> {
        let mut ranges = file.unwind.clone();
        sort_by_key(&mut ranges, |range| (range.start.0, range.end.0));
        ranges.dedup();
        let no_room = BuildError::NoRoom { address: self.base };
        let header = Header { align: 8, ..Header::new(".eh_frame", elf::SHT_PROGBITS) };
        let next = |tables: &Self, align| {
            let start = align_up(tables.bytes.len() as u64, align)?;
            tables.base.checked_add(start)
        };
        let frames_at = next(self, 8).ok_or(no_room)?;
        let (bytes, entries) = unwind::frames(file.arch, &ranges, frames_at)?;
        self.add(header, &bytes)?;
        let header_at = next(self, 4).ok_or(no_room)?;
        let bytes = unwind::header(&ranges, frames_at, &entries, header_at)?;
        let at = self.add(Header::new(".eh_frame_hdr", elf::SHT_PROGBITS), &bytes)?;
        self.special(elf::PT_GNU_EH_FRAME, at);
        Ok(())
    }
}

/// Relocations in order of address.
fn sorted(records: &[RelocationSpec]) -> impl Iterator<Item = &RelocationSpec> + Clone {
    let mut sorted: Vec<&RelocationSpec> = records.iter().collect();
    sort_by_key(&mut sorted, |record| (record.address.0, 0));
    sorted.into_iter()
}

fn records_bytes<'r>(
    arch: Arch,
    records: impl Iterator<Item = &'r RelocationSpec>,
    index: impl Fn(&RelocationSpec) -> u32,
) -> Vec<u8> {
    records
        .flat_map(|record| {
            let kind = elf::RelocationType(record.kind.raw(arch));
            let rela = elf::Rela64::<LE> {
                r_offset: U64::new(LE, record.address.0),
                r_info: elf::Rela64::r_info(LE, false, index(record), kind),
                r_addend: I64::new(LE, record.addend),
            };
            bytes_of(&rela).to_vec()
        })
        .collect()
}
