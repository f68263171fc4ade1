//! What a builder writes, an image reads.

use analyzer_core::{
    addr::VirtAddr,
    image::{Binding, Image, ParseError, Range, Relocation, SymbolKind, SymbolicKind, Table, Via},
    report::{Arch, ImageKind, TlsSegment},
    shrink::{BuildError, ElfBuilder, Permissions, RelocationKind, SymbolSpec},
};

const CODE: VirtAddr = VirtAddr(0x1000);
const DATA: VirtAddr = VirtAddr(0x8000);

fn library(arch: Arch) -> ElfBuilder {
    let mut file = ElfBuilder::new(arch, ImageKind::Shared);
    file.map(CODE, 0x2000, Permissions::CODE).map(DATA, 0x4000, Permissions::DATA);
    file
}

fn at(base: VirtAddr, offset: u64) -> VirtAddr {
    VirtAddr(base.0 + offset)
}

#[test]
fn names_and_facts() {
    let mut file = library(Arch::X86_64);
    let tls = TlsSegment { address: at(DATA, 0x100), file_size: 4, memory_size: 24, align: 16 };
    let relro = Range::new(DATA, 0x1000);
    file.soname("libpython3.12.so.1.0").needed("libm.so.6").needed("libc.so.6");
    file.build_id(&[0xab; 20]).note("stapsdt", 3, b"ignored").entry(at(CODE, 8));
    file.tls(tls).relro(relro).attached_section(".gnu_debuglink", b"x.debug\0\x04\x03\x02\x01");
    let bytes = file.build().unwrap();
    let image = Image::parse(&bytes).unwrap();

    assert_eq!((image.arch(), image.kind()), (Arch::X86_64, ImageKind::Shared));
    assert_eq!(image.soname(), Some("libpython3.12.so.1.0"));
    assert_eq!(image.needed().collect::<Vec<_>>(), ["libm.so.6", "libc.so.6"]);
    assert_eq!(image.build_id(), Some(&[0xab; 20][..]));
    assert_eq!(image.notes().count(), 2);
    assert_eq!(image.entry(), at(CODE, 8));
    assert_eq!(image.tls(), Some(tls));
    assert_eq!(image.relro(), Some(relro));
    assert_eq!(image.debug_link(), Some(("x.debug", 0x0102_0304)));
    assert_eq!(image.interpreter(), None);
    assert!(image.is_stripped() && image.has_section_headers() && image.has_dynamic());
    assert!(!image.is_fixed() && !image.is_reproducer());
    assert_eq!(image.cut(), None);
}

#[test]
fn kinds_of_files() {
    let kind = |file: &ElfBuilder| Image::parse(&file.build().unwrap()).unwrap().kind();
    let mut pie = ElfBuilder::new(Arch::X86_64, ImageKind::Pie);
    pie.dynamic();
    assert_eq!(kind(&pie), ImageKind::Pie);
    let mut program = ElfBuilder::new(Arch::X86_64, ImageKind::Executable);
    program.map(VirtAddr(0x40_0000), 0x1000, Permissions::CODE);
    assert_eq!(kind(&program), ImageKind::Executable);
    let mut with_interpreter = library(Arch::Aarch64);
    with_interpreter.interpreter("/lib/ld-linux-aarch64.so.1").dynamic();
    assert_eq!(kind(&with_interpreter), ImageKind::Pie, "no DF_1_PIE, as older linkers");
    // libc.so.6 can be run, too.
    with_interpreter.soname("libc.so.6");
    assert_eq!(kind(&with_interpreter), ImageKind::Shared);
    let object = ElfBuilder::new(Arch::X86_64, ImageKind::Relocatable).build();
    assert_eq!(object, Err(BuildError::Kind(ImageKind::Relocatable)));
}

