//! Cutting what was looked at out of an image.

use alloc::{borrow::ToOwned, format, string::String, vec::Vec};

use object::elf;

use super::{
    Contents, ElfBuilder, KeptBytes, KeptSymbol, Permissions, RelocationKind, ShrinkError,
    SymbolSpec, types,
};
use crate::{
    addr::VirtAddr,
    image::{
        Image, MemberPath, REPRODUCER_NOTE, REPRODUCER_OWNER, Range, Record, Section, Symbol, Table,
    },
    ordered::{Map, Set},
    report::Arch,
};

/// A way of members as C writes it.
fn named((structure, path): &MemberPath) -> String {
    path.iter().fold(structure.clone(), |name, (member, _)| name + "." + member)
}

/// Bytes between two kept ranges of a section up to which one header covers both.
const SMALL_GAP: u64 = 16;

/// Sections that are written anew.
const REWRITTEN: [&str; 12] = [
    ".interp",
    ".note",
    ".gnu.hash",
    ".hash",
    ".dynsym",
    ".dynstr",
    ".gnu.version",
    ".rela",
    ".relr",
    ".eh_frame",
    ".dynamic",
    ".gnu_debuglink",
];

/// Writes an ELF file with what `record` notes of `image`, and tells what is in it.
///
/// # Errors
///
/// [`ShrinkError`] when `image` is not loaded as one, or its parts do not fit
/// together.
pub fn cut(image: &Image<'_>, record: &Record) -> Result<(Vec<u8>, Contents), ShrinkError> {
    let mut contents = Contents::default();
    let mut file = ElfBuilder::new(image.arch(), image.kind());
    facts(image, &mut file);
    let ranges = kept_ranges(image, record);
    for range in &ranges {
        let size = usize::try_from(range.size()).unwrap_or(usize::MAX);
        file.bytes(range.start, image.bytes_from(range.start, size));
    }
    for range in record.unwind.iter() {
        file.unwind(*range);
    }
    let symbols = symbols(image, record, &mut file, &mut contents);
    relocations(image, record, &symbols, &mut file, &mut contents);
    if image.has_section_headers() {
        sections(image, record, &ranges, &mut file, &mut contents);
    } else {
        file.without_section_headers();
    }
    let loaded: Vec<_> = image.sections().filter(Section::is_loaded).collect();
    contents.bytes = ranges.iter().map(|range| described(image, &loaded, *range)).collect();
    Ok((file.build()?, contents))
}

/// What a file says about itself.
fn facts(image: &Image<'_>, file: &mut ElfBuilder) {
    file.entry(image.entry());
    for segment in image.segments() {
        let permissions = Permissions {
            readable: segment.readable,
            writable: segment.writable,
            executable: segment.executable,
        };
        file.map(segment.address, segment.memory_size, permissions);
    }
    if image.has_dynamic() {
        file.dynamic();
        if let Some(name) = image.soname() {
            file.soname(name);
        }
        for name in image.needed() {
            file.needed(name);
        }
        for tag in [elf::DT_FLAGS, elf::DT_FLAGS_1, elf::DT_PLTGOT] {
            if let Some(value) = image.dynamic_entry(tag) {
                file.dynamic_entry(tag.0, value);
            }
        }
    }
    if let Some(path) = image.interpreter() {
        file.interpreter(path);
    }
    if let Some(tls) = image.tls() {
        file.tls(tls);
    }
    if let Some(relro) = image.relro() {
        file.relro(relro);
    }
    if let Some(id) = image.build_id() {
        file.build_id(id);
    }
    let text = format!("reproducer, cut from a file of {} bytes", image.data().len());
    file.note(REPRODUCER_OWNER, REPRODUCER_NOTE, text.as_bytes());
}

/// The ranges that were read, divided at the borders of segments, and the
/// initialization image of the TLS segment.
fn kept_ranges(image: &Image<'_>, record: &Record) -> Vec<Range> {
    let mut read = record.ranges();
    if let Some(tls) = image.tls() {
        read.push(Range::new(tls.address, tls.file_size.min(tls.memory_size)));
    }
    let mut kept = Vec::new();
    for range in read {
        let first = image.segments().partition_point(|s| s.range().end <= range.start);
        let here = image.segments().get(first..).unwrap_or_default();
        for segment in here.iter().take_while(|segment| segment.address < range.end) {
            let start = range.start.max(segment.address);
            let end = range.end.min(Range::new(segment.address, segment.file_size).end);
            if start < end {
                kept.push(Range { start, end });
            }
        }
    }
    kept
}

fn described(image: &Image<'_>, sections: &[Section<'_>], range: Range) -> KeptBytes {
    let section = sections.iter().find(|section| section.contains(range.start));
    let is_code = image.is_executable(range.start);
    let function = image.function_at(range.start).filter(|_| is_code);
    let non_empty = |name: &str| Some(name.to_owned()).filter(|name| !name.is_empty());
    KeptBytes {
        start: range.start,
        end: range.end,
        section: section.and_then(|section| non_empty(section.name)),
        function: function.and_then(|function| non_empty(function.base_name())),
    }
}

