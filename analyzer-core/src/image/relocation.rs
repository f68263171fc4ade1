//! What a relocation means.
//!
//! Type numbers: x86-64 psABI, table "Relocation Types"; AArch64 ELF ABI
//! (`aaelf64`), "Dynamic relocations". The types that occur in linked files
//! mean the same on both.

use object::{LittleEndian as LE, elf};

use crate::{addr::VirtAddr, report::Arch};

/// What the dynamic linker stores at a relocated word.
///
/// A `symbol` is an index into the dynamic symbol table; 0 stands for none,
/// that is, for this module itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Relocation {
    /// The address of a symbol, plus `addend`.
    Symbolic {
        /// Which symbol.
        symbol: u32,
        /// Bytes added to its address.
        addend: i64,
        /// Which of the relocation types that mean this.
        kind: SymbolicKind,
    },
    /// An address in this image.
    Relative {
        /// The link-time address; at run time the load bias is added.
        address: VirtAddr,
    },
    /// The result of calling a resolver (`STT_GNU_IFUNC`).
    IRelative {
        /// Link-time address of the resolver.
        resolver: VirtAddr,
    },
    /// The TLS module id of a symbol's module (`DTPMOD`).
    TlsModule {
        /// Which symbol.
        symbol: u32,
    },
    /// A symbol's offset in its module's TLS block (`DTPOFF`, `DTPREL`).
    TlsOffset {
        /// Which symbol.
        symbol: u32,
        /// Bytes added.
        addend: i64,
        /// The offset, when the symbol is this module's own.
        module_offset: Option<i64>,
    },
    /// A symbol's offset from the thread pointer (`TPOFF`, `TPREL`).
    TpOffset {
        /// Which symbol.
        symbol: u32,
        /// Bytes added.
        addend: i64,
        /// Offset in the module's TLS block, when the symbol is this module's own.
        module_offset: Option<i64>,
    },
    /// A TLS descriptor: two words, a function and its argument.
    TlsDescriptor {
        /// Which symbol.
        symbol: u32,
        /// Bytes added.
        addend: i64,
        /// Offset in the module's TLS block, when the symbol is this module's own.
        module_offset: Option<i64>,
    },
    /// The bytes of a library's variable, which moves here.
    Copy {
        /// Which symbol.
        symbol: u32,
    },
    /// Anything else.
    Other {
        /// The raw relocation type.
        raw: u32,
        /// Which symbol.
        symbol: u32,
        /// Bytes added.
        addend: i64,
    },
}

/// The relocation types that store a symbol's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SymbolicKind {
    /// `GLOB_DAT`: a GOT word.
    GlobDat,
    /// `JUMP_SLOT`: a GOT word used by the PLT, possibly bound lazily.
    JumpSlot,
    /// `R_X86_64_64`, `R_AARCH64_ABS64`: any word.
    Absolute,
}

/// A relocation's type without its operands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Symbolic(SymbolicKind),
    Relative,
    IRelative,
    TlsModule,
    TlsOffset,
    TpOffset,
    TlsDescriptor,
    Copy,
    /// `R_X86_64_NONE`, `R_AARCH64_NONE`.
    Nothing,
    Other,
}

fn class(arch: Arch, raw: elf::RelocationType) -> Class {
    match arch {
        _ if raw.0 == 0 => Class::Nothing,
        Arch::X86_64 => match raw {
            elf::R_X86_64_GLOB_DAT => Class::Symbolic(SymbolicKind::GlobDat),
            elf::R_X86_64_JUMP_SLOT => Class::Symbolic(SymbolicKind::JumpSlot),
            elf::R_X86_64_64 => Class::Symbolic(SymbolicKind::Absolute),
            elf::R_X86_64_RELATIVE => Class::Relative,
            elf::R_X86_64_IRELATIVE => Class::IRelative,
            elf::R_X86_64_DTPMOD64 => Class::TlsModule,
            elf::R_X86_64_DTPOFF64 => Class::TlsOffset,
            elf::R_X86_64_TPOFF64 => Class::TpOffset,
            elf::R_X86_64_TLSDESC => Class::TlsDescriptor,
            elf::R_X86_64_COPY => Class::Copy,
            _ => Class::Other,
        },
        Arch::Aarch64 => match raw {
            elf::R_AARCH64_GLOB_DAT => Class::Symbolic(SymbolicKind::GlobDat),
            elf::R_AARCH64_JUMP_SLOT => Class::Symbolic(SymbolicKind::JumpSlot),
            elf::R_AARCH64_ABS64 => Class::Symbolic(SymbolicKind::Absolute),
            elf::R_AARCH64_RELATIVE => Class::Relative,
            elf::R_AARCH64_IRELATIVE => Class::IRelative,
            elf::R_AARCH64_TLS_DTPMOD => Class::TlsModule,
            elf::R_AARCH64_TLS_DTPREL => Class::TlsOffset,
            elf::R_AARCH64_TLS_TPREL => Class::TpOffset,
            elf::R_AARCH64_TLSDESC => Class::TlsDescriptor,
            elf::R_AARCH64_COPY => Class::Copy,
            _ => Class::Other,
        },
    }
}

/// The type of a relative relocation.
pub(super) fn relative(arch: Arch) -> elf::RelocationType {
    match arch {
        Arch::X86_64 => elf::R_X86_64_RELATIVE,
        Arch::Aarch64 => elf::R_AARCH64_RELATIVE,
    }
}

pub(super) fn is_copy(arch: Arch, rela: &elf::Rela64<LE>) -> bool {
    class(arch, rela.r_type(LE, false)) == Class::Copy
}

/// Gives a record its meaning, if it has one. `own_tls` tells the offset in this module's
/// TLS block of a dynamic symbol that is defined here.
pub(super) fn decode(
    arch: Arch,
    rela: &elf::Rela64<LE>,
    own_tls: impl Fn(u32) -> Option<u64>,
) -> Option<Relocation> {
    let raw = rela.r_type(LE, false);
    let symbol = rela.r_sym(LE, false);
    let addend = rela.r_addend.get(LE);
    let module_offset = || match symbol {
        0 => Some(addend),
        _ => Some(own_tls(symbol)?.cast_signed().wrapping_add(addend)),
    };
    Some(match class(arch, raw) {
        Class::Nothing => return None,
        Class::Symbolic(kind) => Relocation::Symbolic { symbol, addend, kind },
        Class::Relative => Relocation::Relative { address: VirtAddr(addend.cast_unsigned()) },
        Class::IRelative => Relocation::IRelative { resolver: VirtAddr(addend.cast_unsigned()) },
        Class::TlsModule => Relocation::TlsModule { symbol },
        Class::TlsOffset => {
            Relocation::TlsOffset { symbol, addend, module_offset: module_offset() }
        }
        Class::TpOffset => Relocation::TpOffset { symbol, addend, module_offset: module_offset() },
        Class::TlsDescriptor => {
            Relocation::TlsDescriptor { symbol, addend, module_offset: module_offset() }
        }
        Class::Copy => Relocation::Copy { symbol },
        Class::Other => Relocation::Other { raw: raw.0, symbol, addend },
    })
}
