//! Entry functions from public reports, byte for byte, each in an ELF file
//! that the test builds around it.

use std::collections::BTreeMap;

use analyzer_core::{
    Options,
    addr::VirtAddr,
    analyze,
    image::Range,
    report::{Arch, BaselineOutcome, ImageKind, Report, Route, Status, StepRole, TlsSegment},
    shrink::{ElfBuilder, Permissions, RelocationKind, SymbolSpec, plt_stub},
};
use serde::Deserialize;

#[derive(Deserialize)]
struct Cases {
    case: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    #[serde(default)]
    arch: Option<String>,
    /// Version; with a patch level also the value of `Py_Version`.
    python: String,
    kind: Kind,
    /// The exported function the bytes are; the gilstate getter when absent.
    #[serde(default)]
    getter: Option<String>,
    entry: u64,
    bytes: String,
    /// Code of `PyGILState_Release`, where a case has some.
    #[serde(default)]
    release: Option<(u64, String)>,
    /// More code at other addresses.
    #[serde(default)]
    code: Vec<(u64, String)>,
    /// Words bound to symbols by `GLOB_DAT` (a relative relocation or, at fixed
    /// addresses, a constant in `.got`).
    #[serde(default)]
    got: Vec<(u64, String)>,
    #[serde(default)]
    plt: Vec<(u64, String)>,
    #[serde(default)]
    functions: Vec<(u64, String)>,
    /// Pairs of words for `__tls_get_addr` and the offset the second one holds.
    #[serde(default)]
    pairs: Vec<(u64, u64)>,
    #[serde(default)]
    runtime: Option<u64>,
    #[serde(default)]
    runtime_size: Option<u64>,
    #[serde(default)]
    tls_size: Option<u64>,
    #[serde(default)]
    key: Option<u64>,
    #[serde(default)]
    runtime_offset: Option<u64>,
    #[serde(default)]
    tp_offset: Option<i64>,
    #[serde(default)]
    module_offset: Option<u64>,
    #[serde(default)]
    got_slot: Option<u64>,
    #[serde(default)]
    diagnoses: Vec<String>,
    /// Strategies that lead to the first route.
    #[serde(default)]
    strategies: Vec<String>,
    /// Reason and place at which the linear first-write decoder fails.
    #[serde(default)]
    first_write_fails: Option<(String, u64)>,
}

/// Whether the functions behind PLT stubs have code: a file that was cut has
/// only their names.
#[derive(PartialEq, Clone, Copy)]
enum Bodies {
    Written,
    Missing,
}

#[derive(Deserialize, PartialEq, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Shared,
    Pie,
    Executable,
}

/// Room for stubs' slots, for `_PyRuntime` where the report does not place it
/// and for everything else the test adds: beyond every reported address.
const ADDED_DATA: u64 = 0x3000_0000;
const ADDED_CODE: u64 = 0x2000_0000;
const RUNTIME_SIZE: u64 = 0x4_0000;
const PAGE: u64 = 0x1000;

impl Case {
    fn arch(&self) -> Arch {
        if self.arch.as_deref() == Some("aarch64") { Arch::Aarch64 } else { Arch::X86_64 }
    }

    fn has_runtime(&self) -> bool {
        self.python != "3.6"
    }

    fn runtime(&self) -> u64 {
        self.runtime.unwrap_or(ADDED_DATA + 0x1_0000)
    }

