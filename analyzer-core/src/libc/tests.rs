use alloc::{vec, vec::Vec};

use super::*;
use crate::{
    report::{Arch, Dtv, ThreadData},
    test_elf::TestElf,
};

/// A function that gets a value as glibc does, with other numbers: 64 keys in
/// a block, `struct { u64 sequence; void *data; }` slots, on x86-64 the first
/// block at 0x3a0 and the block pointers at 0x7a0 from the thread pointer,
/// on AArch64 at -0x6d0 and -0x2d0 (gcc 12, `-O2`).
const TWO_LEVEL: [&str; 2] = [
    "83ff3f774b64488b0425100000008d573a48c1e2044801d0488b50084885d2742789ff488d0d00000000\
     48c1e704488b343948393075094889d0c30f1f44000048c740080000000031d24889d0c3669081ffff03\
     000077f064488b14251000000089f8c1e80605f4000000488b04c24885c074d489fa83e23f48c1e20448\
     01d0eb96",
    "e103002a1ffc007148020054e0d9809242d03bd50050218b4200008b400440f9400100b4217c7cd30300\
     009063000091440040f9616861f89f0001eb41000054c0035fd65f0400f9000080d2c0035fd61ffc0f71\
     a8ffff54007c0653e359809242d03bd5604c208b426860f8e2feffb420147cd34200008be9ffff17",
];
/// A function that gets a value as musl does: an array behind a pointer at
/// 0x90 (x86-64) or -0x68 (AArch64) from the thread pointer.
const ARRAY: [&str; 2] =
    ["64488b042500000000488b809000000089ff488b04f8c3", "41d03bd5218059f8205860f8c0035fd6"];
/// A function that gets a word from one level of 8-byte slots in the thread's
/// own structure, as no C library does.
const ONE_LEVEL: [&str; 2] = [
    "64488b1425100000008d04fd00000000488b8402a0030000c3",
    "00701d5341d03bd52100008b212040d120987cf9c0035fd6",
];
/// A function that finds a TLS block in a DTV of 32-byte entries, whose
/// pointer is 8 bytes behind (x86-64) or 16 before (AArch64) the thread pointer.
const TLS_GET_ADDR: [&str; 2] = [
    "64488b042500000000488b1748c1e20548035008488b4708480302c3",
    "41d03bd522005ff8010040a921e87bd3416861f82000008bc0035fd6",
];
const RETURN: [&str; 2] = ["c3", "c0035fd6"];
const ARCHS: [Arch; 2] = [Arch::X86_64, Arch::Aarch64];

