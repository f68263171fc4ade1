//! Recognises what a file is that is no ELF file, by its first bytes.
//!
//! People hand over what their package manager, browser or build gave them.
//! Saying "this is a gzip file, unpack it" beats "bad magic".

use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString},
};

use crate::{
    diagnosis::{self, Code},
    report::Diagnosis,
    search::contains,
};

/// What a file is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// No bytes at all.
    Empty,
    /// Starts with the ELF magic; whether it is sound is for others to say.
    Elf,
    /// Mach-O for one architecture (macOS, iOS).
    MachO,
    /// Mach-O for several architectures in one file.
    MachOUniversal,
    /// Windows executable or DLL.
    Pe,
    /// DOS executable without a PE header.
    Dos,
    /// WebAssembly module.
    Wasm,
    /// LLVM bitcode, bare or wrapped: an object of a link-time-optimized build.
    LlvmBitcode,
    /// Java class file.
    JavaClass,
    /// Compiled Python module.
    Pyc,
    /// Static library or other `ar` archive.
    Ar,
    /// Debian package.
    Deb,
    /// RPM package.
    Rpm,
    /// Python wheel.
    Wheel,
    /// ZIP archive.
    Zip,
    /// tar archive, not compressed.
    Tar,
    /// cpio archive.
    Cpio,
    /// 7z archive.
    SevenZip,
    /// SquashFS image (snap packages, the inside of an AppImage).
    SquashFs,
    /// Compressed with `compressor`, a program's name.
    Compressed {
        /// The program that undoes it.
        compressor: &'static str,
    },
    /// Script with a `#!` line.
    Script {
        /// The interpreter as the line names it, without `env` and options.
        interpreter: String,
    },
    /// Linker script, as `libNAME.so` in development packages often is.
    LinkerScript {
        /// The first file it refers to.
        target: Option<String>,
    },
    /// Pointer file of Git LFS, left where the content was not fetched.
    GitLfsPointer,
    /// HTML page: usually an error page saved under the file's name.
    Html,
    /// Other text.
    Text,
    /// Nothing known.
    Unknown,
}

/// Bytes at the start that are looked at for text, scripts and markup.
const TEXT_WINDOW: usize = 4096;

/// Bytes at the end of a ZIP archive that are searched for a wheel's metadata.
const ZIP_DIRECTORY_WINDOW: usize = 1 << 16;

/// Formats with a fixed start, longer and more telling ones first.
const MAGICS: &[(&[u8], Kind)] = &[
    (b"\x7fELF", Kind::Elf),
    (b"\0asm", Kind::Wasm),
    (b"\xfe\xed\xfa\xce", Kind::MachO),
    (b"\xfe\xed\xfa\xcf", Kind::MachO),
    (b"\xce\xfa\xed\xfe", Kind::MachO),
    (b"\xcf\xfa\xed\xfe", Kind::MachO),
    (b"\xca\xfe\xba\xbf", Kind::MachOUniversal),
    (b"BC\xc0\xde", Kind::LlvmBitcode),
    (b"\xde\xc0\x17\x0b", Kind::LlvmBitcode),
    (b"!<arch>\ndebian-binary", Kind::Deb),
    (b"!<arch>\n", Kind::Ar),
    (b"!<thin>\n", Kind::Ar),
    (b"\xed\xab\xee\xdb", Kind::Rpm),
    (b"\x1f\x8b", Kind::Compressed { compressor: "gzip" }),
    (b"\x1f\x9d", Kind::Compressed { compressor: "uncompress" }),
    (b"\xfd7zXZ\0", Kind::Compressed { compressor: "xz" }),
    (b"\x28\xb5\x2f\xfd", Kind::Compressed { compressor: "zstd" }),
    (b"\x04\x22\x4d\x18", Kind::Compressed { compressor: "lz4" }),
    (b"7z\xbc\xaf\x27\x1c", Kind::SevenZip),
    (b"hsqs", Kind::SquashFs),
    (b"070701", Kind::Cpio),
    (b"070702", Kind::Cpio),
    (b"070707", Kind::Cpio),
    (b"version https://git-lfs.github.com/spec/", Kind::GitLfsPointer),
];

