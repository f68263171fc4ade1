//! Where an ELF file lies in a process.

use std::path::Path;

use object::LittleEndian;
use object::elf::{FileHeader64, PT_LOAD};
use object::read::elf::{FileHeader, ProgramHeader};

use crate::process::Mapping;

/// Run-time address minus link-time address of everything in the file, from
/// the mappings of it.
///
/// # Errors
/// In words, why the mappings and the file do not fit.
pub(crate) fn load_bias(file: &Path, mappings: &[Mapping]) -> Result<u64, String> {
    let bytes = std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let header = FileHeader64::<LittleEndian>::parse(&*bytes).map_err(|e| e.to_string())?;
    let endian = header.endian().map_err(|e| e.to_string())?;
    let headers = header.program_headers(endian, &*bytes).map_err(|e| e.to_string())?;
    let first = headers
        .iter()
        .filter(|header| header.p_type(endian) == PT_LOAD)
        .min_by_key(|header| header.p_vaddr(endian))
        .ok_or_else(|| format!("{} has no segments", file.display()))?;
    let lowest = mappings
        .iter()
        .min_by_key(|mapping| mapping.start)
        .ok_or_else(|| format!("{} is not mapped", file.display()))?;
    // The kernel and ld.so map a segment from the page that holds its first
    // byte, so that address and offset go down by the same amount.
    let down = first.p_offset(endian).wrapping_sub(lowest.offset);
    Ok(lowest.start.wrapping_sub(first.p_vaddr(endian).wrapping_sub(down)))
}
