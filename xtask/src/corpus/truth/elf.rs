//! ELF facts as readelf and nm print them.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};

use crate::shell;

/// One line of readelf's list of relocations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Relocation {
    /// Where it applies.
    pub(super) address: u64,
    /// Its type, for instance `R_X86_64_DTPMOD64`.
    pub(super) kind: String,
    /// The addend, where the relocation has no symbol.
    pub(super) addend: Option<u64>,
}

/// `PT_TLS` as readelf prints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TlsSegment {
    pub(super) address: u64,
    pub(super) memory_size: u64,
    pub(super) align: u64,
}

/// `PT_LOAD` as readelf prints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Load {
    offset: u64,
    address: u64,
    file_size: u64,
}

fn readelf(option: &str, file: &Path) -> Result<String> {
    shell::output(shell::command("readelf").arg(option).arg("--wide").arg(file).env("LC_ALL", "C"))
}

pub(super) fn build_id(file: &Path) -> Result<Option<String>> {
    Ok(readelf("--notes", file)?
        .lines()
        .find_map(|line| line.split_once("Build ID: ").map(|(_, id)| id.trim().to_owned())))
}

pub(super) fn has_section(file: &Path, name: &str) -> Result<bool> {
    Ok(readelf("--section-headers", file)?.split_whitespace().any(|word| word == name))
}

/// readelf's name of the machine, for instance `AArch64`.
pub(super) fn machine(file: &Path) -> Result<String> {
    header_field(file, "Machine:")
}

pub(super) fn is_64_bit(file: &Path) -> Result<bool> {
    Ok(header_field(file, "Class:")? == "ELF64")
}

/// Whether the file is an executable, position independent or not.
pub(super) fn is_executable(file: &Path) -> Result<bool> {
    Ok(readelf("--program-headers", file)?.contains("Requesting program interpreter"))
}

fn header_field(file: &Path, field: &str) -> Result<String> {
    readelf("--file-header", file)?
        .lines()
        .find_map(|line| line.trim().strip_prefix(field).map(|rest| rest.trim().to_owned()))
        .with_context(|| format!("readelf prints no {field} for {}", file.display()))
}

pub(super) fn needed(file: &Path) -> Result<Vec<String>> {
    Ok(readelf("--dynamic", file)?
        .lines()
        .filter(|line| line.contains("(NEEDED)"))
        .filter_map(|line| Some(line.split_once('[')?.1.split_once(']')?.0.to_owned()))
        .collect())
}

/// A defined symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Symbol {
    pub(super) address: u64,
    pub(super) size: u64,
}

/// The symbol that the file exports by that name.
pub(super) fn dynamic_symbol(file: &Path, name: &str) -> Result<Option<Symbol>> {
    Ok(readelf("--dyn-syms", file)?.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, value, size, _, _, _, section, symbol] = fields[..] else { return None };
        if symbol != name || section == "UND" {
            return None;
        }
        Some(Symbol { address: u64::from_str_radix(value, 16).ok()?, size: size.parse().ok()? })
    }))
}

/// Whether the file exports a function of that name.
pub(super) fn defines(file: &Path, name: &str) -> Result<bool> {
    let list = shell::output(shell::command("nm").args(["-D", "--defined-only"]).arg(file))?;
    Ok(list
        .lines()
        .filter_map(|line| line.rsplit(' ').next())
        .any(|symbol| symbol.split('@').next() == Some(name)))
}

/// Offsets in the TLS block of the symbols whose names start with `_Py_tss_`.
pub(super) fn tls_symbols(file: &Path) -> Result<BTreeMap<String, u64>> {
    Ok(readelf("--symbols", file)?
        .lines()
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [_, value, _, "TLS", _, _, section, name] = fields[..] else { return None };
            (section != "UND" && name.starts_with("_Py_tss_"))
                .then(|| Some((name.to_owned(), u64::from_str_radix(value, 16).ok()?)))?
        })
        .collect())
}

pub(super) fn tls_segment(file: &Path) -> Result<Option<TlsSegment>> {
    Ok(segments(file, "TLS")?.next().map(|numbers| TlsSegment {
        address: numbers[1],
        memory_size: numbers[4],
        align: numbers[5].max(1),
    }))
}

/// The 64-bit word that the file holds for a link-time address.
pub(super) fn word(file: &Path, address: u64) -> Result<Option<u64>> {
    let load = segments(file, "LOAD")?
        .map(|numbers| Load { offset: numbers[0], address: numbers[1], file_size: numbers[3] })
        .find(|load| (load.address..load.address + load.file_size).contains(&address));
    let Some(load) = load else { return Ok(None) };
    let bytes = std::fs::read(file)?;
    let start = usize::try_from(address - load.address + load.offset)?;
    Ok(bytes
        .get(start..start + 8)
        .map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes were taken"))))
}

/// Numbers of the program headers of one type: offset, virtual address,
/// physical address, file size, memory size, alignment.
fn segments(file: &Path, kind: &str) -> Result<impl Iterator<Item = [u64; 6]>> {
    let kind = kind.to_owned();
    let lines: Vec<String> =
        readelf("--program-headers", file)?.lines().map(str::to_owned).collect();
    Ok(lines.into_iter().filter_map(move |line| {
        let mut fields = line.split_whitespace();
        if fields.next()? != kind {
            return None;
        }
        let mut numbers: Vec<u64> = fields
            .filter_map(|field| u64::from_str_radix(field.strip_prefix("0x")?, 16).ok())
            .collect();
        numbers.resize(6, 1);
        numbers.try_into().ok()
    }))
}

pub(super) fn relocations(file: &Path) -> Result<Vec<Relocation>> {
    Ok(readelf("--relocs", file)?.lines().filter_map(relocation).collect())
}

/// Reads `000000543ef0  000000000010 R_X86_64_DTPMOD64                    0`.
fn relocation(line: &str) -> Option<Relocation> {
    let mut fields = line.split_whitespace();
    let address = u64::from_str_radix(fields.next()?, 16).ok()?;
    let _info = fields.next()?;
    let kind = fields.next().filter(|kind| kind.starts_with("R_"))?.to_owned();
    let rest: Vec<&str> = fields.collect();
    let addend = match rest[..] {
        [] => Some(0),
        [addend] => u64::from_str_radix(addend, 16).ok(),
        _ => None,
    };
    Some(Relocation { address, kind, addend })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relocation_lines_are_read() {
        let read = relocation(
            "0000000000543ef0  0000000000000010 R_X86_64_DTPMOD64                         0",
        );
        assert_eq!(
            read,
            Some(Relocation {
                address: 0x54_3ef0,
                kind: "R_X86_64_DTPMOD64".into(),
                addend: Some(0)
            })
        );
        assert_eq!(
            relocation("00000078 00000407 R_AARCH64_TLSDESC 18").unwrap().addend,
            Some(0x18)
        );
        let named = relocation(
            "000abc  000600000006 R_X86_64_GLOB_DAT 0000000000000000 abort@GLIBC_2.2.5 + 0",
        );
        assert_eq!(named.unwrap().addend, None);
        assert_eq!(
            relocation("Relocation section '.rela.dyn' at offset 0x1 contains 2 entries:"),
            None
        );
    }
}