/// What these bytes, a whole file, are.
///
/// Looks at a bounded part of them. Never fails: what is not recognised is
/// [`Kind::Unknown`].
#[must_use]
pub fn sniff(bytes: &[u8]) -> Kind {
    if bytes.is_empty() {
        return Kind::Empty;
    }
    if let Some((_, kind)) = MAGICS.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return kind.clone();
    }
    by_structure(bytes).unwrap_or_else(|| by_text(bytes))
}

/// Formats whose start alone does not tell.
fn by_structure(bytes: &[u8]) -> Option<Kind> {
    if bytes.starts_with(b"\xca\xfe\xba\xbe") {
        // A universal Mach-O continues with a small count of architectures, a
        // class file with its version, whose upper half (major) is 45 or more.
        let next = bytes.get(4..8).and_then(|word| word.try_into().ok()).map(u32::from_be_bytes)?;
        return Some(if next & 0xffff < 45 { Kind::MachOUniversal } else { Kind::JavaClass });
    }
    if bytes.starts_with(b"MZ") {
        let header = read_u32(bytes, 0x3c).and_then(|offset| usize::try_from(offset).ok());
        let signature =
            header.and_then(|start| bytes.get(start..)).map(|rest| rest.starts_with(b"PE\0\0"));
        return Some(if signature == Some(true) { Kind::Pe } else { Kind::Dos });
    }
    if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06") {
        let tail = bytes.get(bytes.len().saturating_sub(ZIP_DIRECTORY_WINDOW)..).unwrap_or(bytes);
        return Some(if contains(tail, b".dist-info/WHEEL") { Kind::Wheel } else { Kind::Zip });
    }
    if bytes.starts_with(b"BZh") && bytes.get(3).is_some_and(|level| (b'1'..=b'9').contains(level))
    {
        return Some(Kind::Compressed { compressor: "bzip2" });
    }
    if bytes.get(257..262) == Some(b"ustar") {
        return Some(Kind::Tar);
    }
    // CPython's import system: a 16-bit magic number and "\r\n"; 3000 and up
    // since 3.0, 50428 to 62211 for 2.0 to 2.7.
    if bytes.get(2..4) == Some(b"\r\n") && bytes.len() >= 16 {
        let magic = bytes.get(..2).and_then(|word| word.try_into().ok()).map(u16::from_le_bytes);
        if magic
            .is_some_and(|magic| (3000..4000).contains(&magic) || (50428..=62211).contains(&magic))
        {
            return Some(Kind::Pyc);
        }
    }
    None
}

fn by_text(bytes: &[u8]) -> Kind {
    let window = bytes.get(..TEXT_WINDOW.min(bytes.len())).unwrap_or(bytes);
    if let Some(rest) = window.strip_prefix(b"#!") {
        let line = rest.split(|&byte| byte == b'\n').next().unwrap_or(rest);
        return Kind::Script { interpreter: interpreter(&String::from_utf8_lossy(line)) };
    }
    let start = window.strip_prefix(b"\xef\xbb\xbf").unwrap_or(window).trim_ascii_start();
    if starts_with_ignoring_case(start, b"<!doctype html")
        || starts_with_ignoring_case(start, b"<html")
    {
        return Kind::Html;
    }
    if !is_text(window) {
        return Kind::Unknown;
    }
    if ["GNU ld script", "OUTPUT_FORMAT", "GROUP", "INPUT"]
        .iter()
        .any(|word| contains(window, word.as_bytes()))
        && contains(window, b"(")
    {
        return Kind::LinkerScript { target: linker_target(&String::from_utf8_lossy(window)) };
    }
    Kind::Text
}

/// No control characters but white space and escape, in UTF-8 or Latin-1.
fn is_text(window: &[u8]) -> bool {
    window.iter().all(|&byte| {
        byte >= 0x20 && byte != 0x7f || matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b)
    })
}

