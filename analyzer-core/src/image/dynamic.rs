//! `PT_DYNAMIC`: what the dynamic linker is told.

use object::{LittleEndian as LE, elf, pod};

use crate::addr::VirtAddr;

/// The members of the dynamic section that are used, as declared: addresses
/// are link-time addresses, sizes are in bytes, nothing is checked yet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Dynamic<'d> {
    /// The raw entries up to `DT_NULL`.
    pub(super) entries: &'d [elf::Dyn64<LE>],
    pub(super) symbols: Option<VirtAddr>,
    pub(super) strings: Option<VirtAddr>,
    pub(super) strings_size: u64,
    pub(super) gnu_hash: Option<VirtAddr>,
    pub(super) sysv_hash: Option<VirtAddr>,
    pub(super) symbol_versions: Option<VirtAddr>,
    pub(super) rela: Option<VirtAddr>,
    pub(super) rela_size: u64,
    pub(super) relative_count: u64,
    pub(super) plt_rela: Option<VirtAddr>,
    pub(super) plt_rela_size: u64,
    pub(super) relr: Option<VirtAddr>,
    pub(super) relr_size: u64,
    pub(super) soname: Option<u64>,
    pub(super) flags_1: u64,
}

impl<'d> Dynamic<'d> {
    /// Reads the entries in `bytes`, the file's part of `PT_DYNAMIC`.
    pub(super) fn parse(bytes: &'d [u8]) -> Self {
        let count = bytes.len() / size_of::<elf::Dyn64<LE>>();
        let Ok((all, _)) = pod::slice_from_bytes::<elf::Dyn64<LE>>(bytes, count) else {
            return Self::default();
        };
        let used = all.iter().take_while(|entry| entry.d_tag.get(LE) != elf::DT_NULL).count();
        let mut dynamic = Self { entries: all.get(..used).unwrap_or_default(), ..Self::default() };
        for entry in dynamic.entries {
            let value = entry.d_val.get(LE);
            let address = Some(VirtAddr(value));
            match entry.d_tag.get(LE) {
                elf::DT_SYMTAB => dynamic.symbols = address,
                elf::DT_STRTAB => dynamic.strings = address,
                elf::DT_STRSZ => dynamic.strings_size = value,
                elf::DT_GNU_HASH => dynamic.gnu_hash = address,
                elf::DT_HASH => dynamic.sysv_hash = address,
                elf::DT_VERSYM => dynamic.symbol_versions = address,
                elf::DT_RELA => dynamic.rela = address,
                elf::DT_RELASZ => dynamic.rela_size = value,
                elf::DT_RELACOUNT => dynamic.relative_count = value,
                elf::DT_JMPREL => dynamic.plt_rela = address,
                elf::DT_PLTRELSZ => dynamic.plt_rela_size = value,
                elf::DT_RELR => dynamic.relr = address,
                elf::DT_RELRSZ => dynamic.relr_size = value,
                elf::DT_SONAME => dynamic.soname = Some(value),
                elf::DT_FLAGS_1 => dynamic.flags_1 = value,
                _ => {}
            }
        }
        dynamic
    }

    /// `DT_STRTAB` offsets of the `DT_NEEDED` names, in order.
    pub(super) fn needed(&self) -> impl Iterator<Item = u64> + use<'d> {
        self.entries
            .iter()
            .filter(|entry| entry.d_tag.get(LE) == elf::DT_NEEDED)
            .map(|entry| entry.d_val.get(LE))
    }

    /// Where the tables start that usually follow each other in one segment.
    pub(super) fn tables(&self) -> impl Iterator<Item = VirtAddr> {
        [
            self.symbols,
            self.strings,
            self.gnu_hash,
            self.sysv_hash,
            self.symbol_versions,
            self.rela,
            self.plt_rela,
            self.relr,
        ]
        .into_iter()
        .flatten()
    }
}
