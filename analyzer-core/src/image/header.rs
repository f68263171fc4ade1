//! The file header and what it says about the file.

use object::{LittleEndian as LE, elf, pod};

use super::{dynamic::Dynamic, error::ParseError};
use crate::report::{Arch, ImageKind};

/// The file header, checked to be one that the rest can read.
pub(super) fn read(data: &[u8]) -> Result<(&elf::FileHeader64<LE>, Arch), ParseError> {
    let size = data.len() as u64;
    let mut magic = [0; 4];
    for (byte, &found) in magic.iter_mut().zip(data) {
        *byte = found;
    }
    if magic != elf::ELFMAG {
        return Err(ParseError::NotElf { magic, size });
    }
    let header_size = size_of::<elf::FileHeader64<LE>>() as u64;
    let truncated =
        ParseError::Truncated { what: "ELF header", offset: 0, needed: header_size, have: size };
    let class = data.get(4).copied().ok_or(truncated)?;
    let encoding = data.get(5).copied().ok_or(truncated)?;
    // e_machine lies at the same offset in both classes.
    let machine = *data.get(18..).and_then(|rest| rest.first_chunk::<2>()).ok_or(truncated)?;
    if encoding == elf::ELFDATA2MSB.0 {
        return Err(ParseError::BigEndian { machine: u16::from_be_bytes(machine) });
    }
    let machine = u16::from_le_bytes(machine);
    if encoding != elf::ELFDATA2LSB.0 {
        return Err(ParseError::Header { what: "EI_DATA", expected: 1, found: encoding.into() });
    }
    if class == elf::ELFCLASS32.0 {
        return Err(ParseError::Class32 { machine });
    }
    if class != elf::ELFCLASS64.0 {
        return Err(ParseError::Header { what: "EI_CLASS", expected: 2, found: class.into() });
    }
    let (header, _) = pod::from_bytes::<elf::FileHeader64<LE>>(data).map_err(|()| truncated)?;
    let arch = match header.e_machine.get(LE) {
        elf::EM_X86_64 => Arch::X86_64,
        elf::EM_AARCH64 => Arch::Aarch64,
        other => return Err(ParseError::Machine(other.0)),
    };
    Ok((header, arch))
}

/// The program header table the file header declares.
pub(super) fn program_headers<'d>(
    data: &'d [u8],
    header: &elf::FileHeader64<LE>,
) -> Result<&'d [elf::ProgramHeader64<LE>], ParseError> {
    let offset = header.e_phoff.get(LE);
    let mut count = u64::from(header.e_phnum.get(LE));
    if offset == 0 || count == 0 {
        return Ok(&[]);
    }
    let entry_size = size_of::<elf::ProgramHeader64<LE>>() as u64;
    let found = u64::from(header.e_phentsize.get(LE));
    if found != entry_size {
        return Err(ParseError::Header { what: "e_phentsize", expected: entry_size, found });
    }
    if count == u64::from(elf::PN_XNUM) {
        let first = usize::try_from(header.e_shoff.get(LE))
            .ok()
            .and_then(|at| data.get(at..))
            .and_then(|rest| pod::from_bytes::<elf::SectionHeader64<LE>>(rest).ok());
        if let Some((first, _)) = first {
            count = first.sh_info.get(LE).into();
        }
    }
    let rest = usize::try_from(offset).ok().and_then(|at| data.get(at..)).unwrap_or_default();
    let needed = count.saturating_mul(entry_size);
    usize::try_from(count)
        .ok()
        .and_then(|count| pod::slice_from_bytes(rest, count).ok())
        .map(|(headers, _)| headers)
        .ok_or(ParseError::Truncated {
            what: "program header table",
            offset,
            needed,
            have: rest.len() as u64,
        })
}

/// What kind of file it is. `libc.so.6` has an interpreter and is a library
/// all the same: it has a name that others link to.
pub(super) fn kind(
    header: &elf::FileHeader64<LE>,
    dynamic: &Dynamic<'_>,
    interpreter: bool,
) -> ImageKind {
    match header.e_type.get(LE) {
        elf::ET_EXEC => ImageKind::Executable,
        elf::ET_DYN if dynamic.flags_1 & elf::DF_1_PIE.0 != 0 => ImageKind::Pie,
        elf::ET_DYN if interpreter && dynamic.soname.is_none() => ImageKind::Pie,
        elf::ET_DYN => ImageKind::Shared,
        elf::ET_REL => ImageKind::Relocatable,
        elf::ET_CORE => ImageKind::Core,
        _ => ImageKind::Other,
    }
}
