//! What holds for any bytes at all. Used by the fuzz targets and by the tests
//! that replay what they found.

#![allow(dead_code, reason = "each user takes some of these")]

use analyzer_core::addr::VirtAddr;
use analyzer_core::code::ir::Lifted;
use analyzer_core::code::{self, MAX_INSTRUCTION_LEN};
use analyzer_core::report::{Arch, ImageKind, Report, Status, TlsSegment};
use analyzer_core::shrink::{
    ElfBuilder, Permissions, RelocationKind, SymbolSpec, plt_stub, shrink,
};
use analyzer_core::{Options, analyze, routes};

/// Steps in all traces of one report, at most: each is stored and shown.
const MOST_STEPS: usize = 200_000;

/// Looks a property up by the name of its fuzz target.
pub(crate) fn by_name(name: &str) -> Option<fn(&[u8])> {
    Some(match name {
        "report" => report,
        "lift" => lift,
        "function" => function,
        "reproducer" => reproducer,
        _ => return None,
    })
}

/// Any bytes are a file, and a file has a report that agrees with itself.
pub(crate) fn report(bytes: &[u8]) {
    let traced =
        analyze(bytes, &Options { path: "f".into(), trace: true, debug_file: Some(bytes) });
    agrees_with_itself(&traced);
    let plain = analyze(bytes, &Options { path: "f".into(), ..Options::default() });
    agrees_with_itself(&plain);
    match routes(bytes) {
        Ok(routes) => assert_eq!(routes, plain.routes, "routes() and analyze() differ"),
        Err(_) => assert!(plain.routes.is_empty(), "routes() refuses what analyze() answers"),
    }
}

fn agrees_with_itself(report: &Report) {
    let json = serde_json::to_string(report).expect("a report can be written");
    let back: Report = serde_json::from_str(&json).expect("a report can be read back");
    assert_eq!(&back, report, "a report changes on the way through JSON");
    assert_eq!(
        matches!(report.status, Status::Resolved | Status::Conflict),
        !report.routes.is_empty(),
        "status {:?} with {} routes",
        report.status,
        report.routes.len()
    );
    let mut steps = 0;
    for strategy in &report.strategies {
        if let Some(route) = strategy.route {
            assert!(
                (route as usize) < report.routes.len(),
                "{} names route {route} of {}",
                strategy.name,
                report.routes.len()
            );
        }
        steps += strategy.trace.len();
    }
    assert!(steps <= MOST_STEPS, "{steps} steps");
}

/// Any bytes are code: each lifted instruction has a length, lies in the
/// bytes, and is the same whatever follows it.
pub(crate) fn lift(bytes: &[u8]) {
    for arch in [Arch::X86_64, Arch::Aarch64] {
        let mut lifted = Lifted::new();
        let mut alone = Lifted::new();
        let mut offset = 0;
        while let Some(rest) = bytes.get(offset..).filter(|rest| !rest.is_empty()) {
            let address = VirtAddr(0x40_1000 + offset as u64);
            let outcome = code::lift(arch, rest, address, &mut lifted);
            let length = usize::from(lifted.len);
            if outcome.is_err() {
                assert_eq!(length, 0, "{arch:?}: an error with a length");
                offset += if arch == Arch::Aarch64 { 4 } else { 1 };
                continue;
            }
            assert!(
                (1..=MAX_INSTRUCTION_LEN).contains(&length) && length <= rest.len(),
                "{arch:?}: length {length} in {:02x?}",
                &rest[..rest.len().min(16)]
            );
            let instruction = &rest[..length];
            let _ = code::lift(arch, instruction, address, &mut alone);
            assert_eq!(
                format!("{lifted:?}"),
                format!("{alone:?}"),
                "{arch:?}: what follows {instruction:02x?} matters"
            );
            let text = code::text::format(arch, instruction, address, &NoNames);
            assert!(!text.is_empty(), "{arch:?}: no text for {instruction:02x?}");
            offset += length;
        }
    }
}

struct NoNames;

impl code::text::Names for NoNames {
    fn name_at(&self, _: VirtAddr) -> Option<String> {
        None
    }
}

/// Any bytes are the code of an entry function, in a file that is well-formed
/// otherwise. The first byte chooses the file, the rest is code.
pub(crate) fn function(bytes: &[u8]) {
    let Some((&choice, code)) = bytes.split_first() else { return };
    report(&python_image(choice, code));
}

