//! Section headers, where the file has them.

use object::{LittleEndian as LE, elf, pod};

use super::symbol::string_at;
use crate::addr::VirtAddr;

/// Section headers that are read: as many as can be numbered without the
/// extension that only relocatable objects need (`SHN_XINDEX`).
const MOST_SECTIONS: usize = elf::SHN_LORESERVE as usize;

/// One section, as its header declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section<'d> {
    /// Its name; empty when it cannot be read.
    pub name: &'d str,
    /// `sh_type`.
    pub kind: u32,
    /// `sh_flags`.
    pub flags: u64,
    /// `sh_addr`: link-time address, zero when it is not loaded.
    pub address: VirtAddr,
    /// `sh_offset`: file offset.
    pub offset: u64,
    /// `sh_size` in bytes.
    pub size: u64,
    /// `sh_link`.
    pub link: u32,
    /// `sh_entsize`.
    pub entry_size: u64,
    /// Its bytes, as many as the file holds; empty for `SHT_NOBITS`.
    pub data: &'d [u8],
}

impl Section<'_> {
    /// `SHF_ALLOC`: it is part of the loaded image.
    #[must_use]
    pub fn is_loaded(&self) -> bool {
        self.flags & elf::SHF_ALLOC.0 != 0
    }

    /// `SHF_COMPRESSED`: its bytes are a compression header and packed data.
    #[must_use]
    pub fn is_compressed(&self) -> bool {
        self.flags & elf::SHF_COMPRESSED.0 != 0
    }

    /// `SHT_NOBITS`: it takes memory but has no bytes in the file.
    #[must_use]
    pub fn is_empty_in_file(&self) -> bool {
        self.kind == elf::SHT_NOBITS.0
    }

    /// Whether `address` lies in the loaded section.
    #[must_use]
    pub fn contains(&self, address: VirtAddr) -> bool {
        self.is_loaded() && address.distance_from(self.address).is_some_and(|into| into < self.size)
    }
}

/// The section header table.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sections<'d> {
    headers: &'d [elf::SectionHeader64<LE>],
    names: &'d [u8],
    data: &'d [u8],
}

impl<'d> Sections<'d> {
    /// The table the file header declares; empty when it is absent, cut off
    /// or has entries of another size.
    pub(super) fn parse(data: &'d [u8], header: &elf::FileHeader64<LE>) -> Self {
        Self::read(data, header).unwrap_or(Self { data, ..Self::default() })
    }

    fn read(data: &'d [u8], header: &elf::FileHeader64<LE>) -> Option<Self> {
        let offset = usize::try_from(header.e_shoff.get(LE)).ok().filter(|&offset| offset != 0)?;
        let entry_size = size_of::<elf::SectionHeader64<LE>>();
        if usize::from(header.e_shentsize.get(LE)) != entry_size {
            return None;
        }
        let rest = data.get(offset..)?;
        let (first, _) = pod::from_bytes::<elf::SectionHeader64<LE>>(rest).ok()?;
        let count = match header.e_shnum.get(LE) {
            0 => usize::try_from(first.sh_size.get(LE)).ok()?,
            count => usize::from(count),
        };
        let count = count.min(rest.len() / entry_size).min(MOST_SECTIONS);
        let (headers, _) = pod::slice_from_bytes::<elf::SectionHeader64<LE>>(rest, count).ok()?;
        let names_index = match header.e_shstrndx.get(LE) {
            elf::SHN_XINDEX => first.sh_link.get(LE) as usize,
            index => usize::from(index.0),
        };
        let names = headers.get(names_index).map_or(&[][..], |names| contents(data, names));
        Some(Self { headers, names, data })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.headers.is_empty()
    }

    pub(super) fn get(&self, index: u32) -> Option<Section<'d>> {
        self.headers.get(index as usize).map(|header| self.section(header))
    }

    pub(super) fn named(&self, name: &str) -> Option<Section<'d>> {
        let name = name.as_bytes();
        self.headers
            .iter()
            .find(|header| {
                let at = header.sh_name.get(LE) as usize;
                at.checked_add(name.len()).is_some_and(|end| {
                    self.names.get(at..end) == Some(name) && self.names.get(end) == Some(&0)
                })
            })
            .map(|header| self.section(header))
    }

    pub(super) fn of_kind(&self, kind: elf::SectionType) -> impl Iterator<Item = Section<'d>> {
        let sections = *self;
        self.headers
            .iter()
            .filter(move |header| header.sh_type.get(LE) == kind)
            .map(move |header| sections.section(header))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Section<'d>> + use<'d> {
        let sections = *self;
        self.headers.iter().map(move |header| sections.section(header))
    }

    fn section(&self, header: &elf::SectionHeader64<LE>) -> Section<'d> {
        Section {
            name: string_at(self.names, u64::from(header.sh_name.get(LE))).unwrap_or_default(),
            kind: header.sh_type.get(LE).0,
            flags: header.sh_flags.get(LE).0,
            address: VirtAddr(header.sh_addr.get(LE)),
            offset: header.sh_offset.get(LE),
            size: header.sh_size.get(LE),
            link: header.sh_link.get(LE),
            entry_size: header.sh_entsize.get(LE),
            data: contents(self.data, header),
        }
    }
}

/// The bytes of a section that the file holds.
fn contents<'d>(data: &'d [u8], header: &elf::SectionHeader64<LE>) -> &'d [u8] {
    if header.sh_type.get(LE) == elf::SHT_NOBITS {
        return &[];
    }
    slice_clamped(data, header.sh_offset.get(LE), header.sh_size.get(LE))
}

/// `size` bytes of `data` from `offset`, or as many of them as there are.
pub(super) fn slice_clamped(data: &[u8], offset: u64, size: u64) -> &[u8] {
    let rest = usize::try_from(offset).ok().and_then(|at| data.get(at..)).unwrap_or_default();
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    rest.get(..size).unwrap_or(rest)
}