/// Adds the symbols; tells which is which dynamic one.
fn symbols(
    image: &Image<'_>,
    record: &Record,
    file: &mut ElfBuilder,
    contents: &mut Contents,
) -> Map<u32, super::SymbolId> {
    let mut ids = Map::default();
    let mut known = Set::default();
    let mut names: Vec<&str> = Vec::new();
    let dynamic =
        record.symbols.iter().filter(|(table, index)| *table == Table::Dynamic && *index > 0);
    for &(_, index) in dynamic {
        let Some(symbol) = image.dynamic_symbol_at(index) else { continue };
        ids.insert(index, file.dynamic_symbol(spec(&symbol)));
        if symbol.defined {
            names.push(symbol.name);
        }
        known.insert(kept(&symbol));
    }
    if !image.is_stripped() {
        file.symbol_table();
        // Debuggers read the dynamic symbols of a file only if it has no others.
        let twins = image.static_symbols_named(&names).into_iter();
        let twins = twins.filter(|twin| twin.suffix.is_empty()).map(|twin| twin.symbol.index);
        let indices = record.symbols.iter().filter(|(table, _)| *table == Table::Static);
        let mut all = Set::default();
        for index in indices.map(|&(_, index)| index).chain(twins) {
            all.insert(index);
        }
        for index in all.into_items() {
            let Some(symbol) = image.static_symbol_at(index) else { continue };
            file.static_symbol(spec(&symbol));
            known.insert(kept(&symbol));
        }
    }
    contents.symbols = known
        .into_items()
        .into_iter()
        .map(|(name, address)| KeptSymbol { name, address })
        .collect();
    ids
}

fn kept(symbol: &Symbol<'_>) -> (String, Option<VirtAddr>) {
    (symbol.base_name().to_owned(), symbol.defined.then_some(symbol.address))
}

fn spec(symbol: &Symbol<'_>) -> SymbolSpec {
    SymbolSpec {
        name: symbol.name.to_owned(),
        address: symbol.address,
        size: symbol.size,
        kind: symbol.kind,
        binding: symbol.binding,
        defined: symbol.defined,
    }
}

fn relocations(
    image: &Image<'_>,
    record: &Record,
    symbols: &Map<u32, super::SymbolId>,
    file: &mut ElfBuilder,
    contents: &mut Contents,
) {
    for &address in record.relocations.iter() {
        let Some(raw) = image.raw_relocation(address) else { continue };
        let kind =
            match (image.arch(), elf::RelocationType(raw.kind)) {
                (Arch::X86_64, elf::R_X86_64_JUMP_SLOT)
                | (Arch::Aarch64, elf::R_AARCH64_JUMP_SLOT) => RelocationKind::JumpSlot,
                (Arch::X86_64, elf::R_X86_64_RELATIVE)
                | (Arch::Aarch64, elf::R_AARCH64_RELATIVE) => RelocationKind::Relative,
                _ => RelocationKind::Raw(raw.kind),
            };
        file.relocation(address, kind, symbols.get(&raw.symbol).copied(), raw.addend);
        contents.relocations.push(address);
    }
}

/// Headers for the sections that were asked for, over all of them, and for
/// the parts of others that are kept.
fn sections(
    image: &Image<'_>,
    record: &Record,
    ranges: &[Range],
    file: &mut ElfBuilder,
    contents: &mut Contents,
) {
    let is_kept = |section: &Section<'_>| {
        section.is_loaded()
            && section.size > 0
            && section.flags & elf::SHF_TLS.0 == 0
            && !REWRITTEN.iter().any(|name| section.name.starts_with(name))
    };
    for section in image.sections().filter(is_kept) {
        let all = Range::new(section.address, section.size);
        let asked = record.sections.contains(section.name);
        if asked {
            file.section(section.name, all);
            contents.sections.push(section.name.to_owned());
        }
        let mut parts: Vec<Range> = Vec::new();
        let first = ranges.partition_point(|range| range.end <= all.start);
        for range in ranges.get(first..).unwrap_or_default() {
            if range.start >= all.end {
                break;
            }
            let start = range.start.max(all.start);
            let end = range.end.min(all.end);
            match parts.last_mut() {
                Some(last) if start.0.saturating_sub(last.end.0) <= SMALL_GAP => last.end = end,
                _ => parts.push(Range { start, end }),
            }
        }
        if asked && parts == [all] {
            continue;
        }
        let name = if asked { format!("{}.kept", section.name) } else { section.name.to_owned() };
        for part in parts {
            file.section(&name, part);
        }
    }
    if let Some(section) = image.sections().find(|section| section.name == ".gnu_debuglink") {
        file.attached_section(section.name, section.data);
    }
    if let Some(known) = &record.types {
        for (name, bytes) in types::sections(known) {
            file.attached_section(name, &bytes);
        }
        contents.types = known.iter().filter(|(_, path)| !path.is_empty()).map(named).collect();
    }
}
