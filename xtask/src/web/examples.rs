//! The page's examples: ELF files built from the bytes that bug reports show.
//!
//! The two cases are those of the OpenTelemetry profiler's issue 251, at
//! their published addresses; the healthy one is a 3.10.16 shared library
//! (gcc, without link-time optimization) from the tests of the same project,
//! with the padding and the two instructions that its branch goes to.

use analyzer_core::addr::VirtAddr;
use analyzer_core::image::Range;
use analyzer_core::report::{Arch, ImageKind};
use analyzer_core::shrink::{ElfBuilder, Permissions, RelocationKind, SymbolSpec};
use anyhow::{Result, anyhow};

/// `PyGILState_GetThisThreadState` of one x86-64 shared library.
struct Case {
    /// File name.
    name: &'static str,
    soname: &'static str,
    /// `Py_Version` (3.11 and later), as `PY_VERSION_HEX`.
    version: Option<u32>,
    /// Where the function lies, and its bytes.
    function: (u64, &'static [u8]),
    /// GOT slot that holds the address of `_PyRuntime`.
    slot: u64,
    /// Address and size of `_PyRuntime`; the reports do not show them, so
    /// they are chosen, after the GOT, with the size of that version.
    runtime: (u64, u64),
    /// PLT stubs the function goes to, by address.
    stubs: &'static [(u64, &'static str)],
}

const CASES: [Case; 3] = [
    Case {
        name: "libpython3.12-no-lto.so",
        soname: "libpython3.12.so.1.0",
        version: Some(0x030c_08f0),
        function: (
            0x29_c5d0,
            b"\x48\x8b\x05\x81\x03\x26\x00\x55\x48\x8d\xa8\x08\x06\x00\x00\x48\x89\xef\
              \xe8\xc9\xe9\xe6\xff\x85\xc0\x74\x0d\x48\x89\xef\x5d\xe9\x8c\x2a\xe7\xff\
              \x0f\x1f\x40\x00\x31\xc0\x5d\xc3",
        ),
        slot: 0x4f_c958,
        runtime: (0x51_0000, 0x7_04a8),
        stubs: &[(0x10_afb0, "PyThread_tss_is_created"), (0x10_f080, "PyThread_tss_get")],
    },
    Case {
        name: "libpython3.11-gcloud.so",
        soname: "libpython3.11.so.1.0",
        version: Some(0x030b_08f0),
        function: (
            0x37_7d20,
            b"\x48\x8b\x05\x61\x9d\x12\x01\x48\x83\xb8\x48\x02\x00\x00\x00\x74\x11\
              \xbf\x50\x02\x00\x00\x48\x03\x3d\x4b\x9d\x12\x01\xe9\x5e\x6e\xe9\xff\x31\xc0\xc3",
        ),
        slot: 0x14a_1a88,
        runtime: (0x14c_0000, 0x2_8af8),
        stubs: &[(0x20_eba0, "PyThread_tss_get")],
    },
    Case {
        name: "libpython3.10-plain.so",
        soname: "libpython3.10.so.1.0",
        version: None,
        function: (
            0x20_79c0,
            b"\xf3\x0f\x1e\xfa\x48\x8b\x05\x65\x03\x18\x00\x48\x83\xb8\x40\x02\x00\x00\x00\
              \x74\x13\x48\x8d\xb8\x48\x02\x00\x00\xe9\x8f\x1f\xe6\xff\
              \x0f\x1f\x80\x00\x00\x00\x00\x31\xc0\xc3",
        ),
        slot: 0x38_7d30,
        runtime: (0x3a_0000, 0xf78),
        stubs: &[(0x6_9970, "PyThread_tss_get")],
    },
];

/// Name and bytes of each example.
///
/// # Errors
/// A case contradicts itself.
pub(super) fn all() -> Result<Vec<(&'static str, Vec<u8>)>> {
    CASES.iter().map(|case| Ok((case.name, build(case)?))).collect()
}

