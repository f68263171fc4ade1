//! The description of an ELF file.

use alloc::{string::String, vec::Vec};
use core::fmt;

use object::elf;

use crate::{
    addr::VirtAddr,
    image::{Binding, Range, SymbolKind},
    report::{Arch, ImageKind, TlsSegment},
};

/// Describes an ELF64 little-endian file and writes it.
///
/// ```
/// use analyzer_core::{
///     addr::VirtAddr,
///     image::Image,
///     report::{Arch, ImageKind},
///     shrink::{ElfBuilder, Permissions, RelocationKind, SymbolSpec},
/// };
///
/// let mut file = ElfBuilder::new(Arch::X86_64, ImageKind::Shared);
/// file.map(VirtAddr(0x1000), 0x2000, Permissions::CODE);
/// file.map(VirtAddr(0x4000), 0x1000, Permissions::DATA);
/// // mov rax, [rip + 0x2ff9]; ret
/// file.bytes(VirtAddr(0x1000), &[0x48, 0x8b, 0x05, 0xf9, 0x2f, 0, 0, 0xc3]);
/// file.dynamic_symbol(SymbolSpec::function("get", VirtAddr(0x1000), 8));
/// let runtime = file.dynamic_symbol(SymbolSpec::object("_PyRuntime", VirtAddr(0x4100), 64));
/// file.relocation(VirtAddr(0x4000), RelocationKind::GlobDat, Some(runtime), 0);
///
/// let bytes = file.build()?;
/// let image = Image::parse(&bytes)?;
/// assert_eq!(image.symbol("get").unwrap().address, VirtAddr(0x1000));
/// assert!(image.relocation_at(VirtAddr(0x4000)).is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ElfBuilder {
    pub(super) arch: Arch,
    pub(super) kind: ImageKind,
    pub(super) entry: VirtAddr,
    pub(super) mappings: Vec<Mapping>,
    pub(super) contents: Vec<(VirtAddr, Vec<u8>)>,
    pub(super) dynamic: Option<Dynamic>,
    pub(super) interpreter: Option<String>,
    pub(super) tls: Option<TlsSegment>,
    pub(super) relro: Option<Range>,
    pub(super) notes: Vec<OwnedNote>,
    pub(super) unwind: Vec<Range>,
    pub(super) relocations: Vec<RelocationSpec>,
    pub(super) dynamic_symbols: Vec<SymbolSpec>,
    pub(super) headers: Option<Headers>,
}

/// What is in the dynamic section besides tables.
#[derive(Clone, Debug, Default)]
pub(super) struct Dynamic {
    pub(super) soname: Option<String>,
    pub(super) needed: Vec<String>,
    pub(super) entries: Vec<(i64, u64)>,
}

/// What only section headers tell.
#[derive(Clone, Debug, Default)]
pub(super) struct Headers {
    pub(super) sections: Vec<SectionSpec>,
    pub(super) static_symbols: Option<Vec<SymbolSpec>>,
    pub(super) attached: Vec<(String, Vec<u8>)>,
}

/// Memory a file takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mapping {
    pub(super) range: Range,
    pub(super) permissions: Permissions,
}

/// What memory may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Permissions {
    /// `PF_R`.
    pub readable: bool,
    /// `PF_W`.
    pub writable: bool,
    /// `PF_X`.
    pub executable: bool,
}

impl Permissions {
    /// Read-only data.
    pub const CONSTANT: Self = Self { readable: true, writable: false, executable: false };
    /// Writable data.
    pub const DATA: Self = Self { readable: true, writable: true, executable: false };
    /// Code.
    pub const CODE: Self = Self { readable: true, writable: false, executable: true };
}

#[derive(Clone, Debug)]
pub(super) struct OwnedNote {
    pub(super) owner: String,
    pub(super) kind: u32,
    pub(super) description: Vec<u8>,
}

