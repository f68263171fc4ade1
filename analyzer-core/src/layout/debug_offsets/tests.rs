use alloc::{vec, vec::Vec};

use super::*;
use crate::{
    layout::{lookup, offsets::Offsets},
    report::{Arch, Flavour, Libc},
};

/// Words of `_PyRuntime` in a 3.13.0 for x86-64, built by pyenv.
const PYENV_3_13_0: [u64; 73] = [
    0x7970677562656478,
    0x30d00f0,
    0,
    283320,
    608,
    632,
    194968,
    7272,
    7264,
    7344,
    7400,
    7656,
    7640,
    7648,
    16,
    7752,
    0,
    7768,
    7760,
    304,
    0,
    8,
    16,
    72,
    152,
    160,
    232,
    32,
    80,
    8,
    0,
    56,
    72,
    70,
    208,
    112,
    120,
    128,
    136,
    68,
    52,
    96,
    104,
    200,
    16,
    8,
    416,
    24,
    88,
    168,
    32,
    24,
    16,
    40,
    24,
    16,
    48,
    32,
    40,
    24,
    16,
    32,
    16,
    24,
    40,
    16,
    32,
    64,
    32,
    16,
    40,
    240,
    200,
];

/// Words of `_PyRuntime` in Debian's libpython3.14 3.14.10-1 for arm64.
const DEBIAN_3_14_10_ARM64: [u64; 95] = [
    0x7970677562656478,
    0x30e0af0,
    0,
    316632,
    784,
    808,
    225880,
    7280,
    7272,
    7344,
    7360,
    7408,
    7688,
    7672,
    7680,
    16,
    7784,
    0,
    7800,
    7792,
    8008,
    0,
    832,
    0,
    8,
    16,
    72,
    152,
    160,
    232,
    32,
    88,
    8,
    0,
    56,
    80,
    74,
    64,
    0,
    216,
    112,
    120,
    128,
    136,
    68,
    52,
    96,
    104,
    208,
    0,
    16,
    8,
    416,
    24,
    88,
    168,
    40,
    32,
    16,
    40,
    24,
    16,
    200,
    24,
    40,
    32,
    48,
    32,
    40,
    24,
    16,
    32,
    16,
    24,
    40,
    16,
    32,
    64,
    32,
    16,
    40,
    264,
    192,
    160,
    24,
    72,
    67,
    0,
    8,
    24,
    304,
    8092,
    0,
    4,
    512,
];

/// Words of `_PyRuntime` in Debian's libpython3.15 3.15.2-1 for amd64.
const DEBIAN_3_15_2_AMD64: [u64; 111] = [
    0x7970677562656478,
    0x30f02f0,
    0,
    346568,
    912,
    936,
    226240,
    7272,
    7264,
    7336,
    7352,
    7400,
    7592,
    7576,
    7584,
    16,
    7736,
    0,
    7752,
    7744,
    7944,
    0,
    888,
    0,
    8,
    16,
    72,
    80,
    88,
    96,
    176,
    184,
    256,
    32,
    36,
    40,
    136,
    288,
    0,
    88,
    8,
    0,
    56,
    80,
    74,
    64,
    0,
    216,
    112,
    120,
    128,
    136,
    68,
    52,
    96,
    104,
    208,
    0,
    16,
    8,
    424,
    24,
    88,
    168,
    32,
    288,
    944,
    888,
    40,
    32,
    16,
    40,
    24,
    16,
    200,
    24,
    40,
    32,
    48,
    32,
    40,
    24,
    16,
    32,
    16,
    24,
    40,
    16,
    32,
    64,
    32,
    16,
    40,
    56,
    176,
    112,
    120,
    1120,
    104,
    160,
    24,
    72,
    67,
    0,
    8,
    24,
    344,
    8028,
    0,
    4,
    512,
];

fn bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn with(words: &[u64], index: usize, value: u64) -> Vec<u8> {
    let mut words = words.to_vec();
    words[index] = value;
    bytes(&words)
}

#[test]
fn real_records_agree_with_the_table() {
    for (words, arch) in [
        (&PYENV_3_13_0[..], Arch::X86_64),
        (&DEBIAN_3_14_10_ARM64, Arch::Aarch64),
        (&DEBIAN_3_15_2_AMD64, Arch::X86_64),
    ] {
        let record = DebugOffsets::read(&bytes(words)).unwrap();
        assert!(!record.free_threaded);
        let table = lookup(record.version, Flavour::Release, arch, Some(Libc::Glibc)).unwrap();
        let disagreements: Vec<_> = record.disagreements(&table).collect();
        assert_eq!(disagreements, vec![]);
        let shared = record
            .members()
            .filter(|(structure, member, _)| table.offset(structure, member).is_some());
        assert!(shared.count() >= 35, "the two are compared on enough members");
        // Together they tell what the table tells alone.
        assert_eq!(Offsets::new(Some(&record), Some(&table)), Offsets::from(&table));
    }
}