    fn build(&self, bodies: Bodies) -> Vec<u8> {
        let kind = match self.kind {
            Kind::Shared => ImageKind::Shared,
            Kind::Pie => ImageKind::Pie,
            Kind::Executable => ImageKind::Executable,
        };
        let mut file = ElfBuilder::new(self.arch(), kind);
        let mut pages = Pages::default();
        pages.cover(ADDED_DATA, 0x1_0000 + RUNTIME_SIZE, Permissions::DATA);
        if self.kind == Kind::Shared {
            let series: Vec<&str> = self.python.split('.').take(2).collect();
            file.soname(&format!("libpython{}.so.1.0", series.join(".")));
        }
        let mut code = vec![(self.entry, hex(&self.bytes))];
        if let Some((at, bytes)) = &self.release {
            let bytes = hex(bytes);
            let size = bytes.len() as u64;
            file.dynamic_symbol(SymbolSpec::function("PyGILState_Release", VirtAddr(*at), size));
            code.push((*at, bytes));
        }
        code.extend(self.code.iter().map(|(at, bytes)| (*at, hex(bytes))));
        self.stubs(bodies, &mut file, &mut code);
        pages.cover(ADDED_CODE, PAGE, Permissions::CODE);
        let name = self.getter.as_deref().unwrap_or("PyGILState_GetThisThreadState");
        let size = code[0].1.len() as u64;
        file.dynamic_symbol(SymbolSpec::function(name, VirtAddr(self.entry), size));
        file.unwind(Range::new(VirtAddr(self.entry), size));
        for (at, bytes) in &code {
            pages.cover(*at, bytes.len() as u64, Permissions::CODE);
            file.bytes(VirtAddr(*at), bytes);
        }
        self.data(&mut file, &mut pages);
        pages.map(&mut file);
        file.build().unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    /// PLT stubs and the functions of CPython that they and direct calls reach.
    fn stubs(&self, bodies: Bodies, file: &mut ElfBuilder, code: &mut Vec<(u64, Vec<u8>)>) {
        let getspecific_plt = ADDED_CODE + 0x800;
        let mut plt: Vec<(u64, &str)> =
            self.plt.iter().map(|(at, name)| (*at, name.as_str())).collect();
        plt.push((getspecific_plt, "pthread_getspecific"));
        for (index, (at, name)) in (0_u64..).zip(plt) {
            let slot = ADDED_DATA + 8 * index;
            let stub = plt_stub(self.arch(), VirtAddr(at), VirtAddr(slot));
            code.push((at, stub.expect("a slot within reach")));
            let body = self.body(name, ADDED_CODE + 0x40 * index, getspecific_plt);
            let symbol = match body {
                Some((at, bytes)) => {
                    let spec = SymbolSpec::function(name, VirtAddr(at), bytes.len() as u64);
                    if bodies == Bodies::Written {
                        code.push((at, bytes));
                    }
                    file.dynamic_symbol(spec)
                }
                None => file.import(name),
            };
            file.relocation(VirtAddr(slot), RelocationKind::JumpSlot, Some(symbol), 0);
        }
        for (at, name) in &self.functions {
            let (at, bytes) = self.body(name, *at, getspecific_plt).expect("a known function");
            file.dynamic_symbol(SymbolSpec::function(name, VirtAddr(at), bytes.len() as u64));
            code.push((at, bytes));
        }
    }

    /// A function of CPython as compilers write it, at an address.
    fn body(&self, name: &str, at: u64, getspecific: u64) -> Option<(u64, Vec<u8>)> {
        let tail = |skipped: u64| relative(at + skipped + 5, getspecific);
        let branch = |skipped: u64| {
            0x1400_0000 | (getspecific.wrapping_sub(at + skipped) >> 2) as u32 & 0x3ff_ffff
        };
        let bytes = match (self.arch(), name) {
            // mov edi, [rdi+4]; jmp pthread_getspecific@plt
            (Arch::X86_64, "PyThread_tss_get") => {
                [&[0x8b, 0x7f, 0x04, 0xe9][..], &tail(3)].concat()
            }
            (Arch::X86_64, "PyThread_get_key_value") => [&[0xe9][..], &tail(0)].concat(),
            // mov eax, [rdi]; ret
            (Arch::X86_64, "PyThread_tss_is_created") => vec![0x8b, 0x07, 0xc3],
            // ldr w0, [x0, #4]; b pthread_getspecific
            (Arch::Aarch64, "PyThread_tss_get") => words(&[0xb940_0400, branch(4)]),
            _ => return None,
        };
        Some((at, bytes))
    }

    fn data(&self, file: &mut ElfBuilder, pages: &mut Pages) {
        let runtime = self.has_runtime().then(|| {
            let size = self.runtime_size.unwrap_or(RUNTIME_SIZE);
            let spec = SymbolSpec::object("_PyRuntime", VirtAddr(self.runtime()), size);
            if self.runtime.is_some() {
                pages.cover(self.runtime(), RUNTIME_SIZE, Permissions::DATA);
            }
            file.dynamic_symbol(spec)
        });
        if !self.has_runtime() {
            pages.cover(self.key.expect("a key"), 4, Permissions::DATA);
        }
        for (slot, name) in &self.got {
            assert_eq!(name, "_PyRuntime");
            pages.cover(*slot, 8, Permissions::DATA);
            if self.kind == Kind::Executable {
                file.bytes(VirtAddr(*slot), &self.runtime().to_le_bytes());
                file.section(".got", Range::new(VirtAddr(*slot), 8));
            } else {
                file.relocation(VirtAddr(*slot), RelocationKind::GlobDat, runtime, 0);
            }
        }
        for (slot, offset) in &self.pairs {
            pages.cover(*slot, 16, Permissions::DATA);
            file.relocation(VirtAddr(*slot), RelocationKind::TlsModule, None, 0);
            file.bytes(VirtAddr(slot + 8), &offset.to_le_bytes());
        }
        if let Some(memory_size) = self.tls_size {
            let address = VirtAddr(ADDED_DATA + 0x8000);
            file.tls(TlsSegment { address, file_size: 0, memory_size, align: 8 });
        }
        let parts: Vec<u8> = self.python.split('.').map(|part| part.parse().unwrap()).collect();
        if let [major, minor, micro] = parts[..]
            && minor >= 11
        {
            let at = VirtAddr(ADDED_DATA + 0x9000);
            let hex = u64::from(u32::from_be_bytes([major, minor, micro, 0xf0]));
            file.bytes(at, &hex.to_le_bytes());
            file.dynamic_symbol(SymbolSpec::object("Py_Version", at, 8));
        }
    }

    fn check(&self, report: &Report) {
        let name = &self.name;
        assert_eq!(report.status, Status::Resolved, "{name}: {:#?}", report.diagnoses);
        let runtime = self.has_runtime().then(|| VirtAddr(self.runtime()));
        let offset = self.runtime_offset;
        let key = self.key.or_else(|| Some(self.runtime() + offset?));
        if let Some(key) = key {
            let Some(Route::PthreadKey { key_address, runtime_offset, .. }) = report.routes.first()
            else {
                panic!("{name}: {:?}", report.routes);
            };
            assert_eq!(*key_address, VirtAddr(key), "{name}");
            assert_eq!(*runtime_offset, runtime.map(|runtime| key - runtime.0), "{name}");
        } else {
            let found = report.routes.iter().find_map(|route| match route {
                Route::ThreadLocal { module_offset, got_slot, tp_offset, .. } => {
                    Some((*module_offset, got_slot.map(|slot| slot.0), *tp_offset))
                }
                _ => None,
            });
            assert_eq!(found, Some((self.module_offset, self.got_slot, self.tp_offset)), "{name}");
        }
        for strategy in &report.strategies {
            let is_key = strategy.route.is_some_and(|route| {
                matches!(report.routes.get(route as usize), Some(Route::PthreadKey { .. }))
            });
            let Some(last) = strategy.trace.iter().rfind(|step| step.on_path) else { continue };
            assert!(
                !is_key || last.role == Some(StepRole::Sink),
                "{name}: {}: the way of the key ends at {last:?}",
                strategy.name
            );
        }
        for wanted in &self.strategies {
            let found = report.strategies.iter().find(|strategy| strategy.name == *wanted);
            let route = found.and_then(|strategy| strategy.route);
            assert_eq!(route, Some(0), "{name}: {wanted}: {found:#?}");
        }
        if let Some((reason, at)) = &self.first_write_fails {
            let found = report.baselines.iter().find(|baseline| baseline.name == "first-write");
            let found = found.map(|it| (it.outcome, it.reason.as_deref(), it.at));
            let expected = (BaselineOutcome::Fails, Some(reason.as_str()), Some(VirtAddr(*at)));
            assert_eq!(found, Some(expected), "{name}");
        }
        for code in &self.diagnoses {
            assert!(
                report.diagnoses.iter().any(|found| found.code == *code),
                "{name}: {code} is missing from {:?}",
                report.diagnoses
            );
        }
    }
}

/// The pages a file maps. What of them holds no bytes is zero, so that code
/// that was not reported is not made up.
#[derive(Default)]
struct Pages(BTreeMap<u64, Permissions>);

impl Pages {
    fn cover(&mut self, at: u64, size: u64, permissions: Permissions) {
        for page in at / PAGE..(at + size).div_ceil(PAGE) {
            let known = self.0.insert(page, permissions);
            assert!(known.is_none_or(|known| known == permissions), "code and data share {at:#x}");
        }
    }

