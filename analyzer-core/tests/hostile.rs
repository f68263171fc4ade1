//! Files that are cut off, damaged or made to hurt: nothing panics, and work
//! and memory stay bounded.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use analyzer_core::addr::VirtAddr;
use analyzer_core::report::{Arch, ImageKind, Status};
use analyzer_core::shrink::{ElfBuilder, Permissions, RelocationKind, SymbolSpec};
use analyzer_core::{Options, analyze};
use object::Endianness;
use object::elf::FileHeader64;
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

#[path = "support/budget.rs"]
mod budget;
#[path = "support/properties.rs"]
mod properties;

/// Processor time for one small file in a debug build.
const PATIENCE: Duration = Duration::from_secs(10);
/// Memory of the whole test process.
const MEMORY: u64 = 512 << 20;

/// A file to damage.
struct Victim {
    name: String,
    bytes: Vec<u8>,
}

/// A version 3.8 getter: `mov GOT(%rip),%rax; lea 0x570(%rax),%rdi; jmp
/// PyThread_tss_get`.
const X86_GETTER: &[u8] = &[
    0x48, 0x8b, 0x05, 0x09, 0x80, 0, 0, 0x48, 0x8d, 0xb8, 0x70, 0x05, 0, 0, 0xe9, 0xed, 0x5f, 0, 0,
];
/// The same on AArch64: `adrp x0, GOT; ldr x0, [x0, #0x10]; add x0, x0,
/// #0x580; b PyThread_tss_get`.
const ARM_GETTER: &[u8] =
    &[0x40, 0, 0, 0x90, 0x00, 0x08, 0x40, 0xf9, 0x00, 0x00, 0x16, 0x91, 0xfd, 0x17, 0, 0x14];

/// Small files that are always there, and what the shape factory and the
/// machine have besides.
fn victims() -> Vec<Victim> {
    let mut victims = vec![
        Victim { name: "x86-64 getter".into(), bytes: properties::python_image(0, X86_GETTER) },
        Victim { name: "AArch64 getter".into(), bytes: properties::python_image(1, ARM_GETTER) },
    ];
    let shapes = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/shapes/objects");
    let mut objects: Vec<PathBuf> = fs::read_dir(shapes)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_none_or(|ending| ending != "key" && ending != "twin"))
        .collect();
    objects.sort();
    let step = (objects.len() / 6).max(1);
    for path in objects.iter().step_by(step).chain(own_libc().as_ref()) {
        if let Ok(bytes) = fs::read(path) {
            victims.push(Victim { name: path.display().to_string(), bytes });
        }
    }
    victims
}

/// The C library this test runs with.
fn own_libc() -> Option<PathBuf> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    maps.lines()
        .filter_map(|line| line.split_whitespace().nth(5))
        .find(|path| {
            path.contains("/libc.so") || path.contains("/libc-2") || path.contains("/ld-musl")
        })
        .map(PathBuf::from)
}

/// Analyzes within the budget; the report agrees with itself.
fn survive(what: &dyn Fn() -> String, bytes: &[u8]) {
    budget::within(PATIENCE, what, || properties::report(bytes));
    let peak = budget::peak_memory();
    assert!(peak < MEMORY, "{}: {peak} bytes of memory", what());
}

/// File offsets at which something begins or ends.
fn boundaries(bytes: &[u8]) -> Vec<usize> {
    let mut offsets = vec![0, 4, 16, 63, 64];
    if let Ok(header) = FileHeader64::<Endianness>::parse(bytes) {
        let endian = Endianness::Little;
        let mut add = |start: u64, size: u64| {
            offsets.extend([start, start.saturating_add(size)].map(|offset| offset as usize));
        };
        for segment in header.program_headers(endian, bytes).unwrap_or_default() {
            add(segment.p_offset(endian), segment.p_filesz(endian));
        }
        add(header.e_phoff(endian), 56 * u64::from(header.e_phnum(endian)));
        add(header.e_shoff(endian), 64 * u64::from(header.e_shnum(endian)));
        for section in header.section_headers(endian, bytes).unwrap_or_default() {
            add(section.sh_offset(endian), section.sh_size(endian));
        }
    }
    offsets.sort_unstable();
    offsets.dedup();
    offsets.retain(|&offset| offset <= bytes.len());
    offsets
}

