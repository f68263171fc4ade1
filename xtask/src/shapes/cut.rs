//! Removing the section header table, as some packers do.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use object::Endianness;
use object::elf;
use object::read::elf::{FileHeader, ProgramHeader};

/// Rewrites a 64-bit ELF file without section headers: `e_shoff`, `e_shnum`
/// and `e_shstrndx` are zero, and the file ends where its last segment ends.
///
/// # Errors
/// The file cannot be read or written, or is no 64-bit ELF file.
pub(crate) fn section_headers(path: &Path) -> Result<()> {
    let mut bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let header = elf::FileHeader64::<Endianness>::parse(&*bytes)?;
    let endian = header.endian()?;
    let end = header
        .program_headers(endian, &*bytes)?
        .iter()
        .map(|segment| segment.p_offset(endian) + segment.p_filesz(endian))
        .max()
        .context("no segments")?;
    bytes.truncate(usize::try_from(end)?);
    // `e_shoff` is at 40, `e_shnum` at 60, `e_shstrndx` at 62 (ELF-64).
    bytes[40..48].fill(0);
    bytes[60..64].fill(0);
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}
