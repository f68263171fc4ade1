//! Putting an ELF file together.
//!
//! In the file: header, program headers, pieces of content, the tables that
//! are loaded (one segment above all others), the tables that are not, and
//! the section headers.

use alloc::vec::Vec;

use object::{LittleEndian as LE, U16, U32, U64, elf, pod::bytes_of};

use super::{
    builder::{BuildError, ElfBuilder},
    layout::{self, Load, PAGE},
    sections::{self, Header},
    strings::Strings,
    symbols,
    tables::{Tables, align_up},
};
use crate::{
    addr::VirtAddr,
    report::{Arch, ImageKind},
};

/// Largest TLS initialization image that is written.
const LARGEST_TLS_IMAGE: u64 = 1 << 20;

const FILE_HEADER: u64 = size_of::<elf::FileHeader64<LE>>() as u64;
const PROGRAM_HEADER: u64 = size_of::<elf::ProgramHeader64<LE>>() as u64;
const SECTION_HEADER: u64 = size_of::<elf::SectionHeader64<LE>>() as u64;

pub(super) fn write(file: &ElfBuilder) -> Result<Vec<u8>, BuildError> {
    let file_type = match file.kind {
        ImageKind::Shared | ImageKind::Pie => elf::ET_DYN,
        ImageKind::Executable => elf::ET_EXEC,
        kind => return Err(BuildError::Kind(kind)),
    };
    let mut loads = layout::loads(&with_tls_image(file)?)?;
    let top = loads.iter().map(|l| l.address.0.saturating_add(l.memory_size)).max().unwrap_or(0);
    let base = VirtAddr(align_up(top, PAGE).unwrap_or(u64::MAX));
    let no_room = BuildError::NoRoom { address: base };

    // Offsets do not matter yet: only which sections there are and where.
    let places = sections::of_memory(file, &loads);
    let tables = Tables::build(file, &places, base)?;
    if !tables.bytes.is_empty() {
        base.checked_add(tables.bytes.len() as u64).ok_or(no_room)?;
        loads.push(Load {
            address: base,
            memory_size: tables.bytes.len() as u64,
            permissions: super::Permissions::DATA,
            bytes: tables.bytes.clone(),
            offset: 0,
        });
    }

    let specials =
        tables.specials.len() + usize::from(file.tls.is_some()) + usize::from(file.relro.is_some());
    let count = loads.len() + specials;
    let program_count = u16::try_from(count)
        .ok()
        .filter(|&count| count < elf::PN_XNUM)
        .ok_or(BuildError::TooMany { what: "program headers", count })?;
    let content_start = FILE_HEADER + u64::from(program_count) * PROGRAM_HEADER;
    let content_end = layout::pack(&mut loads, content_start);
    let mut bytes = alloc::vec![0; usize::try_from(content_end).map_err(|_| no_room)?];
    for load in &loads {
        put(&mut bytes, load.offset, &load.bytes);
    }
    let sections = match &file.headers {
        Some(_) => trailer(file, &loads, &tables, &places, &mut bytes)?,
        None => SectionTable::default(),
    };

    let header = elf::FileHeader64::<LE> {
        e_ident: elf::Ident {
            magic: elf::ELFMAG,
            class: elf::ELFCLASS64,
            data: elf::ELFDATA2LSB,
            version: elf::EV_CURRENT,
            os_abi: elf::ELFOSABI_NONE,
            abi_version: 0,
            padding: [0; 7],
        },
        e_type: U16::new(LE, file_type),
        e_machine: U16::new(
            LE,
            match file.arch {
                Arch::X86_64 => elf::EM_X86_64,
                Arch::Aarch64 => elf::EM_AARCH64,
            },
        ),
        e_version: U32::new(LE, elf::EV_CURRENT.0.into()),
        e_entry: U64::new(LE, file.entry.0),
        e_phoff: U64::new(LE, FILE_HEADER),
        e_shoff: U64::new(LE, sections.offset),
        e_flags: U32::new(LE, elf::FileFlags(0)),
        e_ehsize: U16::new(LE, FILE_HEADER as u16),
        e_phentsize: U16::new(LE, PROGRAM_HEADER as u16),
        e_phnum: U16::new(LE, program_count),
        e_shentsize: U16::new(LE, SECTION_HEADER as u16),
        e_shnum: U16::new(LE, sections.count),
        e_shstrndx: U16::new(LE, elf::SymbolSection(sections.names)),
    };
    put(&mut bytes, 0, bytes_of(&header));
    let programs = program_headers(file, &loads, &tables);
    let programs: Vec<u8> = programs.iter().flat_map(|p| bytes_of(p).to_vec()).collect();
    put(&mut bytes, FILE_HEADER, &programs);
    Ok(bytes)
}

/// The description with zeros where the TLS initialization image is not given.
fn with_tls_image(file: &ElfBuilder) -> Result<ElfBuilder, BuildError> {
    let mut file = file.clone();
    if let Some(tls) = file.tls.filter(|tls| tls.file_size > 0) {
        let size = tls.file_size.min(tls.memory_size);
        let image = usize::try_from(size).ok().filter(|_| size <= LARGEST_TLS_IMAGE);
        let count = usize::try_from(size).unwrap_or(usize::MAX);
        let image = image.ok_or(BuildError::TooMany { what: "initialized TLS bytes", count })?;
        file.contents.insert(0, (tls.address, alloc::vec![0; image]));
    }
    Ok(file)
}

fn put(bytes: &mut [u8], offset: u64, part: &[u8]) {
    let place =
        usize::try_from(offset).ok().and_then(|at| bytes.get_mut(at..at.checked_add(part.len())?));
    if let Some(place) = place {
        place.copy_from_slice(part);
    }
}