    fn map(&self, file: &mut ElfBuilder) {
        let mut pages = self.0.iter().peekable();
        while let Some((first, permissions)) = pages.next() {
            let mut count = 1;
            while pages.next_if(|(page, p)| **page == first + count && *p == permissions).is_some()
            {
                count += 1;
            }
            file.map(VirtAddr(first * PAGE), count * PAGE, *permissions);
        }
    }
}

fn relative(from: u64, to: u64) -> [u8; 4] {
    i32::try_from(to.wrapping_sub(from).cast_signed()).expect("within reach").to_le_bytes()
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn hex(text: &str) -> Vec<u8> {
    let digits: String = text.split_whitespace().collect();
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal"))
        .collect()
}

#[test]
fn every_published_shape_is_resolved() {
    let cases: Cases = toml::from_str(include_str!("published/cases.toml")).unwrap();
    assert!(cases.case.len() > 20);
    for case in &cases.case {
        let options = Options { trace: true, ..Options::default() };
        case.check(&analyze(&case.build(Bodies::Written), &options));
        // Only its code tells that `PyThread_get_key_value`, which had no
        // `Py_tss_t` before 3.7, walks no list of its own.
        if case.has_runtime() {
            case.check(&analyze(&case.build(Bodies::Missing), &options));
        }
    }
}
