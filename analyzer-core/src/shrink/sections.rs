//! Section headers.

use alloc::{
    string::{String, ToString},
    vec::Vec,
};

use object::{LittleEndian as LE, U32, U64, elf, pod::bytes_of};

use super::{builder::ElfBuilder, layout::Load, strings::Strings};
use crate::addr::VirtAddr;

/// One section header to write. Offset and size are of the file.
#[derive(Clone, Debug)]
pub(super) struct Header {
    pub(super) name: String,
    pub(super) kind: elf::SectionType,
    pub(super) flags: u64,
    pub(super) address: VirtAddr,
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) link: u32,
    pub(super) info: u32,
    pub(super) align: u64,
    pub(super) entry_size: u64,
}

impl Header {
    /// A section of nothing in particular.
    pub(super) fn new(name: &str, kind: elf::SectionType) -> Self {
        Self {
            name: name.to_string(),
            kind,
            flags: 0,
            address: VirtAddr(0),
            offset: 0,
            size: 0,
            link: 0,
            info: 0,
            align: 1,
            entry_size: 0,
        }
    }

    pub(super) fn bytes(&self, strings: &mut Strings) -> Vec<u8> {
        let header = elf::SectionHeader64::<LE> {
            sh_name: U32::new(LE, strings.add(&self.name)),
            sh_type: U32::new(LE, self.kind),
            sh_flags: U64::new(LE, elf::SectionFlags(self.flags)),
            sh_addr: U64::new(LE, self.address.0),
            sh_offset: U64::new(LE, self.offset),
            sh_size: U64::new(LE, self.size),
            sh_link: U32::new(LE, self.link),
            sh_info: U32::new(LE, self.info),
            sh_addralign: U64::new(LE, self.align),
            sh_entsize: U64::new(LE, self.entry_size),
        };
        bytes_of(&header).to_vec()
    }
}

/// Headers for the sections over mapped memory that the description names,
/// and for the TLS segment.
pub(super) fn of_memory(file: &ElfBuilder, loads: &[Load]) -> Vec<Header> {
    let Some(headers) = &file.headers else { return Vec::new() };
    let mut sections: Vec<Header> = headers
        .sections
        .iter()
        .map(|section| over(loads, &section.name, section.range.start, section.range.size()))
        .collect();
    if let Some(tls) = file.tls {
        let initialized = tls.file_size.min(tls.memory_size);
        let zero = tls.memory_size.saturating_sub(initialized);
        let mut parts = Vec::new();
        if initialized > 0 {
            parts.push(over(loads, ".tdata", tls.address, initialized));
        }
        if zero > 0 {
            let address = VirtAddr(tls.address.0.saturating_add(initialized));
            let mut part = Header::new(".tbss", elf::SHT_NOBITS);
            part.flags = elf::SHF_ALLOC.0 | elf::SHF_WRITE.0;
            (part.address, part.size) = (address, zero);
            parts.push(part);
        }
        for mut part in parts {
            part.flags |= elf::SHF_TLS.0;
            sections.push(part);
        }
    }
    sections
}

fn over(loads: &[Load], name: &str, address: VirtAddr, size: u64) -> Header {
    let mut section = Header::new(name, elf::SHT_NOBITS);
    (section.address, section.size) = (address, size);
    let after = loads.partition_point(|load| load.address <= address);
    if let Some(load) = after.checked_sub(1).and_then(|index| loads.get(index)) {
        section.flags = elf::SHF_ALLOC.0
            | if load.permissions.writable { elf::SHF_WRITE.0 } else { 0 }
            | if load.permissions.executable { elf::SHF_EXECINSTR.0 } else { 0 };
        let into = address.0.saturating_sub(load.address.0);
        section.offset = load.offset.saturating_add(into);
        if address.0.saturating_add(size) <= load.file_end() && size > 0 {
            section.kind = elf::SHT_PROGBITS;
        }
    }
    section.align = 1 << section.address.0.trailing_zeros().min(4);
    section
}

/// Index of the section to name for a symbol at `address`: the one that holds
/// it, else the last that starts before it. `sections` are those from index 1 on.
pub(super) fn index_of(sections: &[Header], address: VirtAddr) -> u16 {
    let holds = |section: &Header| {
        address.distance_from(section.address).is_some_and(|into| into < section.size)
    };
    let at = sections
        .iter()
        .position(holds)
        .or_else(|| {
            let before = sections.iter().enumerate().filter(|(_, s)| s.address <= address);
            before.max_by_key(|(_, section)| section.address).map(|(at, _)| at)
        })
        .map_or(1, |at| at.saturating_add(1));
    u16::try_from(at).ok().filter(|&at| at < elf::SHN_LORESERVE).unwrap_or(1)
}