fn bytes(hex: &str) -> Vec<u8> {
    hex.as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

fn of(arch: Arch, code: [&str; 2]) -> Vec<u8> {
    bytes(code[usize::from(arch == Arch::Aarch64)])
}

fn glibc(arch: Arch, getter: [&str; 2]) -> TestElf {
    let mut elf = TestElf::new(arch);
    elf.function("gnu_get_libc_version", &of(arch, RETURN));
    elf.function("pthread_getspecific", &of(arch, getter));
    elf
}

fn facts(elf: TestElf) -> Option<LibcFacts> {
    let file = elf.build();
    libc_facts(&Image::parse(&file).unwrap())
}

/// What [`TWO_LEVEL`] does.
fn two_levels(arch: Arch) -> ThreadData {
    let (first_block, blocks) = match arch {
        Arch::X86_64 => (0x3a0, 0x7a0),
        Arch::Aarch64 => (-0x6d0, -0x2d0),
    };
    ThreadData::TwoLevel { first_block, blocks, block_keys: 64, slot_size: 16, value_offset: 8 }
}

/// Descriptors that say the same of a `struct pthread` of 0x900 bytes.
fn describe(elf: &mut TestElf, arch: Arch, blocks: u32) {
    let base = if arch == Arch::Aarch64 { 0x900 } else { 0 };
    let words =
        |words: &[u32]| -> Vec<u8> { words.iter().flat_map(|word| word.to_le_bytes()).collect() };
    for (name, values) in [
        ("_thread_db_sizeof_pthread", &[0x900][..]),
        ("_thread_db_pthread_specific", &[16 * 64, 1, blocks]),
        ("_thread_db_sizeof_pthread_key_data", &[16]),
        ("_thread_db_sizeof_pthread_key_data_level2", &[64 * 16]),
        ("_thread_db_pthread_key_data_data", &[64, 1, 8]),
        ("_thread_db_pthread_dtvp", &[64, 1, base + 8]),
        ("_thread_db_dtv_dtv", &[128, 0x7ff_ffff, 0]),
        ("_thread_db_link_map_l_tls_offset", &[64, 1, 1144]),
        ("_thread_db_link_map_l_tls_modid", &[64, 1, 1152]),
    ] {
        elf.object(name, &words(values));
    }
    elf.object("__nptl_version", b"2.36\0");
}

#[test]
fn code_alone_tells_both_levels() {
    for arch in ARCHS {
        let facts = facts(glibc(arch, TWO_LEVEL)).unwrap();
        assert_eq!(facts.libc, Libc::Glibc);
        assert_eq!(facts.thread_data, Some(two_levels(arch)), "{arch:?}");
        assert_eq!(facts.sources, ["code"]);
        assert_eq!(facts.version, None);
    }
}

#[test]
fn descriptors_alone_tell_both_levels() {
    for arch in ARCHS {
        let mut elf = glibc(arch, RETURN);
        describe(&mut elf, arch, if arch == Arch::Aarch64 { 0x900 - 0x2d0 } else { 0x7a0 });
        let facts = facts(elf).unwrap();
        assert_eq!(facts.thread_data, Some(two_levels(arch)), "{arch:?}");
        assert_eq!(facts.dtv, Some(Dtv { pointer: 8, entry_size: 16 }));
        assert_eq!(facts.link_map_tls_offset, Some(1144));
        assert_eq!(facts.link_map_tls_modid, Some(1152));
        assert_eq!(facts.version.as_deref(), Some("2.36"));
        assert_eq!(facts.sources, ["descriptors"]);
    }
}

#[test]
fn sources_that_disagree_give_no_answer() {
    let mut elf = glibc(Arch::X86_64, TWO_LEVEL);
    describe(&mut elf, Arch::X86_64, 0x798);
    let facts = facts(elf).unwrap();
    assert_eq!(facts.thread_data, None);
    assert_eq!(
        facts.sources,
        ["descriptors", "code", "descriptors and code disagree on the thread data"]
    );
    assert!(facts.dtv.is_some(), "only the descriptors tell that");
}

#[test]
fn an_array_behind_a_pointer() {
    for (arch, pointer, dtv) in [(Arch::X86_64, 0x90, 8), (Arch::Aarch64, -0x68, -16)] {
        let mut elf = TestElf::new(arch);
        elf.function("__libc_start_main", &of(arch, RETURN));
        elf.function("pthread_getspecific", &of(arch, ARRAY));
        elf.function("__tls_get_addr", &of(arch, TLS_GET_ADDR));
        elf.object("", b"1.2.5\0 of something 1.2.3\0musl libc (any)\nVersion %s\n\0");
        let facts = facts(elf).unwrap();
        assert_eq!(facts.libc, Libc::Musl);
        assert_eq!(facts.version.as_deref(), Some("1.2.5"));
        assert_eq!(facts.thread_data, Some(ThreadData::Array { pointer }));
        assert_eq!(facts.dtv, Some(Dtv { pointer: dtv, entry_size: 32 }));
    }
}

#[test]
fn another_shape_is_not_forced_into_one() {
    for arch in ARCHS {
        for getter in [ONE_LEVEL, TLS_GET_ADDR, RETURN] {
            assert_eq!(
                facts(glibc(arch, getter)).unwrap().thread_data,
                None,
                "{arch:?} {getter:?}"
            );
        }
    }
}

#[test]
fn what_is_no_c_library_is_none() {
    let mut elf = TestElf::new(Arch::X86_64);
    elf.function("pthread_getspecific", &bytes(TWO_LEVEL[0]));
    assert_eq!(facts(elf), None);
}

/// Every byte of the functions and descriptors replaced in turn: answers may
/// change, nothing panics.
#[test]
fn damaged_libraries_do_not_panic() {
    for arch in ARCHS {
        let mut elf = glibc(arch, TWO_LEVEL);
        elf.function("__tls_get_addr", &of(arch, TLS_GET_ADDR));
        describe(&mut elf, arch, 0x7a0);
        let file = elf.build();
        for at in 0..file.len() {
            if file[at] == 0 && at % 7 != 0 {
                continue;
            }
            let mut damaged = vec![];
            damaged.clone_from(&file);
            damaged[at] ^= 0x55;
            if let Ok(image) = Image::parse(&damaged) {
                let _ = libc_facts(&image);
            }
        }
    }
}

#[test]
fn sources_complete_each_other_or_disagree() {
    assert_eq!(agreed(Some(1), None).unwrap(), Some(1));
    assert_eq!(agreed(None, Some(2)).unwrap(), Some(2));
    assert_eq!(agreed(Some(3), Some(3)).unwrap(), Some(3));
    assert!(agreed(Some(3), Some(4)).is_err());
}