#[test]
fn symbols_by_name_with_and_without_section_headers() {
    let mut file = library(Arch::X86_64);
    for number in 0..200 {
        let name = format!("function_{number}");
        file.dynamic_symbol(SymbolSpec::function(&name, at(CODE, 16 * number), 16));
        file.import(&format!("import_{number}"));
    }
    file.dynamic_symbol(SymbolSpec::thread_local("at_zero", 0, 8));
    file.dynamic_symbol(SymbolSpec::object("nowhere", VirtAddr(0), 8));
    for without in [false, true] {
        if without {
            file.without_section_headers();
        }
        let bytes = file.build().unwrap();
        let image = Image::parse(&bytes).unwrap();
        assert_eq!(image.has_section_headers(), !without);
        for number in 0..200 {
            let symbol = image.symbol(&format!("function_{number}")).unwrap();
            assert_eq!(symbol.address, at(CODE, 16 * number));
            assert_eq!((symbol.kind, symbol.table), (SymbolKind::Function, Table::Dynamic));
            let import = image.undefined(&format!("import_{number}")).unwrap();
            assert_eq!(image.symbol_name(import), Some(&*format!("import_{number}")));
            assert!(image.symbol(&format!("import_{number}")).is_none());
            assert!(image.undefined(&format!("function_{number}")).is_none());
        }
        assert_eq!(image.symbol("at_zero").unwrap().kind, SymbolKind::Tls);
        assert!(image.symbol("nowhere").is_none(), "address zero is no definition");
        assert!(image.symbol("function").is_none());
        assert_eq!(image.dynamic_symbols().count(), 1 + 402);
    }
}

#[test]
fn a_library_that_defines_nothing_still_tells_its_imports() {
    let mut file = library(Arch::X86_64);
    file.import("pthread_getspecific");
    file.without_section_headers();
    let bytes = file.build().unwrap();
    let image = Image::parse(&bytes).unwrap();
    assert_eq!(image.undefined("pthread_getspecific"), Some(1));
    assert_eq!(image.undefined("pthread_setspecific"), None);
}

#[test]
fn symbols_of_a_symbol_table() {
    let mut file = library(Arch::Aarch64);
    let key = SymbolSpec::object("autoTLSkey", at(DATA, 8), 4);
    file.static_symbol(SymbolSpec { name: "autoTLSkey.lto_priv.0".into(), ..key.clone() }.local());
    file.static_symbol(SymbolSpec { name: "autoTLSkeys".into(), ..key.clone() }.local());
    file.static_symbol(SymbolSpec { name: "key".into(), ..key }.local());
    file.static_symbol(SymbolSpec::function("outer", CODE, 0x100));
    file.static_symbol(SymbolSpec::function("inner@@VERSION", at(CODE, 0x40), 0x10));
    let bytes = file.build().unwrap();
    let image = Image::parse(&bytes).unwrap();
    assert!(!image.is_stripped() && !image.has_dynamic());
    let found = image.static_symbols_named(&["key", "autoTLSkey", "inner"]);
    let found: Vec<_> =
        found.iter().map(|named| (named.which, named.suffix, named.symbol.name)).collect();
    assert_eq!(
        found,
        [(1, ".lto_priv.0", "autoTLSkey.lto_priv.0"), (0, "", "key"), (2, "", "inner@@VERSION")]
    );
    assert_eq!(image.static_symbol("key").unwrap().binding, Binding::Local);
    // More than the passes after which an index is built.
    for _ in 0..20 {
        assert_eq!(image.function_at(at(CODE, 0x30)).unwrap().name, "outer");
        assert_eq!(image.function_at(at(CODE, 0x44)).unwrap().base_name(), "inner");
        assert_eq!(image.function_at(at(CODE, 0x60)).unwrap().name, "outer");
        assert!(image.function_at(at(CODE, 0x100)).is_none());
    }
}

