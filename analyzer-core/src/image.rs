//! One ELF file seen as memory: which bytes lie at an address, what the
//! dynamic linker does to them, and what they are called.
//!
//! [`Image::parse`] reads the file header, the program headers and the
//! dynamic section, nothing else; every other table is looked at when it is
//! asked for, and then only where the answer is. All addresses are link-time
//! virtual addresses. Every count, size and offset in the file is treated as
//! hostile: nothing here panics on any bytes or does more work than
//! proportional to the file.
//!
//! Sources of all layouts: the ELF gABI, the x86-64 psABI and the AArch64 ELF
//! ABI (`aaelf64`).

use core::fmt;

use alloc::vec::Vec;
use core::cell::OnceCell;

use object::{LittleEndian as LE, elf};

use crate::{
    addr::VirtAddr,
    report::{Arch, ImageKind, TlsSegment},
};

mod callee;
mod copies;
mod dynamic;
mod error;
mod exports;
mod facts;
mod functions;
mod hash;
mod header;
mod memory;
mod note;
mod plt;
mod record;
mod relocation;
mod relocations;
mod relr;
mod section;
mod segment;
mod symbol;
mod symbols;
mod unwind;

pub use self::{
    callee::{Callee, Via},
    error::ParseError,
    facts::MOST_NEEDED,
    note::Note,
    record::Record,
    relocation::{Relocation, SymbolicKind},
    section::Section,
    segment::{Range, Segment},
    symbol::{Binding, LONGEST_NAME, Symbol, SymbolKind, Table},
    symbols::NamedSymbol,
};
use self::{
    copies::CopyTarget,
    dynamic::Dynamic,
    functions::Functions,
    record::Recorder,
    relocations::{Found, Relocations},
    section::{Sections, slice_clamped},
    segment::Segments,
    symbol::SymbolTable,
    symbols::DynamicSymbols,
};
pub(crate) use self::{
    facts::{REPRODUCER_NOTE, REPRODUCER_OWNER},
    record::MemberPath,
};

/// One ELF64 little-endian file for x86-64 or AArch64, seen as memory.
#[derive(Debug)]
pub struct Image<'d> {
    data: &'d [u8],
    header: &'d elf::FileHeader64<LE>,
    program_headers: &'d [elf::ProgramHeader64<LE>],
    arch: Arch,
    kind: ImageKind,
    segments: Segments,
    dynamic: Dynamic<'d>,
    tls: Option<TlsSegment>,
    relro: Option<Range>,
    cut: Option<Cut>,
    sections: OnceCell<Sections<'d>>,
    dynamic_symbols: OnceCell<DynamicSymbols<'d>>,
    counted_symbols: OnceCell<SymbolTable<'d>>,
    static_symbols: OnceCell<SymbolTable<'d>>,
    relocations: OnceCell<Relocations<'d>>,
    copies: OnceCell<Vec<CopyTarget>>,
    static_functions: Functions,
    dynamic_functions: Functions,
    unwind_ranges: OnceCell<Vec<Range>>,
    recorder: Option<Recorder>,
}

/// A part of the file that its headers declare and that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// What is cut off, for instance `PT_LOAD`.
    pub what: &'static str,
    /// Its file offset.
    pub offset: u64,
    /// Bytes it takes from there.
    pub needed: u64,
    /// Bytes the file has from there.
    pub have: u64,
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, offset, needed, have } = self;
        write!(
            f,
            "The {what} takes {needed} bytes at file offset {offset:#x}, the file has {have} there."
        )
    }
}

/// A relocation record without its address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawRelocation {
    pub(crate) kind: u32,
    pub(crate) symbol: u32,
    pub(crate) addend: i64,
}

