//! The page's examples: ELF files built from the bytes that bug reports show,
//! and from those of functions in two Debian packages.
//!
//! The two cases are those of the OpenTelemetry profiler's issue 251, at
//! their published addresses; the healthy one is the `libpython3.11.so.1.0`
//! of Debian 12 (3.11.2, gcc 12, amd64), the one with a thread-local variable
//! the `libpython3.13.so.1.0` of Debian 13 (3.13.5, gcc 14, arm64).

use analyzer_core::addr::VirtAddr;
use analyzer_core::image::Range;
use analyzer_core::report::{Arch, ImageKind, TlsSegment};
use analyzer_core::shrink::{ElfBuilder, Permissions, RelocationKind, SymbolSpec, plt_stub};
use anyhow::{Context, Result, anyhow};

/// One shared library.
struct Case {
    /// File name.
    name: &'static str,
    arch: Arch,
    soname: &'static str,
    /// `Py_Version`, as `PY_VERSION_HEX`.
    version: u32,
    /// Functions: where each lies, its name, and its bytes.
    functions: &'static [(u64, &'static str, &'static [u8])],
    /// GOT slot that holds the address of `_PyRuntime`.
    slot: u64,
    /// Address and size of `_PyRuntime`; reports do not show them, so there
    /// they are chosen, after the GOT, with the size of that version.
    runtime: (u64, u64),
    /// PLT stubs the functions go to, by address. What of CPython they lead to
    /// was not reported, so it has no code.
    stubs: &'static [(u64, &'static str)],
    /// TLS descriptor: its GOT slot, and the variable's offset in the module's
    /// TLS block.
    descriptor: Option<(u64, i64)>,
}

const GETTER: &str = "PyGILState_GetThisThreadState";