#[test]
fn every_kind_of_relocation_on_both_architectures() {
    for arch in [Arch::X86_64, Arch::Aarch64] {
        let mut file = library(arch);
        let import = file.import("malloc");
        let own = file.dynamic_symbol(SymbolSpec::object("_PyRuntime", at(DATA, 0x200), 64));
        let local = file.dynamic_symbol(SymbolSpec::thread_local("tstate", 8, 8));
        let other = file.dynamic_symbol(SymbolSpec::import("errno", SymbolKind::Tls));
        use RelocationKind as Kind;
        let slots = [
            (Kind::GlobDat, Some(own), 0),
            (Kind::JumpSlot, Some(import), 0),
            (Kind::Absolute, Some(own), 0x10),
            (Kind::Relative, None, 0x8300),
            (Kind::IRelative, None, 0x1010),
            (Kind::TlsModule, Some(local), 0),
            (Kind::TlsOffset, Some(local), 4),
            (Kind::TpOffset, Some(other), 0),
            (Kind::TpOffset, None, 12),
            (Kind::TlsDescriptor, Some(local), 0),
            (Kind::Copy, Some(own), 0),
            (Kind::Raw(0xdead), None, 1),
            (Kind::Raw(0), None, 1),
        ];
        for (number, (kind, symbol, addend)) in (0..).zip(slots) {
            file.relocation(at(DATA, 16 * number), kind, symbol, addend);
        }
        let bytes = file.build().unwrap();
        let image = Image::parse(&bytes).unwrap();
        let of = |name| {
            let undefined = image.undefined(name);
            undefined.or_else(|| image.dynamic_symbol(name).map(|symbol| symbol.index)).unwrap()
        };
        let symbolic = |name, addend, kind| Relocation::Symbolic { symbol: of(name), addend, kind };
        let expected = [
            Some(symbolic("_PyRuntime", 0, SymbolicKind::GlobDat)),
            Some(symbolic("malloc", 0, SymbolicKind::JumpSlot)),
            Some(symbolic("_PyRuntime", 0x10, SymbolicKind::Absolute)),
            Some(Relocation::Relative { address: VirtAddr(0x8300) }),
            Some(Relocation::IRelative { resolver: VirtAddr(0x1010) }),
            Some(Relocation::TlsModule { symbol: of("tstate") }),
            Some(Relocation::TlsOffset {
                symbol: of("tstate"),
                addend: 4,
                module_offset: Some(12),
            }),
            Some(Relocation::TpOffset { symbol: of("errno"), addend: 0, module_offset: None }),
            Some(Relocation::TpOffset { symbol: 0, addend: 12, module_offset: Some(12) }),
            Some(Relocation::TlsDescriptor {
                symbol: of("tstate"),
                addend: 0,
                module_offset: Some(8),
            }),
            Some(Relocation::Copy { symbol: of("_PyRuntime") }),
            Some(Relocation::Other { raw: 0xdead, symbol: 0, addend: 1 }),
            None,
        ];
        for (number, expected) in (0..).zip(expected) {
            assert_eq!(image.relocation_at(at(DATA, 16 * number)), expected, "{arch:?} {number}");
            assert_eq!(image.relocation_at(at(DATA, 16 * number + 8)), None, "{arch:?} {number}");
        }
    }
}

/// Thousands of records, so that none of the short ways is taken by accident.
#[test]
fn relocations_of_a_large_library() {
    let mut file = ElfBuilder::new(Arch::X86_64, ImageKind::Shared);
    file.map(DATA, 0x10_0000, Permissions::DATA);
    let symbols: Vec<_> = (0..50).map(|number| file.import(&format!("import_{number}"))).collect();
    let slot = |number: u64| at(DATA, number * 24);
    for number in 0..9000_u64 {
        let symbol = symbols[usize::try_from(number * number % 50).unwrap()];
        match number % 3 {
            0 => file.relocation(slot(number), RelocationKind::Relative, None, 0x1000),
            1 => file.relocation(slot(number), RelocationKind::Absolute, Some(symbol), 1),
            _ => file.relocation(slot(number), RelocationKind::JumpSlot, Some(symbol), 0),
        };
    }
    let bytes = file.build().unwrap();
    let fresh = || Image::parse(&bytes).unwrap();
    let image = fresh();
    for number in (0..9000).rev() {
        let found = image.relocation_at(slot(number));
        let right = match number % 3 {
            0 => matches!(found, Some(Relocation::Relative { .. })),
            1 => matches!(found, Some(Relocation::Symbolic { kind: SymbolicKind::Absolute, .. })),
            _ => matches!(found, Some(Relocation::Symbolic { kind: SymbolicKind::JumpSlot, .. })),
        };
        assert!(right, "{number}: {found:?}");
        assert_eq!(image.relocation_at(at(slot(number), 8)), None);
        // The first look-up of an image takes another way than the later ones.
        if number % 101 == 0 {
            assert_eq!(fresh().relocation_at(slot(number)), found);
            assert_eq!(fresh().relocation_at(at(slot(number), 16)), None);
        }
    }
}

#[test]
fn relocations_of_a_static_executable() {
    let mut file = ElfBuilder::new(Arch::X86_64, ImageKind::Executable);
    file.map(CODE, 0x1000, Permissions::CODE).map(DATA, 0x1000, Permissions::DATA);
    file.relocation(at(DATA, 8), RelocationKind::IRelative, None, 0x1100);
    let bytes = file.build().unwrap();
    let image = Image::parse(&bytes).unwrap();
    assert!(!image.has_dynamic());
    let resolver = VirtAddr(0x1100);
    assert_eq!(image.relocation_at(at(DATA, 8)), Some(Relocation::IRelative { resolver }));
    let callee = image.slot_target(at(DATA, 8)).unwrap();
    assert_eq!((callee.resolver, callee.address), (Some(resolver), None));
}