fn program_headers(
    file: &ElfBuilder,
    loads: &[Load],
    tables: &Tables,
) -> Vec<elf::ProgramHeader64<LE>> {
    let offset_of = |address: VirtAddr| {
        let after = loads.partition_point(|load| load.address <= address);
        let load = after.checked_sub(1).and_then(|index| loads.get(index));
        let inside = load.filter(|load| address.0 < load.file_end());
        inside.map_or(address.0 % PAGE, |load| {
            load.offset.saturating_add(address.0.saturating_sub(load.address.0))
        })
    };
    let program = |kind, flags, address: VirtAddr, file_size, memory_size, align| {
        elf::ProgramHeader64::<LE> {
            p_type: U32::new(LE, kind),
            p_flags: U32::new(LE, flags),
            p_offset: U64::new(LE, offset_of(address)),
            p_vaddr: U64::new(LE, address.0),
            p_paddr: U64::new(LE, address.0),
            p_filesz: U64::new(LE, file_size),
            p_memsz: U64::new(LE, memory_size),
            p_align: U64::new(LE, align),
        }
    };
    // The path of the interpreter must come before any segment that is loaded.
    let mut specials: Vec<_> = tables
        .specials
        .iter()
        .map(|special| {
            program(special.kind, elf::PF_R, special.at, special.size, special.size, special.align)
        })
        .collect();
    let is_early = |p: &elf::ProgramHeader64<LE>| p.p_type.get(LE) == elf::PT_INTERP;
    let mut programs: Vec<_> = specials.extract_if(.., |p| is_early(p)).collect();
    for load in loads {
        let mut flags = elf::ProgramFlags(0);
        for (is_set, flag) in [
            (load.permissions.readable, elf::PF_R),
            (load.permissions.writable, elf::PF_W),
            (load.permissions.executable, elf::PF_X),
        ] {
            if is_set {
                flags = elf::ProgramFlags(flags.0 | flag.0);
            }
        }
        let size = load.bytes.len() as u64;
        programs.push(program(elf::PT_LOAD, flags, load.address, size, load.memory_size, PAGE));
    }
    programs.append(&mut specials);
    if let Some(tls) = file.tls {
        let size = tls.file_size.min(tls.memory_size);
        programs.push(program(
            elf::PT_TLS,
            elf::PF_R,
            tls.address,
            size,
            tls.memory_size,
            tls.align,
        ));
    }
    if let Some(relro) = file.relro {
        programs.push(program(elf::PT_GNU_RELRO, elf::PF_R, relro.start, 0, relro.size(), 1));
    }
    programs
}

/// Where the section headers are.
#[derive(Default)]
struct SectionTable {
    offset: u64,
    count: u16,
    names: u16,
}

/// Appends what is not loaded: `.symtab`, attached sections, names, headers.
fn trailer(
    file: &ElfBuilder,
    loads: &[Load],
    tables: &Tables,
    places: &[Header],
    bytes: &mut Vec<u8>,
) -> Result<SectionTable, BuildError> {
    let mut headers = alloc::vec![Header::new("", elf::SHT_NULL)];
    headers.extend(sections::of_memory(file, loads));
    let tables_offset =
        loads.last().filter(|_| !tables.bytes.is_empty()).map_or(0, |load| load.offset);
    for header in &tables.headers {
        let offset = tables_offset.saturating_add(header.offset);
        headers.push(Header { offset, ..header.clone() });
    }
    let append = |bytes: &mut Vec<u8>, part: &[u8]| {
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        let offset = bytes.len() as u64;
        bytes.extend(part);
        (offset, part.len() as u64)
    };
    let described = file.headers.as_ref();
    for (name, attached) in described.iter().flat_map(|headers| &headers.attached) {
        let mut header = Header::new(name, elf::SHT_PROGBITS);
        (header.offset, header.size) = append(bytes, attached);
        headers.push(header);
    }
    if let Some(static_symbols) = described.and_then(|headers| headers.static_symbols.as_ref()) {
        let mut strings = Strings::new();
        let section_of = |address| sections::index_of(places, address);
        let table = symbols::static_table(static_symbols, &mut strings, section_of);
        let mut header = Header::new(".symtab", elf::SHT_SYMTAB);
        (header.offset, header.size) = append(bytes, &table.bytes);
        header.info = table.first_global;
        header.link = u32::try_from(headers.len()).unwrap_or(u32::MAX).saturating_add(1);
        header.align = 8;
        header.entry_size = size_of::<elf::Sym64<LE>>() as u64;
        headers.push(header);
        let mut header = Header::new(".strtab", elf::SHT_STRTAB);
        (header.offset, header.size) = append(bytes, strings.bytes());
        headers.push(header);
    }
    let count = headers.len().saturating_add(1);
    let section_count = u16::try_from(count)
        .ok()
        .filter(|&count| count < elf::SHN_LORESERVE)
        .ok_or(BuildError::TooMany { what: "section headers", count })?;

    let mut names = Strings::new();
    let names_name = Header::new(".shstrtab", elf::SHT_STRTAB);
    names.add(&names_name.name);
    for header in &headers {
        names.add(&header.name);
    }
    let mut header = names_name;
    (header.offset, header.size) = append(bytes, names.bytes());
    headers.push(header);
    let table: Vec<u8> = headers.iter().flat_map(|header| header.bytes(&mut names)).collect();
    let (offset, _) = append(bytes, &table);
    Ok(SectionTable { offset, count: section_count, names: section_count - 1 })
}