/// A symbol to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolSpec {
    /// Its name.
    pub name: String,
    /// Its address; for [`SymbolKind::Tls`] an offset in the TLS block.
    pub address: VirtAddr,
    /// Its size in bytes.
    pub size: u64,
    /// What it stands for.
    pub kind: SymbolKind,
    /// How it binds.
    pub binding: Binding,
    /// Whether this file defines it.
    pub defined: bool,
}

impl SymbolSpec {
    /// A global function.
    #[must_use]
    pub fn function(name: &str, address: VirtAddr, size: u64) -> Self {
        Self::global(name, address, size, SymbolKind::Function)
    }

    /// A global variable.
    #[must_use]
    pub fn object(name: &str, address: VirtAddr, size: u64) -> Self {
        Self::global(name, address, size, SymbolKind::Object)
    }

    /// A global thread-local variable at `offset` in the TLS block.
    #[must_use]
    pub fn thread_local(name: &str, offset: u64, size: u64) -> Self {
        Self::global(name, VirtAddr(offset), size, SymbolKind::Tls)
    }

    /// A symbol of another file.
    #[must_use]
    pub fn import(name: &str, kind: SymbolKind) -> Self {
        Self { defined: false, ..Self::global(name, VirtAddr(0), 0, kind) }
    }

    fn global(name: &str, address: VirtAddr, size: u64, kind: SymbolKind) -> Self {
        let binding = Binding::Global;
        Self { name: name.into(), address, size, kind, binding, defined: true }
    }

    /// The same, visible in this file only.
    #[must_use]
    pub fn local(self) -> Self {
        Self { binding: Binding::Local, ..self }
    }
}

/// Stands for a dynamic symbol of one [`ElfBuilder`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SymbolId(pub(super) usize);

/// A section to write a header for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SectionSpec {
    /// Its name.
    pub name: String,
    /// The addresses it takes.
    pub range: Range,
}

/// A relocation to write.
#[derive(Clone, Copy, Debug)]
pub(super) struct RelocationSpec {
    pub(super) address: VirtAddr,
    pub(super) kind: RelocationKind,
    pub(super) symbol: Option<SymbolId>,
    pub(super) addend: i64,
}

/// A relocation's meaning, from which its type follows on each architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RelocationKind {
    /// A symbol's address in a GOT word.
    GlobDat,
    /// A symbol's address in a GOT word of the PLT; goes to `DT_JMPREL`.
    JumpSlot,
    /// A symbol's address in any word.
    Absolute,
    /// An address of this image, given as addend.
    Relative,
    /// The result of the resolver whose address is the addend.
    IRelative,
    /// A symbol's TLS module.
    TlsModule,
    /// A symbol's offset in its module's TLS block.
    TlsOffset,
    /// A symbol's offset from the thread pointer.
    TpOffset,
    /// A TLS descriptor.
    TlsDescriptor,
    /// A copy of a library's variable.
    Copy,
    /// A type given by its number.
    Raw(u32),
}

impl RelocationKind {
    pub(super) fn raw(self, arch: Arch) -> u32 {
        let raw = match arch {
            Arch::X86_64 => match self {
                Self::GlobDat => elf::R_X86_64_GLOB_DAT,
                Self::JumpSlot => elf::R_X86_64_JUMP_SLOT,
                Self::Absolute => elf::R_X86_64_64,
                Self::Relative => elf::R_X86_64_RELATIVE,
                Self::IRelative => elf::R_X86_64_IRELATIVE,
                Self::TlsModule => elf::R_X86_64_DTPMOD64,
                Self::TlsOffset => elf::R_X86_64_DTPOFF64,
                Self::TpOffset => elf::R_X86_64_TPOFF64,
                Self::TlsDescriptor => elf::R_X86_64_TLSDESC,
                Self::Copy => elf::R_X86_64_COPY,
                Self::Raw(raw) => return raw,
            },
            Arch::Aarch64 => match self {
                Self::GlobDat => elf::R_AARCH64_GLOB_DAT,
                Self::JumpSlot => elf::R_AARCH64_JUMP_SLOT,
                Self::Absolute => elf::R_AARCH64_ABS64,
                Self::Relative => elf::R_AARCH64_RELATIVE,
                Self::IRelative => elf::R_AARCH64_IRELATIVE,
                Self::TlsModule => elf::R_AARCH64_TLS_DTPMOD,
                Self::TlsOffset => elf::R_AARCH64_TLS_DTPREL,
                Self::TpOffset => elf::R_AARCH64_TLS_TPREL,
                Self::TlsDescriptor => elf::R_AARCH64_TLSDESC,
                Self::Copy => elf::R_AARCH64_COPY,
                Self::Raw(raw) => return raw,
            },
        };
        raw.0
    }
}