#[test]
fn copies_are_told_from_definitions() {
    let mut file = ElfBuilder::new(Arch::X86_64, ImageKind::Pie);
    file.map(CODE, 0x1000, Permissions::CODE).map(DATA, 0x1000, Permissions::DATA);
    let copy = file.dynamic_symbol(SymbolSpec::object("_PyRuntime", at(DATA, 0x100), 64));
    file.dynamic_symbol(SymbolSpec::object("mine", at(DATA, 0x200), 64));
    file.relocation(at(DATA, 0x100), RelocationKind::Copy, Some(copy), 0);
    let bytes = file.build().unwrap();
    let image = Image::parse(&bytes).unwrap();
    assert_eq!(image.copy_relocated("_PyRuntime"), Some(at(DATA, 0x100)));
    assert_eq!(image.copy_relocated("mine"), None);
    assert!(image.is_copy(image.symbol("_PyRuntime").unwrap().address));
    assert!(!image.is_copy(image.symbol("mine").unwrap().address));
}

#[test]
fn memory_is_constant_where_nothing_writes() {
    let mut file = library(Arch::X86_64);
    file.relro(Range::new(DATA, 0x1000)).dynamic();
    file.bytes(at(CODE, 4), &7_u64.to_le_bytes()).section(".got", Range::new(at(DATA, 0x2000), 8));
    let bytes = file.build().unwrap();
    let image = Image::parse(&bytes).unwrap();
    assert!(image.is_constant(CODE) && image.is_constant(at(DATA, 0xfff)));
    assert!(!image.is_constant(at(DATA, 0x1000)) && !image.is_constant(at(DATA, 0x2000)));
    assert!(!image.is_constant(VirtAddr(0)));
    assert!(image.is_executable(CODE) && !image.is_writable(CODE) && image.is_writable(DATA));
    assert_eq!((image.u64_at(at(CODE, 4)), image.u32_at(at(CODE, 4))), (Some(7), Some(7)));
    assert_eq!(image.u64_at(at(CODE, 5)), None, "three bytes are left in the file");
    assert_eq!(image.bytes(DATA, 1), None, "zero-filled");
    assert_eq!(image.bytes_from(at(CODE, 10), 9).len(), 2);
    let offset = image.file_offset(at(CODE, 6)).unwrap();
    assert_eq!(image.address_of_offset(offset), Some(at(CODE, 6)));

    let mut file = ElfBuilder::new(Arch::X86_64, ImageKind::Executable);
    file.map(DATA, 0x1000, Permissions::DATA).section(".got", Range::new(at(DATA, 0x800), 8));
    let bytes = file.build().unwrap();
    let image = Image::parse(&bytes).unwrap();
    assert!(image.is_constant(at(DATA, 0x807)) && !image.is_constant(at(DATA, 0x808)));
}

#[test]
fn unwind_entries_bound_functions() {
    for arch in [Arch::X86_64, Arch::Aarch64] {
        let mut file = library(arch);
        let (hot, cold) = (Range::new(CODE, 0x80), Range::new(at(CODE, 0x1000), 0x20));
        file.unwind(cold).unwind(hot).without_section_headers();
        let bytes = file.build().unwrap();
        let image = Image::parse(&bytes).unwrap();
        assert_eq!(image.unwind_range(CODE), Some(hot));
        assert_eq!(image.unwind_range(at(CODE, 0x7f)), Some(hot));
        assert_eq!(image.unwind_range(at(CODE, 0x80)), None);
        assert_eq!(image.unwind_range(at(CODE, 0x101f)), Some(cold));
        assert_eq!(image.unwind_range(at(CODE, 0x1020)), None);
        assert_eq!(image.unwind_range(VirtAddr(0)), None);
    }
}