impl<'d> Image<'d> {
    /// Reads the headers of the file whose bytes are `data`.
    ///
    /// # Errors
    ///
    /// [`ParseError`] when this is no ELF64 little-endian file for x86-64 or
    /// AArch64 or its headers cannot be read. A file that ends early but has
    /// its headers is parsed; [`Image::cut`] tells.
    pub fn parse(data: &'d [u8]) -> Result<Self, ParseError> {
        let (header, arch) = header::read(data)?;
        let program_headers = header::program_headers(data, header)?;

        let mut segments = Vec::new();
        let mut dynamic = None;
        let mut tls = None;
        let mut relro = None;
        let mut interpreter = false;
        let mut cut = None;
        for program in program_headers {
            let (what, kind) = match program.p_type.get(LE) {
                kind @ elf::PT_LOAD => ("PT_LOAD", kind),
                kind @ elf::PT_DYNAMIC => ("PT_DYNAMIC", kind),
                kind @ elf::PT_INTERP => ("PT_INTERP", kind),
                kind @ (elf::PT_TLS | elf::PT_GNU_RELRO) => ("", kind),
                _ => continue,
            };
            let address = VirtAddr(program.p_vaddr.get(LE));
            let memory_size = program.p_memsz.get(LE);
            let offset = program.p_offset.get(LE);
            let declared = program.p_filesz.get(LE);
            let bytes = slice_clamped(data, offset, declared);
            let have = bytes.len() as u64;
            if have < declared && !what.is_empty() && cut.is_none() {
                cut = Some(Cut { what, offset, needed: declared, have });
            }
            match kind {
                elf::PT_LOAD => {
                    let flags = program.p_flags.get(LE).0;
                    let memory_size = memory_size.min(u64::MAX - address.0);
                    segments.push(Segment {
                        address,
                        memory_size,
                        offset,
                        file_size: have.min(memory_size),
                        declared_file_size: declared,
                        align: program.p_align.get(LE),
                        readable: flags & elf::PF_R.0 != 0,
                        writable: flags & elf::PF_W.0 != 0,
                        executable: flags & elf::PF_X.0 != 0,
                    });
                }
                elf::PT_DYNAMIC => dynamic = dynamic.or(Some((address, bytes))),
                elf::PT_INTERP => interpreter = true,
                elf::PT_TLS => {
                    tls = Some(TlsSegment {
                        address,
                        file_size: declared,
                        memory_size,
                        align: program.p_align.get(LE).max(1),
                    });
                }
                _ => relro = Some(Range::new(address, memory_size)),
            }
        }

        let dynamic = dynamic.map_or_else(Dynamic::default, |(_, bytes)| Dynamic::parse(bytes));
        let kind = header::kind(header, &dynamic, interpreter);
        Ok(Self {
            data,
            header,
            program_headers,
            arch,
            kind,
            segments: Segments::new(segments),
            dynamic,
            tls,
            relro,
            cut,
            sections: OnceCell::new(),
            dynamic_symbols: OnceCell::new(),
            counted_symbols: OnceCell::new(),
            static_symbols: OnceCell::new(),
            relocations: OnceCell::new(),
            copies: OnceCell::new(),
            static_functions: Functions::default(),
            dynamic_functions: Functions::default(),
            unwind_ranges: OnceCell::new(),
            recorder: None,
        })
    }