#[test]
fn cut_off_at_every_boundary() {
    for victim in victims() {
        for boundary in boundaries(&victim.bytes) {
            for end in [boundary.saturating_sub(1), boundary, boundary + 1] {
                let Some(bytes) = victim.bytes.get(..end) else { continue };
                survive(&|| format!("{} cut off at {end:#x}", victim.name), bytes);
            }
        }
    }
}

/// Values that break sums, products and bounds.
const EXTREMES: [u64; 14] = [
    0,
    1,
    2,
    7,
    0x40,
    0xfff,
    0xffff,
    0x7fff_ffff,
    0xffff_ffff,
    1 << 40,
    i64::MAX as u64,
    i64::MIN as u64,
    u64::MAX - 7,
    u64::MAX,
];

/// Offsets of the 8-byte fields of the ELF header, the program headers, the
/// section headers and the dynamic section.
fn header_fields(bytes: &[u8]) -> Vec<usize> {
    let mut fields: Vec<usize> = vec![16, 24, 32, 40, 48, 54, 56, 58, 60, 62];
    let Ok(header) = FileHeader64::<Endianness>::parse(bytes) else { return fields };
    let endian = Endianness::Little;
    let mut table = |start: u64, size: u64| {
        fields.extend((start..start.saturating_add(size)).step_by(8).map(|offset| offset as usize));
    };
    table(header.e_phoff(endian), 56 * u64::from(header.e_phnum(endian)));
    table(header.e_shoff(endian), 64 * u64::from(header.e_shnum(endian)));
    for segment in header.program_headers(endian, bytes).unwrap_or_default() {
        if segment.p_type(endian) == object::elf::PT_DYNAMIC {
            table(segment.p_offset(endian), segment.p_filesz(endian));
        }
    }
    fields.retain(|&field| field + 8 <= bytes.len());
    fields
}

/// One damage to a file.
#[derive(Clone, Debug)]
enum Damage {
    /// One bit flipped, somewhere.
    Flip { at: prop::sample::Index, bit: u8 },
    /// A header or dynamic field set to an extreme value.
    Field { which: prop::sample::Index, value: u64 },
    /// A run of bytes set.
    Fill { at: prop::sample::Index, length: usize, value: u8 },
    /// A run of bytes copied over another.
    Copy { from: prop::sample::Index, to: prop::sample::Index, length: usize },
    /// The end removed.
    Cut { at: prop::sample::Index },
}

fn damage() -> impl Strategy<Value = Damage> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        3 => (index(), 0..8_u8).prop_map(|(at, bit)| Damage::Flip { at, bit }),
        4 => (index(), prop_oneof![prop::sample::select(&EXTREMES[..]), any::<u64>()])
            .prop_map(|(which, value)| Damage::Field { which, value }),
        1 => (index(), 1..256_usize, any::<u8>())
            .prop_map(|(at, length, value)| Damage::Fill { at, length, value }),
        1 => (index(), index(), 1..256_usize)
            .prop_map(|(from, to, length)| Damage::Copy { from, to, length }),
        1 => index().prop_map(|at| Damage::Cut { at }),
    ]
}

fn apply(damages: &[Damage], fields: &[usize], bytes: &mut Vec<u8>) {
    for damage in damages {
        if bytes.is_empty() {
            return;
        }
        match damage {
            Damage::Flip { at, bit } => *at.get_mut(bytes) ^= 1 << bit,
            Damage::Field { which, value } => {
                let field = *which.get(fields);
                if let Some(slot) = bytes.get_mut(field..field + 8) {
                    slot.copy_from_slice(&value.to_le_bytes());
                }
            }
            Damage::Fill { at, length, value } => {
                let start = at.index(bytes.len());
                let end = (start + length).min(bytes.len());
                bytes[start..end].fill(*value);
            }
            Damage::Copy { from, to, length } => {
                let from = from.index(bytes.len());
                let to = to.index(bytes.len());
                let length = (*length).min(bytes.len() - from).min(bytes.len() - to);
                bytes.copy_within(from..from + length, to);
            }
            Damage::Cut { at } => bytes.truncate(at.index(bytes.len())),
        }
    }
}