/// Stubs as linkers write them; the slot is at `DATA`, the stub at `CODE`.
#[test]
fn stubs_of_every_linker() {
    let slot_from = |next: u64| u32::try_from(DATA.0 - (CODE.0 + next)).unwrap().to_le_bytes();
    let x86_64 = |before: &[u8], after: &[u8]| {
        let next = u64::try_from(before.len()).unwrap() + 4;
        [before, &slot_from(next), after].concat()
    };
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect();
    // adrp x16, 0x8000; ldr x17, [x16]; add x16, x16, #0; br x17
    let (adrp, ldr, add, br) = (0xf000_0030, 0xf940_0211, 0x9100_0210, 0xd61f_0220);
    let cases: [(&str, Arch, Vec<u8>); 13] = [
        ("lazy", Arch::X86_64, x86_64(&[0xff, 0x25], &[0x68, 0, 0, 0, 0, 0xe9])),
        ("ibt", Arch::X86_64, x86_64(&[0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25], &[0x66])),
        ("ibt and bnd", Arch::X86_64, x86_64(&[0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25], &[])),
        ("bnd", Arch::X86_64, x86_64(&[0xf2, 0xff, 0x25], &[0x90])),
        (
            "mold",
            Arch::X86_64,
            x86_64(&[0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0xbb, 1, 0, 0, 0, 0xff, 0x25], &[]),
        ),
        ("retpoline", Arch::X86_64, x86_64(&[0x4c, 0x8b, 0x1d], &[0xe8, 0, 0, 0, 0])),
        ("retpoline, bound", Arch::X86_64, x86_64(&[0x4c, 0x8b, 0x1d], &[0xe9, 0, 0, 0, 0])),
        ("small", Arch::Aarch64, words(&[adrp, ldr, add, br])),
        ("without add", Arch::Aarch64, words(&[adrp, ldr, br, 0xd503_201f])),
        ("bti", Arch::Aarch64, words(&[0xd503_245f, adrp, ldr, add, br])),
        ("pac", Arch::Aarch64, words(&[adrp, ldr, add, 0xd503_219f, br])),
        ("bti and pac", Arch::Aarch64, words(&[0xd503_245f, adrp, ldr, add, 0xd503_219f, br])),
        ("bti, mold", Arch::Aarch64, words(&[0xd503_245f, adrp, ldr, br])),
    ];
    for (name, arch, stub) in cases {
        let mut file = library(arch);
        let import = file.import("pthread_getspecific");
        file.bytes(CODE, &stub).relocation(DATA, RelocationKind::JumpSlot, Some(import), 0);
        let bytes = file.without_section_headers().build().unwrap();
        let image = Image::parse(&bytes).unwrap();
        let callee = image.callee(CODE);
        assert_eq!(callee.name, Some("pthread_getspecific"), "{name}");
        assert_eq!((callee.via, callee.slot, callee.address), (Via::Plt, Some(DATA), None));

        // The same bytes with another word behind them are just code.
        let mut file = library(arch);
        file.bytes(CODE, &stub);
        let bytes = file.build().unwrap();
        let callee = Image::parse(&bytes).unwrap().callee(CODE);
        assert_eq!((callee.via, callee.address, callee.name), (Via::Direct, Some(CODE), None));
    }
}

#[test]
fn veneers_lead_to_their_target() {
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let cases: [(&str, Vec<u8>); 3] = [
        // adrp x16, 0x2000; add x16, x16, #0x10; br x16
        ("adrp", words(&[0xb000_0010, 0x9100_4210, 0xd61f_0200])),
        // ldr x16, .+8; br x16; .quad 0x2010
        ("literal", words(&[0x5800_0050, 0xd61f_0200, 0x2010, 0])),
        // ldr x16, .+16; adr x17, .; add x16, x16, x17; br x16; .quad 0x2010 - 0x1004
        ("relative", words(&[0x5800_0090, 0x1000_0011, 0x8b11_0210, 0xd61f_0200, 0x100c, 0])),
    ];
    for (name, veneer) in cases {
        let mut file = library(Arch::Aarch64);
        let bytes = file.bytes(CODE, &veneer).build().unwrap();
        let callee = Image::parse(&bytes).unwrap().callee(CODE);
        assert_eq!((callee.address, callee.via), (Some(VirtAddr(0x2010)), Via::Direct), "{name}");
    }
}