/// Any file can be cut down or is refused, and what is cut says the same; the
/// first byte chooses whether the rest is a file or an entry function's code.
pub(crate) fn reproducer(bytes: &[u8]) {
    let Some((&choice, rest)) = bytes.split_first() else { return };
    if choice & 0x80 == 0 {
        reproduced(&python_image(choice, rest), true);
    } else {
        reproduced(rest, false);
    }
}

/// `sound` says that the file contradicts itself nowhere, so that nothing of
/// the report may be lost.
fn reproduced(bytes: &[u8], sound: bool) {
    let options = Options { path: "f".into(), ..Options::default() };
    let Ok(small) = shrink(bytes, &options) else {
        assert!(!sound, "a sound file is refused");
        return;
    };
    assert!(!sound || small.differences.is_empty(), "lost: {:?}", small.differences);
    let most = bytes.len() + (256 << 10);
    assert!(small.bytes.len() <= most, "{} bytes from {}", small.bytes.len(), bytes.len());
    let again = analyze(&small.bytes, &options);
    agrees_with_itself(&again);
    assert!(again.file.reproducer, "a reproducer that does not say so");
    if small.differences.is_empty() {
        let whole = analyze(bytes, &options);
        assert_eq!(again.status, whole.status, "the differences do not name the status");
        assert_eq!(again.routes, whole.routes, "the differences do not name the routes");
    }
}

/// A small Python image. `choice` takes the instruction set from bit 0, the
/// version from bits 1 to 3, the kind of file from bit 4; `code` is what all
/// of the version's entry functions share.
///
/// The addresses are those of the constants here, so that a fuzzer that has
/// found a call to one of them once can keep it.
pub(crate) fn python_image(choice: u8, code: &[u8]) -> Vec<u8> {
    const CODE: VirtAddr = VirtAddr(0x1000);
    const PLT: u64 = 0x7000;
    const GOT: u64 = 0x9000;
    const RUNTIME: u64 = 0xa000;
    let arch = if choice & 1 == 0 { Arch::X86_64 } else { Arch::Aarch64 };
    let minor = 8 + u64::from(choice >> 1 & 7);
    let kind = if choice & 16 == 0 { ImageKind::Shared } else { ImageKind::Executable };
    let code = &code[..code.len().min(0x4000)];

    let mut file = ElfBuilder::new(arch, kind);
    file.map(CODE, 0x8000, Permissions::CODE);
    file.map(VirtAddr(GOT), 0x8000, Permissions::DATA);
    file.bytes(CODE, code);
    file.tls(TlsSegment { address: VirtAddr(GOT), file_size: 0, memory_size: 0x20, align: 8 });
    file.soname(&format!("libpython3.{minor}.so.1.0"));
    let runtime = file.dynamic_symbol(SymbolSpec::object("_PyRuntime", VirtAddr(RUNTIME), 0x2000));
    file.relocation(VirtAddr(GOT + 0x10), RelocationKind::GlobDat, Some(runtime), 0);
    for name in [
        "PyGILState_GetThisThreadState",
        "PyGILState_Ensure",
        "PyThreadState_Get",
        "_PyThreadState_GetCurrent",
        "PyThreadState_GetUnchecked",
        "_PyEval_EvalFrameDefault",
    ] {
        file.dynamic_symbol(SymbolSpec::function(name, CODE, code.len() as u64));
    }
    file.dynamic_symbol(SymbolSpec::function("PyThread_tss_get", VirtAddr(PLT), 16));
    for (index, name) in
        ["pthread_getspecific", "PyThread_tss_is_created", "__tls_get_addr"].iter().enumerate()
    {
        let slot = GOT + 0x100 + 8 * index as u64;
        let symbol = file.import(name);
        file.relocation(VirtAddr(slot), RelocationKind::JumpSlot, Some(symbol), 0);
        let stub = PLT + 0x40 + 16 * index as u64;
        let code = plt_stub(arch, VirtAddr(stub), VirtAddr(slot));
        file.bytes(VirtAddr(stub), &code.expect("a slot within reach"));
    }
    file.relocation(VirtAddr(GOT + 0x20), RelocationKind::TlsModule, None, 0);
    file.relocation(VirtAddr(GOT + 0x30), RelocationKind::TpOffset, None, 8);
    file.relocation(VirtAddr(GOT + 0x40), RelocationKind::TlsDescriptor, None, 16);
    if minor >= 11 {
        let version = 0x0300_00f0_u64 | minor << 16;
        file.bytes(VirtAddr(GOT + 0x80), &version.to_le_bytes());
        file.dynamic_symbol(SymbolSpec::object("Py_Version", VirtAddr(GOT + 0x80), 8));
    }
    file.build().unwrap_or_default()
}