#[test]
fn damaged_in_any_way() {
    let victims = victims();
    let fields: Vec<Vec<usize>> =
        victims.iter().map(|victim| header_fields(&victim.bytes)).collect();
    let mut runner =
        TestRunner::new(Config { cases: 400, failure_persistence: None, ..Config::default() });
    let cases = (any::<prop::sample::Index>(), prop::collection::vec(damage(), 1..12));
    runner
        .run(&cases, |(which, damages)| {
            let index = which.index(victims.len());
            let mut bytes = victims[index].bytes.clone();
            apply(&damages, &fields[index], &mut bytes);
            survive(&|| format!("{} with {damages:?}", victims[index].name), &bytes);
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn any_code_in_an_entry_function() {
    let mut runner =
        TestRunner::new(Config { cases: 300, failure_persistence: None, ..Config::default() });
    let code = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..400),
        // Instructions that are likely to be read on: real ones, in any order.
        prop::collection::vec(prop::sample::select(&PIECES[..]), 0..80)
            .prop_map(|pieces| pieces.concat()),
    ];
    runner
        .run(&(any::<u8>(), code), |(choice, code)| {
            survive(
                &|| format!("choice {choice:#x} code {code:02x?}"),
                &properties::python_image(choice, &code),
            );
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
}

/// Branches, calls, stack and pointer arithmetic of both instruction sets.
const PIECES: [&[u8]; 24] = [
    &[0x74, 0x05],                               // je +5
    &[0x75, 0xf0],                               // jne -16
    &[0xeb, 0xfe],                               // jmp itself
    &[0xe8, 0xf0, 0xff, 0xff, 0xff],             // call -16
    &[0xe8, 0x40, 0, 0, 0],                      // call +64
    &[0xff, 0xd0],                               // call *%rax
    &[0xc3],                                     // ret
    &[0x50],                                     // push %rax
    &[0x5f],                                     // pop %rdi
    &[0x48, 0x89, 0xe0],                         // mov %rsp,%rax
    &[0x48, 0x81, 0xec, 0, 0, 0, 0x40],          // sub $0x40000000,%rsp
    &[0x48, 0x8d, 0x3d, 0, 0x90, 0, 0],          // lea 0x9000(%rip),%rdi
    &[0x48, 0x8b, 0x00],                         // mov (%rax),%rax
    &[0x64, 0x48, 0x8b, 0x04, 0x25, 8, 0, 0, 0], // mov %fs:8,%rax
    &[0x00, 0x00, 0x00, 0x14],                   // b itself
    &[0xfc, 0xff, 0xff, 0x97],                   // bl -16
    &[0x80, 0x00, 0x00, 0xb4],                   // cbz x0, +16
    &[0xc0, 0x03, 0x5f, 0xd6],                   // ret
    &[0xfd, 0x7b, 0xbf, 0xa9],                   // stp x29, x30, [sp, #-16]!
    &[0x40, 0x00, 0x00, 0x90],                   // adrp x0, +8 pages
    &[0x00, 0x08, 0x40, 0xf9],                   // ldr x0, [x0, #16]
    &[0x00, 0xfc, 0x3f, 0x91],                   // add x0, x0, #0xfff
    &[0x40, 0xd0, 0x3b, 0xd5],                   // mrs x0, tpidr_el0
    &[0x00, 0x00, 0x3f, 0xd6],                   // blr x0
];

#[test]
fn paths_that_double_at_every_step() {
    // je +0; je +0; …: every branch has two ways to the same place.
    let diamonds = [0x74, 0x00].repeat(4000);
    survive(&|| "x86-64 diamonds".into(), &properties::python_image(0, &diamonds));
    // cbz x0, +4
    let diamonds = [0x20, 0x00, 0x00, 0xb4].repeat(4000);
    survive(&|| "AArch64 diamonds".into(), &properties::python_image(1, &diamonds));
    // call +5; call +0; call …: each call runs the rest, twice.
    let calls = [0xe8, 0x00, 0x00, 0x00, 0x00].repeat(3000);
    survive(&|| "x86-64 doubling calls".into(), &properties::python_image(0, &calls));
    // bl +4
    let calls = [0x01, 0x00, 0x00, 0x94].repeat(4000);
    survive(&|| "AArch64 doubling calls".into(), &properties::python_image(1, &calls));
    // push %rax in a loop: jmp back over it.
    let pushes = [0x50, 0x57, 0x74, 0xfc, 0x75, 0xfa];
    survive(&|| "pushing for ever".into(), &properties::python_image(0, &pushes));
}

#[test]
fn calls_in_a_circle() {
    // 16 bytes each: call the next one, call the first one, ret.
    let mut code = Vec::new();
    for index in 0..500_i32 {
        let at = index * 16;
        let next = if index == 499 { 0 } else { at + 16 };
        code.push(0xe8);
        code.extend((next - (at + 5)).to_le_bytes());
        code.push(0xe8);
        code.extend((-(at + 10)).to_le_bytes());
        code.extend([0xc3, 0x90, 0x90, 0x90, 0x90, 0x90]);
    }
    survive(&|| "x86-64 circle".into(), &properties::python_image(0, &code));
}

#[test]
fn enormous_tables() {
    let mut file = ElfBuilder::new(Arch::X86_64, ImageKind::Shared);
    file.map(VirtAddr(0x1000), 0x1000, Permissions::CODE);
    file.map(VirtAddr(0x10_0000), 0x40_0000, Permissions::DATA);
    file.bytes(VirtAddr(0x1000), X86_GETTER);
    let entry = "PyGILState_GetThisThreadState";
    file.dynamic_symbol(SymbolSpec::function(entry, VirtAddr(0x1000), 19));
    for index in 0..60_000_u64 {
        let address = VirtAddr(0x10_0000 + 8 * index);
        let symbol = file.dynamic_symbol(SymbolSpec::object(&format!("s{index}"), address, 8));
        file.relocation(address, RelocationKind::GlobDat, Some(symbol), 0);
    }
    let bytes = file.build().expect("the description is sound");
    survive(&|| "60000 symbols and relocations".into(), &bytes);

    let mut file = ElfBuilder::new(Arch::X86_64, ImageKind::Shared);
    file.map(VirtAddr(0x1000), 0x1000, Permissions::CODE);
    file.bytes(VirtAddr(0x1000), X86_GETTER);
    for _ in 0..60_000 {
        file.dynamic_symbol(SymbolSpec::function(entry, VirtAddr(0x1000), 19));
    }
    let bytes = file.build().expect("the description is sound");
    survive(&|| "60000 symbols of one name".into(), &bytes);
}

#[test]
fn what_is_damaged_is_called_so() {
    let whole = properties::python_image(0, X86_GETTER);
    let options = Options::default();
    assert_eq!(analyze(&whole, &options).status, Status::Resolved, "the victim itself is fine");
    assert_eq!(
        analyze(&properties::python_image(1, ARM_GETTER), &options).status,
        Status::Resolved,
        "the victim itself is fine"
    );
    assert_eq!(analyze(&[], &options).status, Status::NotElf);
    assert_eq!(analyze(b"#!/bin/sh\n", &options).status, Status::NotElf);
    for end in 4..64 {
        let status = analyze(&whole[..end], &options).status;
        assert!(
            matches!(status, Status::Damaged | Status::NotElf | Status::Unsupported),
            "cut off at {end}: {status:?}"
        );
    }
}