#[test]
fn own_functions_behind_slots() {
    let mut file = library(Arch::X86_64);
    let own = file.dynamic_symbol(SymbolSpec::function("PyThread_tss_get", at(CODE, 0x40), 8));
    file.relocation(DATA, RelocationKind::GlobDat, Some(own), 0);
    file.relocation(at(DATA, 8), RelocationKind::Relative, None, 0x1080);
    file.relocation(at(DATA, 16), RelocationKind::TlsModule, None, 0);
    let bytes = file.build().unwrap();
    let image = Image::parse(&bytes).unwrap();
    let callee = image.slot_target(DATA).unwrap();
    assert_eq!((callee.name, callee.address), (Some("PyThread_tss_get"), Some(at(CODE, 0x40))));
    let callee = image.slot_target(at(DATA, 8)).unwrap();
    assert_eq!((callee.name, callee.address), (None, Some(at(CODE, 0x80))));
    assert_eq!(image.slot_target(at(DATA, 16)), None);
    assert_eq!(image.slot_target(at(DATA, 24)), None);
}

#[test]
fn descriptions_that_contradict_themselves() {
    let mut file = library(Arch::X86_64);
    file.bytes(VirtAddr(0x2ffc), &[0; 8]);
    let error = BuildError::NotMapped { address: VirtAddr(0x2ffc), size: 8 };
    assert_eq!(file.build(), Err(error));
    let mut file = library(Arch::X86_64);
    file.map(VirtAddr(0x2fff), 0x10, Permissions::DATA);
    assert_eq!(file.build(), Err(BuildError::Overlap { address: VirtAddr(0x2fff) }));
    let mut file = library(Arch::X86_64);
    file.map(VirtAddr(u64::MAX - 0xfff), 0xfff, Permissions::DATA).soname("x");
    assert!(matches!(file.build(), Err(BuildError::NoRoom { .. })));
    let mut file = library(Arch::X86_64);
    file.map(VirtAddr(1 << 40), 0x1000, Permissions::CODE).unwind(Range::new(CODE, 4));
    assert_eq!(file.build(), Err(BuildError::TooFar { address: CODE }));
}

#[test]
fn what_is_no_image_is_named() {
    let error = |bytes: &[u8]| Image::parse(bytes).map(|image| image.kind()).unwrap_err();
    assert_eq!(error(b""), ParseError::NotElf { magic: [0; 4], size: 0 });
    assert_eq!(error(b"PK\x03\x04...."), ParseError::NotElf { magic: *b"PK\x03\x04", size: 8 });
    let bytes = library(Arch::X86_64).build().unwrap();
    let changed = |offset: usize, value: &[u8]| {
        let mut bytes = bytes.clone();
        bytes[offset..offset + value.len()].copy_from_slice(value);
        error(&bytes)
    };
    assert_eq!(changed(4, &[1]), ParseError::Class32 { machine: 62 });
    assert_eq!(changed(5, &[2]), ParseError::BigEndian { machine: 62 << 8 });
    assert_eq!(changed(18, &[243, 0]), ParseError::Machine(243));
    assert_eq!(
        changed(54, &[32, 0]),
        ParseError::Header { what: "e_phentsize", expected: 56, found: 32 }
    );
    let table = ParseError::Truncated {
        what: "program header table",
        offset: 64,
        needed: 56 * 9999,
        have: bytes.len() as u64 - 64,
    };
    assert_eq!(changed(56, &9999_u16.to_le_bytes()), table);
    assert_eq!(
        table.to_string(),
        format!(
            "cut off: the program header table takes 559944 bytes at file offset 0x40, the file \
             has {} there",
            bytes.len() - 64
        )
    );
    let header = ParseError::Truncated { what: "ELF header", offset: 0, needed: 64, have: 20 };
    assert_eq!(error(&bytes[..20]), header);
}

#[test]
fn a_file_that_ends_early_is_read_as_far_as_it_goes() {
    let mut file = library(Arch::X86_64);
    file.bytes(at(CODE, 0x10), &[0xc3; 0x100]);
    let bytes = file.build().unwrap();
    let whole = Image::parse(&bytes).unwrap();
    let end = usize::try_from(whole.file_offset(at(CODE, 0x10)).unwrap()).unwrap() + 0x20;
    let image = Image::parse(&bytes[..end]).unwrap();
    let cut = image.cut().unwrap();
    assert_eq!((cut.what, cut.needed, cut.have), ("PT_LOAD", 0x100, 0x20));
    assert_eq!(image.bytes_from(at(CODE, 0x10), 0x100).len(), 0x20);
    assert!(!image.has_section_headers(), "they come last");
}