/// The program that a `#!` line starts, without the line's `#!`.
fn interpreter(line: &str) -> String {
    let mut words = line.split_whitespace();
    let first = words.next().unwrap_or_default();
    if first.rsplit('/').next() == Some("env") {
        // `env -S VAR=value program`: options and assignments come first.
        if let Some(program) = words.find(|word| !word.starts_with('-') && !word.contains('=')) {
            return program.to_owned();
        }
    }
    first.to_owned()
}

/// The first file in a linker script's `GROUP ( … )` or `INPUT ( … )`.
fn linker_target(text: &str) -> Option<String> {
    let after =
        ["GROUP", "INPUT"].iter().find_map(|word| text.split_once(word)).map(|(_, rest)| rest)?;
    let inside = after.trim_start().strip_prefix('(')?;
    let inside = inside.split(')').next()?;
    inside
        .split(|c: char| c.is_whitespace() || c == ',')
        .find(|word| !word.is_empty() && *word != "AS_NEEDED")
        .map(|word| word.trim_start_matches('(').to_string())
        .filter(|word| !word.is_empty())
}

fn read_u32(bytes: &[u8], offset: usize) -> Option<u32> {
    let word = bytes.get(offset..offset.checked_add(4)?)?;
    word.try_into().ok().map(u32::from_le_bytes)
}

fn starts_with_ignoring_case(bytes: &[u8], lower: &[u8]) -> bool {
    bytes.get(..lower.len()).is_some_and(|start| start.eq_ignore_ascii_case(lower))
}

impl Kind {
    /// What it is, in words that fit after "this is".
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Empty => "an empty file".into(),
            Self::Elf => "an ELF file".into(),
            Self::MachO => "a Mach-O file (macOS)".into(),
            Self::MachOUniversal => "a universal Mach-O file (macOS)".into(),
            Self::Pe => "a PE file (Windows program or DLL)".into(),
            Self::Dos => "a DOS program".into(),
            Self::Wasm => "a WebAssembly module".into(),
            Self::LlvmBitcode => "LLVM bitcode, an intermediate file of a build".into(),
            Self::JavaClass => "a Java class file".into(),
            Self::Pyc => "a compiled Python module (.pyc)".into(),
            Self::Ar => "an ar archive, usually a static library".into(),
            Self::Deb => "a Debian package".into(),
            Self::Rpm => "an RPM package".into(),
            Self::Wheel => "a Python wheel".into(),
            Self::Zip => "a ZIP archive".into(),
            Self::Tar => "a tar archive".into(),
            Self::Cpio => "a cpio archive".into(),
            Self::SevenZip => "a 7z archive".into(),
            Self::SquashFs => "a SquashFS image".into(),
            Self::Compressed { compressor } => {
                format!("a compressed file ({})", compressed_name(compressor))
            }
            Self::Script { interpreter } if interpreter.is_empty() => "a script".into(),
            Self::Script { interpreter } => format!("a script for {interpreter}"),
            Self::LinkerScript { .. } => "a linker script, not the library itself".into(),
            Self::GitLfsPointer => "a Git LFS pointer; the content was not fetched".into(),
            Self::Html => {
                "an HTML page, perhaps an error page that was saved under this name".into()
            }
            Self::Text => "text".into(),
            Self::Unknown => "in no format that is known here".into(),
        }
    }

    /// What somebody who has such a file can do, where that is more than
    /// finding the right file.
    fn advice(&self) -> Option<String> {
        Some(match self {
            Self::MachO | Self::MachOUniversal | Self::Pe | Self::Dos => {
                "Keyhole reads Linux builds. Take the file from the machine the profiler runs on.".into()
            }
            Self::Ar | Self::LlvmBitcode => {
                "Inspect the program or shared library that was linked from it: addresses exist only after linking."
                    .into()
            }
            Self::Deb => "Unpack it with `dpkg-deb -x FILE FOLDER` and inspect the program or library inside.".into(),
            Self::Rpm | Self::Cpio => {
                "Unpack it (`rpm2cpio FILE | cpio -id`, or `cpio -id < FILE`) and inspect the program or library inside."
                    .into()
            }
            Self::Wheel | Self::Zip => "Unpack it with `unzip` and inspect the program or library inside.".into(),
            Self::Tar => "Unpack it with `tar -xf` and inspect the program or library inside.".into(),
            Self::SevenZip => "Unpack it with `7z x` and inspect the program or library inside.".into(),
            Self::SquashFs => "Unpack it with `unsquashfs` and inspect the program or library inside.".into(),
            Self::Compressed { compressor: "uncompress" } => {
                "Unpack it with `uncompress` and inspect what comes out.".into()
            }
            Self::Compressed { compressor } => {
                format!("Unpack it with `{compressor} -d` (a tar file inside: `tar -xf`) and inspect what comes out.")
            }
            Self::Script { interpreter } if contains(interpreter.as_bytes(), b"python") => format!(
                "Inspect the interpreter that runs it: `{interpreter}`, or give the process: `keyhole inspect --pid PID`."
            ),
            Self::Script { .. } => {
                "It starts another program: inspect that one, or give the process: `keyhole inspect --pid PID`.".into()
            }
            Self::LinkerScript { target: Some(target) } => format!("Inspect the file it refers to: {target}."),
            Self::GitLfsPointer => "Fetch the content with `git lfs pull` and inspect the file again.".into(),
            Self::Html => "Download the file again and check that it is not a login or error page.".into(),
            Self::Empty => "Copy the file again; the copy may have failed.".into(),
            Self::Pyc => "Inspect the interpreter that loads it.".into(),
            _ => return None,
        })
    }

    /// The finding to report, or `None` for [`Kind::Elf`].
    #[must_use]
    pub fn diagnosis(&self) -> Option<Diagnosis> {
        if *self == Self::Elf {
            return None;
        }
        let mut finding = diagnosis::new(Code::NotElf, format!("This is {}.", self.describe()));
        if let Some(advice) = self.advice() {
            finding.remedy = advice;
        }
        Some(finding)
    }
}

