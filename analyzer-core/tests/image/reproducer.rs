//! Reproducers: small, and as good as the file they are cut from.

use analyzer_core::{
    Options,
    addr::VirtAddr,
    analyze,
    image::{Image, Range},
    report::{Arch, ImageKind, Outcome, Status, TlsSegment},
    shrink::{ElfBuilder, Permissions, RelocationKind, ShrinkError, SymbolSpec, shrink},
};

use crate::linked::compile_source;

/// A library of 4 MiB with one getter, its PLT, and a lot that is not of interest.
fn large() -> ElfBuilder {
    let mut file = ElfBuilder::new(Arch::X86_64, ImageKind::Shared);
    let (code, got, data) = (VirtAddr(0x10_0000), VirtAddr(0x40_0000), VirtAddr(0x41_0000));
    file.soname("libpython3.12.so.1.0").needed("libc.so.6").build_id(&[0x5a; 20]);
    file.map(code, 0x20_0000, Permissions::CODE).bytes(code, &vec![0xcc; 0x20_0000]);
    file.map(got, 0x1000, Permissions::DATA).bytes(got, &[0; 0x100]);
    file.map(data, 0x20_0000, Permissions::DATA).bytes(data, &vec![0xdd; 0x10_0000]);
    file.relro(Range::new(got, 0x1000)).section(".text", Range::new(code, 0x20_0000));
    file.section(".got", Range::new(got, 0x100)).section(".data", Range::new(data, 0x10_0000));
    file.tls(TlsSegment { address: VirtAddr(0x41_0000), file_size: 8, memory_size: 16, align: 8 });
    let runtime =
        file.dynamic_symbol(SymbolSpec::object("_PyRuntime", VirtAddr(0x48_0000), 0x7_0000));
    file.relocation(got, RelocationKind::GlobDat, Some(runtime), 0);
    for number in 0..2000 {
        let name = format!("of_no_interest_{number}");
        let at = VirtAddr(code.0 + 0x1_0000 + 64 * number);
        file.dynamic_symbol(SymbolSpec::function(&name, at, 64));
        file.unwind(Range::new(at, 64));
    }
    // mov rax, [rip + slot]; lea rdi, [rax + 0x608]; jmp plt
    let get = VirtAddr(code.0 + 0x500);
    file.bytes(get, &[0x48, 0x8b, 0x05]);
    file.bytes(VirtAddr(get.0 + 3), &0x2f_faf9_u32.to_le_bytes());
    file.bytes(VirtAddr(get.0 + 7), &[0x48, 0x8d, 0xb8, 0x08, 0x06, 0, 0, 0xe9]);
    file.bytes(VirtAddr(get.0 + 15), &(-0x313_i32).to_le_bytes());
    file.dynamic_symbol(SymbolSpec::function("PyGILState_GetThisThreadState", get, 19));
    let plt = VirtAddr(code.0 + 0x200);
    file.bytes(plt, &[0xff, 0x25, 0x0a, 0xfe, 0x2f, 0, 0x66, 0x90]);
    let tss =
        file.dynamic_symbol(SymbolSpec::function("PyThread_tss_get", VirtAddr(0x10_8000), 32));
    file.relocation(VirtAddr(0x40_0010), RelocationKind::JumpSlot, Some(tss), 0);
    file
}

#[test]
fn a_reproducer_is_small_and_gives_the_same_report() {
    for headers in [true, false] {
        let mut file = large();
        if !headers {
            file.without_section_headers();
        }
        let bytes = file.build().unwrap();
        let small = shrink(&bytes, &Options::default()).unwrap();
        assert!(bytes.len() > 3 << 20 && small.bytes.len() < 32 << 10, "{}", small.bytes.len());
        assert_eq!(small.differences, [""; 0]);

        let options = Options { trace: true, ..Options::default() };
        let (before, after) = (analyze(&bytes, &options), analyze(&small.bytes, &options));
        assert_eq!(before.status, Status::Resolved, "{before:?}");
        assert!(after.file.reproducer && !before.file.reproducer);
        assert_eq!((before.routes, before.strategies), (after.routes, after.strategies));

        let names: Vec<_> = small.contents.symbols.iter().map(|symbol| &*symbol.name).collect();
        assert!(names.contains(&"PyGILState_GetThisThreadState"), "{names:?}");
        assert!(!names.iter().any(|name| name.starts_with("of_no_interest")), "{names:?}");
        let kept: u64 = small.contents.bytes.iter().map(|part| part.end.0 - part.start.0).sum();
        assert!(kept < 1024, "{:?}", small.contents.bytes);
        assert_eq!(small.contents.relocations, [VirtAddr(0x40_0000), VirtAddr(0x40_0010)]);
    }
}