#[test]
fn what_the_record_does_not_tell_follows_or_is_absent() {
    let record = DebugOffsets::read(&bytes(&PYENV_3_13_0)).unwrap();
    assert_eq!(record.version, PyVersion::release(3, 13, 0));
    assert_eq!(record.runtime_size, 283_320);
    assert_eq!(record.offset("PyCompactUnicodeObject", "sizeof"), Some(56));
    assert_eq!(record.offset("PyUnicodeObject", "data"), Some(56));
    assert_eq!(record.offset("PyThreadState", "base_frame"), None);
    assert_eq!(record.offset("PyThreadState", "prev"), Some(0));
    assert_eq!(record.offset("_PyInterpreterFrame", "tlbc_index"), None);
    let newest = DebugOffsets::read(&bytes(&DEBIAN_3_15_2_AMD64)).unwrap();
    assert_eq!(newest.offset("PyThreadState", "base_frame"), Some(80));
    assert_eq!(newest.offset("PyCodeObject", "co_tlbc"), None, "0 in a build with a GIL");
}

#[test]
fn a_difference_from_the_table_is_told() {
    // Word 23 is the offset of current_frame.
    let record = DebugOffsets::read(&with(&PYENV_3_13_0, 23, 80)).unwrap();
    let table = lookup(record.version, Flavour::Release, Arch::X86_64, None).unwrap();
    let disagreements: Vec<_> = record.disagreements(&table).collect();
    let [only] = disagreements.as_slice() else { panic!("{disagreements:?}") };
    assert_eq!((only.structure, only.member), ("PyThreadState", "current_frame"));
    assert_eq!((only.own, only.table), (80, 72));
    let offsets = Offsets::new(Some(&record), Some(&table));
    assert_eq!(offsets.thread.current_frame, Some(80), "the build knows better");
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |bytes: &[u8]| DebugOffsets::read(bytes).unwrap_err();
    assert_eq!(refused(b"xdebugp"), NoDebugOffsets::NoCookie);
    assert_eq!(refused(&[0; MAX_LEN]), NoDebugOffsets::NoCookie);
    assert_eq!(refused(b"xdebugpy"), NoDebugOffsets::Truncated);
    let whole = bytes(&PYENV_3_13_0);
    assert_eq!(refused(&whole[..whole.len() - 1]), NoDebugOffsets::Truncated);
    let of = |index, value| refused(&with(&PYENV_3_13_0, index, value));
    assert_eq!(of(1, 7), NoDebugOffsets::BadVersion { raw: 7 });
    let version = PyVersion::release(3, 16, 0);
    assert_eq!(of(1, 0x0310_00f0), NoDebugOffsets::OtherSeries { version });
    assert!(matches!(of(1, 0x030d_00b3), NoDebugOffsets::Prerelease { .. }));
    assert_eq!(of(2, 2), implausible("_PyRuntimeState", "free_threaded", 2));
    // A free-threaded build has larger objects.
    assert_eq!(of(2, 1), implausible("PyObject", "sizeof", 16));
    assert_eq!(of(23, 0), implausible("PyThreadState", "current_frame", 0));
    assert_eq!(of(23, 76), implausible("PyThreadState", "current_frame", 76));
    assert_eq!(of(23, 304), implausible("PyThreadState", "current_frame", 304));
    assert_eq!(of(23, u64::MAX - 7), implausible("PyThreadState", "current_frame", u64::MAX - 7));
    assert_eq!(of(19, u64::MAX - 7), implausible("PyThreadState", "sizeof", u64::MAX - 7));
}

#[test]
fn a_record_of_another_build_is_refused() {
    let of = |version, flavour| {
        DebugOffsets::read(&bytes(&PYENV_3_13_0)).unwrap().of_build(version, flavour).err()
    };
    assert_eq!(of(PyVersion::release(3, 13, 0), Flavour::Release), None);
    assert_eq!(of(PyVersion::series(3, 13), Flavour::Debug), None);
    let version = PyVersion::release(3, 13, 0);
    let other = Some(NoDebugOffsets::OtherVersion { version });
    assert_eq!(of(PyVersion::release(3, 13, 1), Flavour::Release), other);
    let other = Some(NoDebugOffsets::OtherFlavour { free_threaded: false });
    assert_eq!(of(version, Flavour::FreeThreaded), other);
}

/// The records of the series differ by words in their middle; each read as
/// one of the others is refused.
#[test]
fn a_record_of_another_shape_is_refused() {
    let records: [&[u64]; 3] = [&PYENV_3_13_0, &DEBIAN_3_14_10_ARM64, &DEBIAN_3_15_2_AMD64];
    for (own, words) in records.iter().enumerate() {
        for (other, hex) in [0x030d_00f0, 0x030e_00f0, 0x030f_00f0].into_iter().enumerate() {
            let mut bytes = with(words, 1, hex);
            bytes.resize(MAX_LEN, 0);
            assert_eq!(DebugOffsets::read(&bytes).is_ok(), own == other);
        }
    }
}