fn compressed_name(compressor: &str) -> &str {
    if compressor == "uncompress" { "compress, .Z" } else { compressor }
}

#[cfg(test)]
mod tests {
    use alloc::{vec, vec::Vec};

    use super::*;

    #[test]
    fn fixed_starts() {
        for (bytes, kind) in [
            (&b""[..], Kind::Empty),
            (b"\x7fELF\x02\x01\x01", Kind::Elf),
            (b"\xcf\xfa\xed\xfe\x07\0\0\x01", Kind::MachO),
            (b"\0asm\x01\0\0\0", Kind::Wasm),
            (b"BC\xc0\xde5\x14", Kind::LlvmBitcode),
            (b"!<arch>\n/               0", Kind::Ar),
            (b"!<arch>\ndebian-binary   1410122664", Kind::Deb),
            (b"\xed\xab\xee\xdb\x03\0", Kind::Rpm),
            (b"\x1f\x8b\x08\0", Kind::Compressed { compressor: "gzip" }),
            (b"\xfd7zXZ\0\0\x04", Kind::Compressed { compressor: "xz" }),
            (b"\x28\xb5\x2f\xfd\x24", Kind::Compressed { compressor: "zstd" }),
            (b"BZh91AY&SY", Kind::Compressed { compressor: "bzip2" }),
            (b"070701000", Kind::Cpio),
            (b"hsqs\x07\0", Kind::SquashFs),
            (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", Kind::GitLfsPointer),
        ] {
            assert_eq!(sniff(bytes), kind, "{bytes:?}");
        }
    }

    #[test]
    fn a_class_file_is_no_universal_mach_o() {
        assert_eq!(sniff(b"\xca\xfe\xba\xbe\0\0\0\x02\x01\0\0\x07"), Kind::MachOUniversal);
        assert_eq!(sniff(b"\xca\xfe\xba\xbe\0\0\0\x3d\0\x1d"), Kind::JavaClass);
    }

    #[test]
    fn a_pe_file_has_its_signature_where_the_dos_header_says() {
        let mut bytes = vec![0; 0x80];
        bytes[..2].copy_from_slice(b"MZ");
        bytes[0x3c] = 0x40;
        assert_eq!(sniff(&bytes), Kind::Dos);
        bytes[0x40..0x44].copy_from_slice(b"PE\0\0");
        assert_eq!(sniff(&bytes), Kind::Pe);
        bytes[0x3c..0x40].fill(0xff);
        assert_eq!(sniff(&bytes), Kind::Dos);
    }

    #[test]
    fn a_wheel_is_told_from_other_archives() {
        let mut bytes = b"PK\x03\x04\x14\0".to_vec();
        bytes.extend([0; 64]);
        assert_eq!(sniff(&bytes), Kind::Zip);
        bytes.extend(b"thing-1.0.dist-info/WHEEL");
        assert_eq!(sniff(&bytes), Kind::Wheel);
    }

    #[test]
    fn compiled_modules() {
        // 3.11: 3495, 2.7: 62211.
        assert_eq!(sniff(b"\xa7\x0d\r\n\0\0\0\0\0\0\0\0\0\0\0\0"), Kind::Pyc);
        assert_eq!(sniff(b"\x03\xf3\r\n\0\0\0\0\0\0\0\0\0\0\0\0"), Kind::Pyc);
    }

    #[test]
    fn scripts_name_their_interpreter() {
        for (line, interpreter) in [
            ("#!/usr/bin/python3 -I\nimport sys\n", "/usr/bin/python3"),
            ("#!/usr/bin/env python3\n", "python3"),
            ("#! /usr/bin/env -S PYTHONSAFEPATH=1 python3.12 -O\n", "python3.12"),
            ("#!/bin/sh", "/bin/sh"),
            ("#!\n", ""),
        ] {
            assert_eq!(
                sniff(line.as_bytes()),
                Kind::Script { interpreter: interpreter.into() },
                "{line}"
            );
        }
    }

    #[test]
    fn a_linker_script_names_the_library() {
        let script = "/* GNU ld script\n*/\nOUTPUT_FORMAT(elf64-x86-64)\n\
                      GROUP ( /lib/x86_64-linux-gnu/libc.so.6 /usr/lib/libc_nonshared.a AS_NEEDED ( ld.so ) )\n";
        let kind = sniff(script.as_bytes());
        assert_eq!(
            kind,
            Kind::LinkerScript { target: Some("/lib/x86_64-linux-gnu/libc.so.6".into()) }
        );
        let finding = kind.diagnosis().expect("not ELF");
        assert_eq!(finding.code, "not-elf");
        assert!(finding.remedy.contains("libc.so.6"));
        assert_eq!(
            sniff(b"INPUT(libpython3.so)"),
            Kind::LinkerScript { target: Some("libpython3.so".into()) }
        );
    }

    #[test]
    fn text_markup_and_noise() {
        assert_eq!(sniff(b"\xef\xbb\xbf\n <!DOCTYPE HTML><html>"), Kind::Html);
        assert_eq!(sniff("Gr\u{fc}\u{df}e\n".as_bytes()), Kind::Text);
        assert_eq!(sniff(b"\x7fEL"), Kind::Unknown);
        assert_eq!(sniff(&[0; 5000]), Kind::Unknown);
        let mut tar = vec![b'a'; 600];
        tar[257..262].copy_from_slice(b"ustar");
        assert_eq!(sniff(&tar), Kind::Tar);
    }

    #[test]
    fn every_kind_but_elf_has_a_finding() {
        let kinds: Vec<Kind> = MAGICS.iter().map(|(_, kind)| kind.clone()).collect();
        for kind in kinds {
            assert_eq!(kind.diagnosis().is_none(), kind == Kind::Elf);
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_something(start in 0usize..MAGICS.len(), tail: Vec<u8>) {
            let mut bytes = MAGICS[start].0.to_vec();
            bytes.extend(&tail);
            proptest::prop_assert!(!sniff(&bytes).describe().is_empty());
            proptest::prop_assert!(!sniff(&tail).describe().is_empty());
        }
    }
}
