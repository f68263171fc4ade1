//! Files that the machine's own compiler and linker make.

use std::{fs, path::PathBuf, process::Command};

use analyzer_core::{
    addr::VirtAddr,
    image::{Image, Relocation, SymbolKind, SymbolicKind, Via},
    report::ImageKind,
};

const SOURCE: &str = r"
#include <pthread.h>
#include <stdlib.h>
int runtime[64] = {1, 2, 3};
static __thread int own[10];
void *pointers[] = {&runtime[3], &pointers, (void *)malloc};
__attribute__((noinline)) int exported(int a) { return a + runtime[1] + own[a & 7]++; }
void *get(pthread_key_t *key) { return pthread_getspecific(*key); }
int user(pthread_key_t *key) { free(get(key)); return exported(3) + (pointers[2] != 0); }
#ifdef PROGRAM
int main(void) { pthread_key_t key; pthread_key_create(&key, 0); return user(&key); }
#endif
";

fn compile(name: &str, arguments: &[&str]) -> Option<Vec<u8>> {
    compile_source(name, SOURCE, arguments)
}

/// Compiles C code with the given arguments; `None`, with a printed reason,
/// where that cannot be done.
pub(crate) fn compile_source(name: &str, code: &str, arguments: &[&str]) -> Option<Vec<u8>> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let (source, output) = (folder.join(format!("{name}.c")), folder.join(name));
    fs::write(&source, code).unwrap();
    let compiled = Command::new("gcc")
        .args(["-O2", "-fno-inline", "-w", "-o"])
        .args([&output, &source])
        .args(arguments)
        .output();
    match compiled {
        Ok(done) if done.status.success() => Some(fs::read(output).unwrap()),
        Ok(done) => {
            println!("skipped {name}: {}", String::from_utf8_lossy(&done.stderr));
            None
        }
        Err(error) => {
            println!("skipped {name}: no gcc ({error})");
            None
        }
    }
}

/// Where the first `call` or `jmp` with a 32-bit distance in the function goes.
fn first_call(image: &Image<'_>, function: &str) -> VirtAddr {
    let function = image.symbol(function).unwrap();
    let size = usize::try_from(function.size).unwrap();
    let code = image.bytes(function.address, size).unwrap();
    let at = code.iter().position(|byte| matches!(byte, 0xe8 | 0xe9)).unwrap();
    let distance = i32::from_le_bytes(code[at + 1..at + 5].try_into().unwrap());
    let next = function.address.0 + at as u64 + 5;
    VirtAddr(next.wrapping_add_signed(distance.into()))
}