/// Why a description cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// Bytes lie outside of mapped memory, or reach over its end.
    NotMapped {
        /// Address of the first of them.
        address: VirtAddr,
        /// How many.
        size: u64,
    },
    /// Two mappings share an address.
    Overlap {
        /// The first address they share.
        address: VirtAddr,
    },
    /// No addresses are left above the mappings for the tables of the file.
    NoRoom {
        /// Where the tables would start.
        address: VirtAddr,
    },
    /// Unwind entries lie more than 2 GiB from their table.
    TooFar {
        /// Start of the entry.
        address: VirtAddr,
    },
    /// A count does not fit its field in the file.
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many.
        count: usize,
    },
    /// [`ImageKind`] is not one that is loaded.
    Kind(ImageKind),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotMapped { address, size } => {
                write!(f, "the {size} bytes at {address} do not lie in one mapping")
            }
            Self::Overlap { address } => write!(f, "two mappings share {address}"),
            Self::NoRoom { address } => write!(f, "no room for tables at {address}"),
            Self::TooFar { address } => {
                write!(f, "the code at {address} is too far from its unwind table")
            }
            Self::TooMany { what, count } => write!(f, "{count} {what} are too many"),
            Self::Kind(_) => f.write_str("only executables and shared libraries can be written"),
        }
    }
}

impl core::error::Error for BuildError {}

impl ElfBuilder {
    /// A file of that kind with nothing in it: section headers, no `.symtab`,
    /// and, until something needs it, no dynamic section.
    #[must_use]
    pub fn new(arch: Arch, kind: ImageKind) -> Self {
        Self {
            arch,
            kind,
            entry: VirtAddr(0),
            mappings: Vec::new(),
            contents: Vec::new(),
            dynamic: None,
            interpreter: None,
            tls: None,
            relro: None,
            notes: Vec::new(),
            unwind: Vec::new(),
            relocations: Vec::new(),
            dynamic_symbols: Vec::new(),
            headers: Some(Headers::default()),
        }
    }

    /// `e_entry`.
    pub fn entry(&mut self, address: VirtAddr) -> &mut Self {
        self.entry = address;
        self
    }

    /// Maps `size` bytes of zeros at `address`. Mappings must not overlap.
    pub fn map(&mut self, address: VirtAddr, size: u64, permissions: Permissions) -> &mut Self {
        self.mappings.push(Mapping { range: Range::new(address, size), permissions });
        self
    }

    /// Puts bytes at `address`, inside of one mapping. Later ones win.
    pub fn bytes(&mut self, address: VirtAddr, bytes: &[u8]) -> &mut Self {
        self.contents.push((address, bytes.to_vec()));
        self
    }

    /// Gives the file a dynamic section even if nothing else needs one.
    pub fn dynamic(&mut self) -> &mut Self {
        self.dynamic.get_or_insert_default();
        self
    }

    /// `DT_SONAME`.
    pub fn soname(&mut self, name: &str) -> &mut Self {
        self.dynamic.get_or_insert_default().soname = Some(name.into());
        self
    }

    /// Adds a `DT_NEEDED`.
    pub fn needed(&mut self, name: &str) -> &mut Self {
        self.dynamic.get_or_insert_default().needed.push(name.into());
        self
    }

    /// Adds an entry to the dynamic section, for instance `DT_FLAGS`. The
    /// entries for tables and for [`ImageKind::Pie`] are written anyway.
    pub fn dynamic_entry(&mut self, tag: i64, value: u64) -> &mut Self {
        self.dynamic.get_or_insert_default().entries.push((tag, value));
        self
    }

