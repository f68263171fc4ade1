//! Programs that carry a Python in an archive of their own.

use alloc::{
    format,
    string::{String, ToString},
};

use crate::diagnosis::Code;
use crate::search::find_all;

/// How much of a file's end is searched for an archive's trailer.
///
/// A zip's end record is at most its own 22 bytes and a comment of 65535 from
/// the end (APPNOTE.TXT, 4.3.16); signing tools append a few kilobytes behind
/// a PyInstaller archive.
const TAIL: usize = 22 + 65535;

/// What kind of bundle a file is, and what is known of the Python inside.
#[must_use]
pub fn of(bytes: &[u8]) -> Option<(Code, String)> {
    let tail = bytes.get(bytes.len().saturating_sub(TAIL)..).unwrap_or_default();
    pyinstaller(tail).or_else(|| appimage(bytes)).or_else(|| nuitka(bytes)).or_else(|| zip(tail))
}

/// PyInstaller's `CArchive` cookie, 88 bytes, big-endian: magic, archive
/// length, offset and length of the table of contents, Python version as
/// `100 * major + minor` (`10 * major + minor` before 3.10), name of the
/// Python library, 64 bytes (PyInstaller 2.1 to 6, `bootloader/src/pyi_archive.h`).
fn pyinstaller(tail: &[u8]) -> Option<(Code, String)> {
    const MAGIC: &[u8] = b"MEI\x0c\x0b\x0a\x0b\x0e";
    const LIBRARY: usize = 24;
    let at = find_all(tail, MAGIC, 3).next_back()?;
    let library = tail.get(at.checked_add(LIBRARY)?..)?;
    let library = library.get(..64)?.split(|byte| *byte == 0).next()?;
    let library = core::str::from_utf8(library).ok().filter(|name| !name.is_empty());
    Some((
        Code::BundlePyInstaller,
        match library {
            Some(library) => format!("Its archive names {library} as the Python library."),
            None => "Its archive names no Python library.".to_string(),
        },
    ))
}

/// Bytes 8 to 10 of the ELF header of an AppImage are `AI` and its type
/// (AppImage specification, type 1 and 2 image format).
fn appimage(bytes: &[u8]) -> Option<(Code, String)> {
    let [b'A', b'I', kind @ 1..=2] = bytes.get(8..11)? else { return None };
    Some((Code::BundleAppImage, format!("It is a type {kind} AppImage.")))
}

/// Nuitka's onefile payload starts with `KA` and `X` (plain) or `Y`
/// (compressed); the last eight bytes of the file are its length
/// (`OnefileBootstrap.c`, Nuitka 1 to 2).
fn nuitka(bytes: &[u8]) -> Option<(Code, String)> {
    let (rest, length) = bytes.split_last_chunk::<8>()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let start = rest.len().checked_sub(length)?;
    let payload = rest.get(start..)?;
    matches!(payload, [b'K', b'A', b'X' | b'Y', ..])
        .then(|| (Code::BundleNuitka, format!("A payload of {length} bytes follows the program.")))
}

/// A zip's end-of-central-directory record behind the program.
fn zip(tail: &[u8]) -> Option<(Code, String)> {
    const END_RECORD: &[u8] = b"PK\x05\x06";
    let at = find_all(tail, END_RECORD, 0).next_back()?;
    let record = tail.get(at..)?;
    let comment = record.get(20..)?.first_chunk().map(|bytes| u16::from_le_bytes(*bytes))?;
    // The comment ends the file; anything else only looks like a record.
    (record.len() == 22_usize.checked_add(comment.into())?)
        .then(|| (Code::BundleAppendedArchive, "A zip archive follows the program.".to_string()))
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn a_pyinstaller_cookie_names_its_library() {
        let mut file = vec![0_u8; 100];
        file.extend(b"MEI\x0c\x0b\x0a\x0b\x0e");
        file.extend([0; 16]);
        let mut name = b"libpython3.11.so.1.0".to_vec();
        name.resize(64, 0);
        file.extend(&name);
        let (code, detail) = of(&file).unwrap();
        assert_eq!(code, Code::BundlePyInstaller);
        assert!(detail.contains("libpython3.11.so.1.0"));
        file.truncate(130);
        assert_eq!(of(&file), None);
    }

    #[test]
    fn an_end_record_counts_only_at_the_end() {
        let mut file = vec![0_u8; 100];
        file.extend(b"PK\x05\x06");
        file.extend([0; 18]);
        assert_eq!(of(&file).unwrap().0, Code::BundleAppendedArchive);
        file.push(0);
        assert_eq!(of(&file), None);
    }

    #[test]
    fn a_nuitka_payload_is_found_from_the_end() {
        let mut file = vec![0_u8; 100];
        file.extend(b"KAY0123456789");
        file.extend(13_u64.to_le_bytes());
        assert_eq!(of(&file).unwrap().0, Code::BundleNuitka);
    }
}