#[test]
#[cfg(target_arch = "x86_64")]
fn calls_through_the_plt() {
    let kinds: [(&str, &[&str]); 4] = [
        ("plt-lazy", &["-shared", "-fPIC", "-Wl,-z,lazy"]),
        ("plt-now", &["-shared", "-fPIC", "-Wl,-z,now"]),
        ("plt-ibt", &["-shared", "-fPIC", "-fcf-protection=full", "-Wl,-z,ibtplt"]),
        ("plt-fixed", &["-no-pie", "-fno-pie", "-DPROGRAM", "-rdynamic"]),
    ];
    for (name, arguments) in kinds {
        let Some(bytes) = compile(name, arguments) else { continue };
        let image = Image::parse(&bytes).unwrap();
        let callee = image.callee(first_call(&image, "get"));
        assert_eq!(callee.name, Some("pthread_getspecific"), "{name}");
        assert_eq!((callee.via, callee.address), (Via::Plt, None), "{name}");
        assert!(image.undefined("pthread_getspecific").is_some(), "{name}");
        let callee = image.callee(first_call(&image, "user"));
        let get = image.symbol("get").unwrap().address;
        assert_eq!(callee.address, Some(get), "{name}: {callee:?}");
        assert_eq!(callee.name.is_some(), callee.via == Via::Plt, "{name}");
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn calls_without_a_plt() {
    let Some(bytes) = compile("no-plt", &["-shared", "-fPIC", "-fno-plt"]) else { return };
    let image = Image::parse(&bytes).unwrap();
    let get = image.symbol("get").unwrap();
    // jmp *slot(%rip)
    let code = image.bytes_from(get.address, 32);
    let at = code.windows(2).position(|pair| pair == [0xff, 0x25]).unwrap();
    let distance = i32::from_le_bytes(code[at + 2..at + 6].try_into().unwrap());
    let slot = VirtAddr((get.address.0 + at as u64 + 6).wrapping_add_signed(distance.into()));
    let callee = image.slot_target(slot).unwrap();
    assert_eq!((callee.name, callee.via), (Some("pthread_getspecific"), Via::Slot));
    assert!(image.is_constant(slot));
}

#[test]
#[cfg(target_arch = "x86_64")]
fn relocations_plain_and_packed() {
    for (name, packed) in
        [("plain", "-z,nopack-relative-relocs"), ("packed", "-z,pack-relative-relocs")]
    {
        let linker = format!("-Wl,{packed}");
        let Some(bytes) = compile(name, &["-shared", "-fPIC", &linker]) else { continue };
        let image = Image::parse(&bytes).unwrap();
        let pointers = image.symbol("pointers").unwrap();
        let runtime = image.symbol("runtime").unwrap();
        let at = |number: u64| image.relocation_at(VirtAddr(pointers.address.0 + 8 * number));
        let symbolic = |symbol, addend| {
            Some(Relocation::Symbolic { symbol, addend, kind: SymbolicKind::Absolute })
        };
        assert_eq!(at(0), symbolic(runtime.index, 12), "{name}");
        assert_eq!(at(1), symbolic(pointers.index, 0), "{name}");
        assert_eq!(at(2), symbolic(image.undefined("malloc").unwrap(), 0), "{name}");
        assert_eq!(at(3), None, "{name}");
        // The address of `__dso_handle` or of a start-up function.
        let data = image.section(".init_array").unwrap();
        let start = image.relocation_at(data.address);
        let Some(Relocation::Relative { address }) = start else { panic!("{name}: {start:?}") };
        assert!(image.is_executable(address), "{name}");
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_static_executable_has_names_resolvers_and_bounds() {
    let Some(bytes) = compile("static", &["-static", "-DPROGRAM"]) else { return };
    let image = Image::parse(&bytes).unwrap();
    assert_eq!(image.kind(), ImageKind::Executable);
    assert!(!image.has_dynamic() && !image.is_stripped());
    let get = image.symbol("get").unwrap();
    assert_eq!(image.function_at(VirtAddr(get.address.0 + 1)).unwrap().name, "get");
    let range = image.unwind_range(get.address).unwrap();
    assert_eq!((range.start, range.size()), (get.address, get.size));
    let callee = image.callee(first_call(&image, "get"));
    let target = image.function_at(callee.address.unwrap()).unwrap();
    assert!(target.name.ends_with("pthread_getspecific"), "{}", target.name);
    let own = image.static_symbols().find(|symbol| symbol.name == "own").unwrap();
    assert_eq!(own.kind, SymbolKind::Tls);
    assert!(own.address.0 + own.size <= image.tls().unwrap().memory_size);
    let resolvers = image.section(".rela.plt").unwrap().data.chunks_exact(24);
    assert!(resolvers.len() > 0, "glibc has indirect functions");
    for record in resolvers {
        let slot = VirtAddr(u64::from_le_bytes(record[..8].try_into().unwrap()));
        let resolver = VirtAddr(u64::from_le_bytes(record[16..].try_into().unwrap()));
        assert_eq!(image.relocation_at(slot), Some(Relocation::IRelative { resolver }));
    }
}

/// The file that runs this test: whatever it is, everything it declares is found.
#[test]
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn the_test_itself() {
    let bytes = fs::read("/proc/self/exe").unwrap();
    let image = Image::parse(&bytes).unwrap();
    assert_eq!(image.cut(), None);
    assert!(image.interpreter().is_some() && image.build_id().is_some());
    let functions: Vec<_> = image
        .static_symbols()
        .filter(|symbol| symbol.defined && symbol.kind == SymbolKind::Function && symbol.size > 0)
        .collect();
    assert!(functions.len() > 1000, "{}", functions.len());
    for symbol in functions.iter().step_by(97) {
        let named = image.function_at(VirtAddr(symbol.address.0 + symbol.size / 2)).unwrap();
        assert_eq!(named.address, symbol.address, "{} {}", named.name, symbol.name);
    }
    let unwound = functions.iter().filter(|symbol| {
        image.unwind_range(symbol.address).is_some_and(|range| range.start == symbol.address)
    });
    assert!(unwound.count() * 10 > functions.len() * 9);
    for symbol in image.dynamic_symbols().filter(|symbol| !symbol.name.is_empty()) {
        if symbol.defined {
            assert!(image.dynamic_symbol(symbol.name).is_some(), "{}", symbol.name);
        } else {
            assert!(image.undefined(symbol.name).is_some(), "{}", symbol.name);
        }
    }
}