fn build(case: &Case) -> Result<Vec<u8>> {
    const PAGE: u64 = 0x1000;
    let (function, code) = case.function;
    let (runtime, runtime_size) = case.runtime;
    let length = code.len() as u64;
    let mut file = ElfBuilder::new(Arch::X86_64, ImageKind::Shared);
    file.soname(case.soname).needed("libc.so.6");

    let first = case.stubs.iter().map(|(at, _)| *at).chain([function]).min().unwrap_or(function);
    let code_start = first & !(PAGE - 1);
    let data_start = case.slot & !(PAGE - 1);
    let constants = data_start - 2 * PAGE;
    file.map(VirtAddr(0), PAGE, Permissions::CONSTANT);
    file.map(VirtAddr(code_start), constants - PAGE - code_start, Permissions::CODE);
    file.map(VirtAddr(constants), PAGE, Permissions::CONSTANT);
    file.map(
        VirtAddr(data_start),
        (runtime + runtime_size).next_multiple_of(PAGE) - data_start,
        Permissions::DATA,
    );

    file.bytes(VirtAddr(function), code);
    file.section(".text", Range::new(VirtAddr(function), length));
    file.unwind(Range::new(VirtAddr(function), length));
    file.dynamic_symbol(SymbolSpec::function(
        "PyGILState_GetThisThreadState",
        VirtAddr(function),
        length,
    ));
    let symbol =
        file.dynamic_symbol(SymbolSpec::object("_PyRuntime", VirtAddr(runtime), runtime_size));
    file.bytes(VirtAddr(case.slot), &[0; 8]);
    file.section(".got", Range::new(VirtAddr(case.slot), 8));
    file.relocation(VirtAddr(case.slot), RelocationKind::GlobDat, Some(symbol), 0);
    if let Some(version) = case.version {
        file.bytes(VirtAddr(constants), &u64::from(version).to_le_bytes());
        file.section(".rodata", Range::new(VirtAddr(constants), 8));
        file.dynamic_symbol(SymbolSpec::object("Py_Version", VirtAddr(constants), 8));
    }
    for (index, (stub, name)) in case.stubs.iter().enumerate() {
        let slot = case.slot + 0x100 + 8 * index as u64;
        // jmp *slot(%rip); padding
        let distance = u32::try_from(slot - (stub + 6))?;
        let mut jump = vec![0xff, 0x25];
        jump.extend(distance.to_le_bytes());
        jump.extend([0x66, 0x90]);
        file.bytes(VirtAddr(*stub), &jump);
        file.bytes(VirtAddr(slot), &[0; 8]);
        file.section(".got.plt", Range::new(VirtAddr(slot), 8));
        let symbol = file.dynamic_symbol(SymbolSpec::function(
            name,
            VirtAddr(code_start + PAGE / 2 + 0x40 * index as u64),
            0x20,
        ));
        file.relocation(VirtAddr(slot), RelocationKind::JumpSlot, Some(symbol), 0);
    }
    file.build().map_err(|error| anyhow!("{}: {error:?}", case.name))
}

#[cfg(test)]
mod tests {
    use analyzer_core::report::{BaselineOutcome, Route, Status};
    use analyzer_core::{Options, analyze};

    #[test]
    fn each_example_shows_what_the_page_says_of_it() {
        let expected = [
            (0x60c, BaselineOutcome::Fails),
            (0x254, BaselineOutcome::Fails),
            (0x24c, BaselineOutcome::Right),
        ];
        for ((name, bytes), (offset, first_write)) in
            super::all().unwrap().into_iter().zip(expected)
        {
            let report = analyze(&bytes, &Options { trace: true, ..Options::default() });
            assert_eq!(report.status, Status::Resolved, "{name}: {report:?}");
            let Some(Route::PthreadKey { runtime_offset, .. }) = report.routes.first() else {
                panic!("{name}: {:?}", report.routes)
            };
            assert_eq!(*runtime_offset, Some(offset), "{name}");
            let baseline = report.baselines.iter().find(|b| b.name == "first-write");
            assert_eq!(baseline.map(|b| b.outcome), Some(first_write), "{name}");
            assert!(bytes.len() < 64 << 10, "{name}: {} bytes", bytes.len());
        }
    }
}