/// What is mapped in the large file is mapped in the small one, with the same
/// permissions, and every byte it holds is the large file's or filler.
#[test]
fn memory_stays_where_it_was() {
    let bytes = large().build().unwrap();
    let small = shrink(&bytes, &Options::default()).unwrap().bytes;
    let (large, small) = (Image::parse(&bytes).unwrap(), Image::parse(&small).unwrap());
    for segment in large.segments().iter().take(3) {
        let all = segment.range();
        for address in (all.start.0..all.end.0).step_by(0x333).map(VirtAddr) {
            let other = small.segment_at(address).unwrap();
            assert_eq!(
                (segment.writable, segment.executable),
                (other.writable, other.executable),
                "{address}"
            );
            if let Some(&[byte]) = small.bytes(address, 1) {
                let filler = if segment.executable { 0x90 } else { 0 };
                assert!(byte == filler || large.bytes(address, 1) == Some(&[byte]), "{address}");
            }
        }
    }
    assert_eq!((large.tls(), large.relro()), (small.tls(), small.relro()));
    assert_eq!(large.build_id(), small.build_id());
}

#[test]
fn a_reproducer_of_a_reproducer_is_the_same() {
    let bytes = large().build().unwrap();
    let once = shrink(&bytes, &Options::default()).unwrap();
    let twice = shrink(&once.bytes, &Options::default()).unwrap();
    assert_eq!(once.contents.symbols, twice.contents.symbols);
    assert_eq!(once.contents.relocations, twice.contents.relocations);
    assert_eq!(twice.differences, [""; 0]);
}

#[cfg(feature = "dwarf")]
const RUNTIME: &str = r"
typedef struct { int _is_initialized; int _key; } Py_tss_t;
struct gilstate { void *autoInterpreterState; Py_tss_t autoTSSkey; };
typedef struct pyruntimestate { long others[9]; struct gilstate gilstate; } _PyRuntimeState;
_PyRuntimeState _PyRuntime = {{1}};
__attribute__((noinline)) void *PyThread_tss_get(Py_tss_t *key) { return (void *)(long)key->_key; }
void *PyGILState_GetThisThreadState(void)
{
    return PyThread_tss_get(&_PyRuntime.gilstate.autoTSSkey);
}
";

/// What debug information tells goes into the reproducer, and no more of it.
#[test]
#[cfg(feature = "dwarf")]
fn debug_information_is_kept_as_far_as_it_is_used() {
    let arguments = ["-g", "-shared", "-fPIC", "-Wl,-soname,libpython3.9.so.1.0"];
    let Some(bytes) = compile_source("debug-information", RUNTIME, &arguments) else { return };
    let small = shrink(&bytes, &Options::default()).unwrap();
    assert_eq!(small.differences, [""; 0]);
    assert_eq!(small.contents.types, ["pyruntimestate.gilstate.autoTSSkey._key"]);
    let image = Image::parse(&small.bytes).unwrap();
    assert!(image.section(".debug_info").unwrap().size < 256);
    let report = analyze(&small.bytes, &Options::default());
    let told = report.strategies.iter().find(|told| told.name == "dwarf:autoTSSkey").unwrap();
    assert_eq!(told.outcome, Outcome::Route, "{told:?}");
}

#[test]
fn what_is_no_image_has_no_reproducer() {
    assert!(matches!(shrink(b"MZ", &Options::default()), Err(ShrinkError::Parse(_))));
    let mut object = large().build().unwrap();
    object[16] = 1;
    let error = shrink(&object, &Options::default());
    assert_eq!(error, Err(ShrinkError::Kind(ImageKind::Relocatable)));
}