    /// `PT_INTERP`.
    pub fn interpreter(&mut self, path: &str) -> &mut Self {
        self.interpreter = Some(path.into());
        self
    }

    /// `PT_TLS`. Its initialization image is what [`ElfBuilder::bytes`] puts there.
    pub fn tls(&mut self, tls: TlsSegment) -> &mut Self {
        self.tls = Some(tls);
        self
    }

    /// `PT_GNU_RELRO`.
    pub fn relro(&mut self, range: Range) -> &mut Self {
        self.relro = Some(range);
        self
    }

    /// Adds a note.
    pub fn note(&mut self, owner: &str, kind: u32, description: &[u8]) -> &mut Self {
        let description = description.to_vec();
        self.notes.push(OwnedNote { owner: owner.into(), kind, description });
        self
    }

    /// The GNU build id.
    pub fn build_id(&mut self, id: &[u8]) -> &mut Self {
        self.note("GNU", elf::NT_GNU_BUILD_ID.0, id)
    }

    /// Adds an unwind entry (`.eh_frame` FDE) for a range of code. It bounds
    /// the range; its rules are those of a function's first instruction.
    pub fn unwind(&mut self, range: Range) -> &mut Self {
        self.unwind.push(range);
        self
    }

    /// Adds a dynamic symbol.
    pub fn dynamic_symbol(&mut self, symbol: SymbolSpec) -> SymbolId {
        self.dynamic.get_or_insert_default();
        self.dynamic_symbols.push(symbol);
        SymbolId(self.dynamic_symbols.len() - 1)
    }

    /// Adds an import, a function unless told otherwise by a
    /// [`SymbolSpec::import`] given to [`ElfBuilder::dynamic_symbol`].
    pub fn import(&mut self, name: &str) -> SymbolId {
        self.dynamic_symbol(SymbolSpec::import(name, SymbolKind::Function))
    }

    /// Adds a relocation of the word at `address`. Without a dynamic section
    /// it is written as a static executable's, which only section headers tell.
    pub fn relocation(
        &mut self,
        address: VirtAddr,
        kind: RelocationKind,
        symbol: Option<SymbolId>,
        addend: i64,
    ) -> &mut Self {
        self.relocations.push(RelocationSpec { address, kind, symbol, addend });
        self
    }

    /// Adds a `.symtab` symbol. Local ones are written before the others,
    /// else in the order given.
    pub fn static_symbol(&mut self, symbol: SymbolSpec) -> &mut Self {
        self.symbol_table();
        if let Some(symbols) = self.headers.as_mut().and_then(|h| h.static_symbols.as_mut()) {
            symbols.push(symbol);
        }
        self
    }

    /// Gives the file a `.symtab`, if only an empty one: it is not stripped.
    pub fn symbol_table(&mut self) -> &mut Self {
        self.headers.get_or_insert_default().static_symbols.get_or_insert_default();
        self
    }

    /// Adds a section header over mapped memory: `SHT_PROGBITS` where bytes
    /// were put at all of it, else `SHT_NOBITS`.
    pub fn section(&mut self, name: &str, range: Range) -> &mut Self {
        let section = SectionSpec { name: name.into(), range };
        self.headers.get_or_insert_default().sections.push(section);
        self
    }

    /// Adds a section that is not loaded, for instance `.gnu_debuglink`.
    pub fn attached_section(&mut self, name: &str, bytes: &[u8]) -> &mut Self {
        let attached = (name.into(), bytes.to_vec());
        self.headers.get_or_insert_default().attached.push(attached);
        self
    }

    /// Leaves section headers out, and with them `.symtab` and every section
    /// that was added.
    pub fn without_section_headers(&mut self) -> &mut Self {
        self.headers = None;
        self
    }

    /// Writes the file.
    ///
    /// # Errors
    ///
    /// [`BuildError`] when the description contradicts itself.
    pub fn build(&self) -> Result<Vec<u8>, BuildError> {
        super::write::write(self)
    }
}