    /// The file's bytes.
    #[must_use]
    pub fn data(&self) -> &'d [u8] {
        self.data
    }

    /// Instruction set.
    #[must_use]
    pub fn arch(&self) -> Arch {
        self.arch
    }

    /// Kind of file.
    #[must_use]
    pub fn kind(&self) -> ImageKind {
        self.kind
    }

    /// Whether link-time addresses are run-time addresses (`ET_EXEC`).
    #[must_use]
    pub fn is_fixed(&self) -> bool {
        self.kind == ImageKind::Executable
    }

    /// `e_entry`; zero in most libraries.
    #[must_use]
    pub fn entry(&self) -> VirtAddr {
        VirtAddr(self.header.e_entry.get(LE))
    }

    /// The first part of the file that its program headers declare and that
    /// lies beyond its end.
    #[must_use]
    pub fn cut(&self) -> Option<Cut> {
        self.cut
    }

    /// The TLS segment.
    #[must_use]
    pub fn tls(&self) -> Option<TlsSegment> {
        self.tls
    }

    /// What the dynamic linker makes read-only after relocation (`PT_GNU_RELRO`).
    #[must_use]
    pub fn relro(&self) -> Option<Range> {
        self.relro
    }

    /// Whether there is a dynamic section.
    #[must_use]
    pub fn has_dynamic(&self) -> bool {
        !self.dynamic.entries.is_empty()
    }

    /// Whether there are section headers that can be read.
    #[must_use]
    pub fn has_section_headers(&self) -> bool {
        !self.section_table().is_empty()
    }

    /// Whether there is no `.symtab`.
    #[must_use]
    pub fn is_stripped(&self) -> bool {
        self.static_table().entries.is_empty()
    }

    /// The section of that name.
    #[must_use]
    pub fn section(&self, name: &str) -> Option<Section<'d>> {
        let section = self.section_table().named(name)?;
        self.note(|record| {
            record.sections.insert(name.into());
        });
        Some(section)
    }

    /// Every section, the null section included.
    pub fn sections(&self) -> impl Iterator<Item = Section<'d>> + use<'d> {
        self.section_table().iter()
    }

    fn section_table(&self) -> &Sections<'d> {
        self.sections.get_or_init(|| Sections::parse(self.data, self.header))
    }

    fn relocations(&self) -> &Relocations<'d> {
        self.relocations.get_or_init(|| {
            let dynamic = &self.dynamic;
            if !self.has_dynamic() {
                let most = self.data.len() / size_of::<elf::Rela64<LE>>();
                return Relocations::of_sections(self.section_table(), most);
            }
            let table = |at: Option<VirtAddr>, size: u64| {
                let bytes = at.map_or(&[][..], |at| self.rest_from(at));
                bytes.get(..usize::try_from(size).unwrap_or(usize::MAX)).unwrap_or(bytes)
            };
            let plt = table(dynamic.plt_rela, dynamic.plt_rela_size);
            let mut rela = table(dynamic.rela, dynamic.rela_size);
            // Some linkers count DT_JMPREL into DT_RELA.
            if let (Some(all), Some(part)) = (dynamic.rela, dynamic.plt_rela)
                && let Some(before) = part.distance_from(all)
                && let Some(cut) = usize::try_from(before).ok().and_then(|size| rela.get(..size))
            {
                rela = cut;
            }
            let relr = table(dynamic.relr, dynamic.relr_size);
            Relocations::dynamic(plt, rela, dynamic.relative_count, relr)
        })
    }

    /// What the dynamic linker stores at the word at `address`, if it does.
    /// Records that say nothing (`R_*_NONE`, which linkers leave behind) do not count.
    #[must_use]
    pub fn relocation_at(&self, address: VirtAddr) -> Option<Relocation> {
        let relocation = match self.relocations().at(address)? {
            Found::Record(record) => {
                self.note_symbol(Table::Dynamic, record.r_sym(LE, false));
                relocation::decode(self.arch, record, |symbol| self.own_tls_offset(symbol))?
            }
            Found::Relr => Relocation::Relative { address: VirtAddr(self.u64_at(address)?) },
        };
        self.note(|record| {
            record.relocations.insert(address);
        });
        Some(relocation)
    }

    /// The link-time address that a relocation stores; `None` when it stores
    /// something else, or an address of another module.
    #[must_use]
    pub fn stored_address(&self, relocation: Relocation) -> Option<VirtAddr> {
        match relocation {
            Relocation::Relative { address } => Some(address),
            Relocation::Symbolic { symbol: 0, addend, .. } => {
                Some(VirtAddr(addend.cast_unsigned()))
            }
            Relocation::Symbolic { symbol, addend, .. } => {
                let symbol = self.dynamic_symbol_at(symbol).filter(|symbol| symbol.defined)?;
                Some(VirtAddr(symbol.address.0.wrapping_add_signed(addend)))
            }
            _ => None,
        }
    }

    /// The relocation of the word at `address` as the file has it.
    pub(crate) fn raw_relocation(&self, address: VirtAddr) -> Option<RawRelocation> {
        Some(match self.relocations().at(address)? {
            Found::Record(record) => RawRelocation {
                kind: record.r_type(LE, false).0,
                symbol: record.r_sym(LE, false),
                addend: record.r_addend.get(LE),
            },
            Found::Relr => RawRelocation {
                kind: relocation::relative(self.arch).0,
                symbol: 0,
                addend: self.u64_at(address)?.cast_signed(),
            },
        })
    }
}