const CASES: [Case; 4] = [
    Case {
        name: "libpython3.12-no-lto.so",
        arch: Arch::X86_64,
        soname: "libpython3.12.so.1.0",
        version: 0x030c_08f0,
        functions: &[(
            0x29_c5d0,
            GETTER,
            b"\x48\x8b\x05\x81\x03\x26\x00\x55\x48\x8d\xa8\x08\x06\x00\x00\x48\x89\xef\
              \xe8\xc9\xe9\xe6\xff\x85\xc0\x74\x0d\x48\x89\xef\x5d\xe9\x8c\x2a\xe7\xff\
              \x0f\x1f\x40\x00\x31\xc0\x5d\xc3",
        )],
        slot: 0x4f_c958,
        runtime: (0x51_0000, 0x7_04a8),
        stubs: &[(0x10_afb0, "PyThread_tss_is_created"), (0x10_f080, "PyThread_tss_get")],
        descriptor: None,
    },
    Case {
        name: "libpython3.11-gcloud.so",
        arch: Arch::X86_64,
        soname: "libpython3.11.so.1.0",
        version: 0x030b_08f0,
        functions: &[(
            0x37_7d20,
            GETTER,
            b"\x48\x8b\x05\x61\x9d\x12\x01\x48\x83\xb8\x48\x02\x00\x00\x00\x74\x11\
              \xbf\x50\x02\x00\x00\x48\x03\x3d\x4b\x9d\x12\x01\xe9\x5e\x6e\xe9\xff\x31\xc0\xc3",
        )],
        slot: 0x14a_1a88,
        runtime: (0x14c_0000, 0x2_8b20),
        stubs: &[(0x20_eba0, "PyThread_tss_get")],
        descriptor: None,
    },
    Case {
        name: "libpython3.11-debian12.so",
        arch: Arch::X86_64,
        soname: "libpython3.11.so.1.0",
        version: 0x030b_02f0,
        functions: &[
            (
                0x2b_3720,
                GETTER,
                b"\x48\x8b\x05\x01\xe6\x36\x00\x48\x83\xb8\x48\x02\x00\x00\x00\x74\x0f\
                  \x48\x8d\xb8\x50\x02\x00\x00\xe9\x23\xee\x00\x00\x0f\x1f\x00\x31\xc0\xc3",
            ),
            (0x2c_2560, "PyThread_tss_get", b"\x8b\x7f\x04\xe9\x78\x20\xe4\xff"),
        ],
        slot: 0x62_1d28,
        runtime: (0x73_7660, 0x2_8b20),
        stubs: &[(0x10_45e0, "pthread_getspecific")],
        descriptor: None,
    },
    Case {
        name: "libpython3.13-arm64.so",
        arch: Arch::Aarch64,
        soname: "libpython3.13.so.1.0",
        version: 0x030d_05f0,
        functions: &[
            (
                0x2a_9ee0,
                GETTER,
                b"\x3f\x23\x03\xd5\xfd\x7b\xbe\xa9\xfd\x03\x00\x91\xf3\x0b\x00\xf9\
                  \xb3\x1f\x00\xd0\x73\x3a\x46\xf9\x60\xc2\x21\x91\x81\x39\x00\x94\
                  \xc0\x00\x00\x34\x60\xc2\x21\x91\xf3\x0b\x40\xf9\xfd\x7b\xc2\xa8\
                  \xbf\x23\x03\xd5\x15\x39\x00\x14\xf3\x0b\x40\xf9\x00\x00\x80\xd2\
                  \xfd\x7b\xc2\xa8\xbf\x23\x03\xd5\xc0\x03\x5f\xd6",
            ),
            (
                0x2b_8500,
                "PyThread_tss_is_created",
                b"\x5f\x24\x03\xd5\x00\x00\x40\xb9\xc0\x03\x5f\xd6",
            ),
            (0x2b_8368, "PyThread_tss_get", b"\x5f\x24\x03\xd5\x00\x04\x40\xb9\xe0\x85\xf7\x17"),
            (
                0x29_ac88,
                "_PyThreadState_GetCurrent",
                b"\x3f\x23\x03\xd5\x41\xd0\x3b\xd5\xfd\x7b\xbf\xa9\xfd\x03\x00\x91\
                  \x20\x20\x00\xf0\x02\x58\x40\xf9\x00\xc0\x02\x91\x40\x00\x3f\xd6\
                  \x20\x68\x60\xf8\xfd\x7b\xc1\xa8\xbf\x23\x03\xd5\xc0\x03\x5f\xd6",
            ),
        ],
        slot: 0x69_fc70,
        runtime: (0x6e_88b0, 0x4_5300),
        stubs: &[(0x9_9af0, "pthread_getspecific")],
        descriptor: Some((0x6a_10b0, 8)),
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
    let (runtime, runtime_size) = case.runtime;
    let mut file = ElfBuilder::new(case.arch, ImageKind::Shared);
    file.soname(case.soname).needed("libc.so.6");

    let functions = case.functions.iter().map(|(at, ..)| *at);
    let first = case.stubs.iter().map(|(at, _)| *at).chain(functions).min();
    let code_start = first.unwrap_or(PAGE) & !(PAGE - 1);
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

    for &(at, name, code) in case.functions {
        let range = Range::new(VirtAddr(at), code.len() as u64);
        file.bytes(range.start, code);
        file.section(".text", range);
        file.unwind(range);
        file.dynamic_symbol(SymbolSpec::function(name, range.start, range.size()));
    }
    let symbol =
        file.dynamic_symbol(SymbolSpec::object("_PyRuntime", VirtAddr(runtime), runtime_size));
    file.bytes(VirtAddr(case.slot), &[0; 8]);
    file.section(".got", Range::new(VirtAddr(case.slot), 8));
    file.relocation(VirtAddr(case.slot), RelocationKind::GlobDat, Some(symbol), 0);
    file.bytes(VirtAddr(constants), &u64::from(case.version).to_le_bytes());
    file.section(".rodata", Range::new(VirtAddr(constants), 8));
    file.dynamic_symbol(SymbolSpec::object("Py_Version", VirtAddr(constants), 8));
    for (index, (stub, name)) in case.stubs.iter().enumerate() {
        let slot = case.slot + 0x100 + 8 * index as u64;
        let code = plt_stub(case.arch, VirtAddr(*stub), VirtAddr(slot))
            .with_context(|| format!("{}: the slot of {name} is out of reach", case.name))?;
        file.bytes(VirtAddr(*stub), &code);
        file.bytes(VirtAddr(slot), &[0; 8]);
        file.section(".got.plt", Range::new(VirtAddr(slot), 8));
        let body = VirtAddr(code_start + PAGE / 2 + 0x40 * index as u64);
        let symbol = if name.starts_with("Py") {
            file.dynamic_symbol(SymbolSpec::function(name, body, 0x20))
        } else {
            file.import(name)
        };
        file.relocation(VirtAddr(slot), RelocationKind::JumpSlot, Some(symbol), 0);
    }
    if let Some((slot, offset)) = case.descriptor {
        let address = VirtAddr(data_start);
        file.tls(TlsSegment { address, file_size: 0, memory_size: 0x20, align: 8 });
        file.bytes(VirtAddr(slot), &[0; 16]);
        file.relocation(VirtAddr(slot), RelocationKind::TlsDescriptor, None, offset);
    }
    file.build().map_err(|error| anyhow!("{}: {error:?}", case.name))
}

#[cfg(test)]
mod tests {
    use analyzer_core::report::{BaselineOutcome, Route, Status, StepRole, Strength};
    use analyzer_core::{Options, analyze};

    #[test]
    fn each_example_shows_what_the_page_says_of_it() {
        let in_rbp = &["key-in-callee-saved-register", "first-call-is-created-test"][..];
        let expected = [
            (0x60c, "first-write", BaselineOutcome::Fails, in_rbp),
            (0x254, "first-write", BaselineOutcome::Fails, &["offset-before-base"]),
            (0x254, "first-write", BaselineOutcome::Right, &[]),
            (
                0x874,
                "first-thread-pointer-offset",
                BaselineOutcome::Fails,
                &["first-call-is-created-test", "tls-in-shared-library"],
            ),
        ];
        for ((name, bytes), (offset, simple, outcome, diagnoses)) in
            super::all().unwrap().into_iter().zip(expected)
        {
            let report = analyze(&bytes, &Options { trace: true, ..Options::default() });
            assert_eq!(report.status, Status::Resolved, "{name}: {report:?}");
            let Some(Route::PthreadKey { runtime_offset, strength, .. }) = report.routes.first()
            else {
                panic!("{name}: {:?}", report.routes)
            };
            assert_eq!(*runtime_offset, Some(offset), "{name}");
            assert_eq!(*strength, Strength::Corroborated, "{name}");
            let baseline = report.baselines.iter().find(|b| b.name == simple);
            assert_eq!(baseline.map(|b| b.outcome), Some(outcome), "{name}");
            let found: Vec<&str> = report.diagnoses.iter().map(|d| &*d.code).collect();
            assert_eq!(found, diagnoses, "{name}");
            let trace = &report.strategies[0].trace;
            let last = trace.iter().rfind(|step| step.on_path).and_then(|step| step.role);
            assert_eq!(last, Some(StepRole::Sink), "{name}: {trace:?}");
            assert!(bytes.len() < 64 << 10, "{name}: {} bytes", bytes.len());
        }
    }
}
