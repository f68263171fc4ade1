//! What published decoders answer on code from public reports. Expectations
//! follow from those decoders' own rules and from the reports, not from the
//! models under test.

use analyzer_core::{
    addr::VirtAddr,
    baselines,
    image::Image,
    report::{
        Arch, BaselineOutcome, BaselineResult, ImageKind, Reaches, Route, RuntimeFacts,
        RuntimeSource, Strength, TlsModel,
    },
    shrink::{ElfBuilder, Permissions, SymbolSpec},
};

const KEY_GETTER: &str = "PyGILState_GetThisThreadState";
const STATE_GETTER: &str = "_PyThreadState_GetCurrent";
const RUNTIME: u64 = 0x100_0000;
const CODE: u64 = 0x40_1000;

/// An image with one function, exported, and a `_PyRuntime`.
struct Built {
    arch: Arch,
    getter: &'static str,
    at: u64,
    code: Vec<u8>,
    runtime: u64,
    exported_runtime: bool,
}

impl Built {
    fn new(arch: Arch, getter: &'static str, at: u64, digits: &str) -> Self {
        let code = hex(digits);
        Self { arch, getter, at, code, runtime: RUNTIME, exported_runtime: true }
    }

    fn runtime(mut self, at: u64) -> Self {
        self.runtime = at;
        self
    }

    fn run(&self, truth: &[Route]) -> Vec<BaselineResult> {
        let size = 0x2_0000;
        let mut file = ElfBuilder::new(self.arch, ImageKind::Shared);
        file.map(VirtAddr(self.at & !0xfff), 0x2000, Permissions::CODE);
        file.map(VirtAddr(self.runtime & !0xfff), size + 0x1000, Permissions::DATA);
        file.bytes(VirtAddr(self.at), &self.code);
        let len = self.code.len() as u64;
        file.dynamic_symbol(SymbolSpec::function(self.getter, VirtAddr(self.at), len));
        let runtime = SymbolSpec::object("_PyRuntime", VirtAddr(self.runtime), size);
        if self.exported_runtime {
            file.dynamic_symbol(runtime);
        } else {
            file.static_symbol(runtime);
        }
        let bytes = file.build().expect("a file");
        let image = Image::parse(&bytes).expect("an image");
        let facts = RuntimeFacts {
            address: VirtAddr(self.runtime),
            size: Some(size),
            source: RuntimeSource::Symbol,
        };
        baselines::run(&image, truth, Some(&facts))
    }

    /// The result of one baseline, where the key is at `key`.
    fn key(&self, name: &str, key: u64) -> BaselineResult {
        named(&self.run(&[pthread_key(key)]), name)
    }

    /// The result of one baseline, where the variable is at `offset`.
    fn variable(&self, name: &str, offset: Option<i64>) -> BaselineResult {
        named(&self.run(&[thread_local(offset)]), name)
    }
}

fn named(results: &[BaselineResult], name: &str) -> BaselineResult {
    results.iter().find(|result| result.name == name).expect("a baseline").clone()
}

fn hex(digits: &str) -> Vec<u8> {
    let digits: String = digits.split_whitespace().collect();
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal"))
        .collect()
}

fn pthread_key(key: u64) -> Route {
    Route::PthreadKey {
        reaches: Reaches::Owned,
        key_address: VirtAddr(key),
        runtime_offset: None,
        strength: Strength::Corroborated,
    }
}

fn thread_local(tp_offset: Option<i64>) -> Route {
    Route::ThreadLocal {
        reaches: Reaches::Attached,
        model: if tp_offset.is_some() { TlsModel::LocalExec } else { TlsModel::GeneralDynamic },
        module_offset: Some(8),
        got_slot: None,
        slot_offset: None,
        tp_offset,
        strength: Strength::Single,
    }
}

fn right(result: &BaselineResult, value: u64) {
    assert_eq!(result.outcome, BaselineOutcome::Right, "{result:?}");
    assert_eq!(result.value, Some(VirtAddr(value)), "{result:?}");
    assert_eq!((&result.reason, result.at), (&None, None), "{result:?}");
}

fn wrong(result: &BaselineResult, value: u64, at: u64) {
    assert_eq!(result.outcome, BaselineOutcome::Wrong, "{result:?}");
    assert_eq!(result.value, Some(VirtAddr(value)), "{result:?}");
    assert_eq!(result.reason.as_deref(), Some("not-the-key"), "{result:?}");
    assert_eq!(result.at, Some(VirtAddr(at)), "{result:?}");
}

fn fails(result: &BaselineResult, reason: &str, at: Option<u64>) {
    assert_eq!(result.outcome, BaselineOutcome::Fails, "{result:?}");
    assert_eq!(result.reason.as_deref(), Some(reason), "{result:?}");
    assert_eq!(result.at, at.map(VirtAddr), "{result:?}");
    assert_eq!((result.value, result.tp_offset), (None, None), "{result:?}");
    assert!(result.detail.is_some(), "{result:?}");
}

/// Issue 251 of the OpenTelemetry profiler, first case: 3.12 without LTO.
#[test]
fn key_in_a_callee_saved_register() {
    let case = Built::new(
        Arch::X86_64,
        KEY_GETTER,
        0x29_c5d0,
        "48 8b 05 81 03 26 00  55  48 8d a8 08 06 00 00  48 89 ef  e8 c9 e9 e6 ff  85 c0  74 0d
         48 89 ef  5d  e9 8c 2a e7 ff  0f 1f 40 00  31 c0  5d  c3",
    );
    let key = RUNTIME + 0x60c;
    fails(&case.key("first-write", key), "source-is-register", Some(0x29_c5df));
    right(&case.key("symbolic-straight-line", key), key);
}

/// The same issue, second case: the 3.11 of google-cloud-sdk.
#[test]
fn offset_loaded_before_its_base() {
    let case = Built::new(
        Arch::X86_64,
        KEY_GETTER,
        0x37_7d20,
        "48 8b 05 61 9d 12 01  48 83 b8 48 02 00 00 00  74 11  bf 50 02 00 00
         48 03 3d 4b 9d 12 01  e9 5e 6e e9 ff  31 c0  c3",
    );
    let key = RUNTIME + 0x254;
    let first = case.key("first-write", key);
    fails(&first, "distance-check", Some(0x37_7d31));
    assert!(first.detail.expect("a detail").contains("0x250"));
    right(&case.key("symbolic-straight-line", key), key);
}

#[test]
fn shapes_both_key_decoders_know() {
    let key = RUNTIME + 0x24c;
    // mov rax, [_PyRuntime@got]; lea rdi, [rax+0x248]; jmp PyThread_tss_get
    let shared = "48 8b 05 00 00 20 00  48 8d b8 48 02 00 00  e9 00 00 00 00";
    // cmp qword ptr [_PyRuntime+0x240], 0; je; mov edi, [_PyRuntime+0x24c]; jmp
    let fixed = "48 83 3d 38 f2 bf 00 00  0f 84 00 00 00 00  8b 3d 38 f2 bf 00  e9 00 00 00 00";
    for digits in [shared, fixed] {
        let case = Built::new(Arch::X86_64, KEY_GETTER, CODE, digits);
        right(&case.key("first-write", key), key);
        right(&case.key("symbolic-straight-line", key), key);
    }
}

/// `-O0`: the first call takes the address of `_PyRuntime.gilstate`.
#[test]
fn first_call_is_another_one() {
    let case = Built::new(
        Arch::X86_64,
        KEY_GETTER,
        CODE,
        // push rbp; mov rbp, rsp; mov rax, [got]; add rax, 0x230; mov rdi, rax; call
        "55  48 89 e5  48 8b 05 00 00 20 00  48 05 30 02 00 00  48 89 c7  e8 00 00 00 00",
    );
    let key = RUNTIME + 0x24c;
    fails(&case.key("first-write", key), "source-is-register", Some(CODE + 17));
    wrong(&case.key("symbolic-straight-line", key), RUNTIME + 0x234, CODE + 17);
}

#[test]
fn what_is_not_followed() {
    let key = RUNTIME + 0x24c;
    // call __fentry__ first
    let profiled = Built::new(Arch::X86_64, KEY_GETTER, CODE, "e8 00 00 00 00  31 c0  c3");
    fails(&profiled.key("first-write", key), "call-before-write", Some(CODE));
    fails(&profiled.key("symbolic-straight-line", key), "argument-not-understood", Some(CODE));
    // sub rsp, 8; mov rdi, [rsp]; call
    let stack =
        Built::new(Arch::X86_64, KEY_GETTER, CODE, "48 83 ec 08  48 8b 3c 24  e8 00 00 00 00");
    fails(&stack.key("first-write", key), "source-not-understood", Some(CODE + 4));
    fails(&stack.key("symbolic-straight-line", key), "argument-not-understood", Some(CODE + 4));
    // xor eax, eax; ret
    let none = Built::new(Arch::X86_64, KEY_GETTER, CODE, "31 c0  c3");
    fails(&none.key("first-write", key), "code-ends", Some(CODE + 3));
    fails(&none.key("symbolic-straight-line", key), "code-ends", Some(CODE + 3));
    // lea rdi, [rip+odd]; jmp
    let odd = Built::new(Arch::X86_64, KEY_GETTER, CODE, "48 8d 3d 00 00 00 00  e9 00 00 00 00");
    fails(&odd.key("first-write", key), "misaligned", Some(CODE));
}

#[test]
fn symbols_have_to_be_dynamic() {
    let mut case = Built::new(Arch::X86_64, KEY_GETTER, CODE, "bf 4c 02 00 01  e9 00 00 00 00");
    right(&case.key("first-write", RUNTIME + 0x24c), RUNTIME + 0x24c);
    case.exported_runtime = false;
    fails(&case.key("first-write", RUNTIME + 0x24c), "no-runtime-symbol", None);
    let other = Built::new(Arch::X86_64, STATE_GETTER, CODE, "c3");
    fails(&other.key("symbolic-straight-line", RUNTIME), "no-entry-symbol", None);
}

#[test]
fn an_answer_without_truth_is_unverified() {
    let case = Built::new(Arch::X86_64, KEY_GETTER, CODE, "bf 4c 02 00 01  e9 00 00 00 00");
    let result = named(&case.run(&[]), "first-write");
    assert_eq!(result.outcome, BaselineOutcome::Unverified);
    assert_eq!(result.value, Some(VirtAddr(RUNTIME + 0x24c)));
}

#[test]
fn first_fs_load() {
    let run = |digits, truth| {
        Built::new(Arch::X86_64, STATE_GETTER, CODE, digits).variable("first-fs-load", truth)
    };
    // Local-exec.
    let direct = run("f3 0f 1e fa  64 48 8b 04 25 f8 ff ff ff  c3", Some(-8));
    assert_eq!((direct.outcome, direct.tp_offset), (BaselineOutcome::Right, Some(-8)));
    // Relaxed from general-dynamic: fs:0; lea -0x30; load.
    let relaxed = "64 48 8b 04 25 00 00 00 00  48 8d 80 d0 ff ff ff  48 8b 00  c3";
    fails(&run(relaxed, Some(-0x30)), "offset-not-in-load", Some(CODE));
    // Initial-exec.
    let initial_exec = "48 8b 05 00 00 20 00  64 48 8b 00  c3";
    fails(&run(initial_exec, None), "offset-not-in-load", Some(CODE + 7));
    // General-dynamic.
    let dynamic = "48 83 ec 08  66 48 8d 3d 00 00 20 00  66 66 48 e8 00 00 00 00  48 8b 00  c3";
    fails(&run(dynamic, None), "no-fs-load", Some(CODE + 12));
    // The stack protector's canary comes first.
    let canary = run("64 48 8b 04 25 28 00 00 00  48 89 44 24 08  e8 00 00 00 00", None);
    assert_eq!((canary.outcome, canary.tp_offset), (BaselineOutcome::Wrong, Some(0x28)));
    assert_eq!(canary.reason.as_deref(), Some("offset-not-fixed"));
    assert_eq!(canary.at, Some(VirtAddr(CODE)));
}

#[test]
fn thread_local_baselines_need_such_a_route() {
    let case = Built::new(Arch::X86_64, STATE_GETTER, CODE, "c3");
    let result = case.key("first-fs-load", RUNTIME);
    assert_eq!(result.outcome, BaselineOutcome::NotApplicable);
    assert_eq!(result.reason.as_deref(), Some("no-thread-local-route"));
}

#[test]
fn last_argument_offset() {
    let run = |at, digits, runtime, key| {
        Built::new(Arch::Aarch64, KEY_GETTER, at, digits)
            .runtime(runtime)
            .key("last-argument-offset", key)
    };
    // Amazon Linux 3.7: adrp; ldr x2; ldr x1; cbz x1; add x0, x2, #0x5f0; b
    let shared = "600c00f0 02d443f9 41f442f9 610000b4 40c01791 fb030014 c0035fd6";
    right(&run(CODE, shared, RUNTIME, RUNTIME + 0x5f4), RUNTIME + 0x5f4);
    // Debian 11, 3.9: x3 is x2 + 0x10, and the load adds 0x25c.
    let split = "600c00f0 02002291 43400091 413041f9 610000b4 605c42b9 fa030014 c0035fd6";
    wrong(&run(CODE, split, 0x59_0890, 0x59_0aec), 0x59_0afc, CODE + 20);
    // Debian 12, 3.11 at fixed addresses: the page offset counts as an offset.
    let fixed = "202e0090 00e03f91 012c41f9 610000b4 006442b9 aab9fe17 000080d2 c0035fd6";
    fails(&run(0x47_14a4, fixed, 0xa3_5ff8, 0xa3_625c), "distance-check", Some(0x47_14b4));
    // 3.12: the key stays in x19 across a call.
    let saved = "fd7bbea9 fd030091 f30b00f9 730c00f0 73d643f9 73621891 e00313aa f9030094
                 a0000034 e00313aa f30b40f9 fd7bc2a8 f8030014 c0035fd6";
    let result = run(CODE, saved, RUNTIME, RUNTIME + 0x61c);
    fails(&result, "argument-not-understood", Some(CODE + 36));
}

#[test]
fn first_thread_pointer_offset() {
    let run = |digits, truth| {
        Built::new(Arch::Aarch64, STATE_GETTER, CODE, digits)
            .variable("first-thread-pointer-offset", truth)
    };
    // mrs; add #0, lsl #12; add #0x10; ldr
    let pair = run("40d03bd5 00004091 00400091 000040f9 c0035fd6", Some(0x10));
    assert_eq!((pair.outcome, pair.tp_offset), (BaselineOutcome::Right, Some(0x10)));
    // mrs; add #1, lsl #12; add #0x10; ldr: the shift is dropped.
    let far = run("40d03bd5 00044091 00400091 000040f9 c0035fd6", Some(0x1010));
    assert_eq!((far.outcome, far.tp_offset), (BaselineOutcome::Wrong, Some(1)));
    assert_eq!(far.at, Some(VirtAddr(CODE + 4)));
    // mrs; add #0x50; ldr [#8]: the load's displacement is not seen.
    let behind = run("42d03bd5 43400191 600440f9 c0035fd6", Some(0x58));
    assert_eq!((behind.outcome, behind.tp_offset), (BaselineOutcome::Wrong, Some(0x50)));
    assert_eq!(behind.reason.as_deref(), Some("not-the-variable"));
    // A TLS descriptor.
    let descriptor = "fd7bbfa9 600c00f0 010840f9 00400091 20003fd6 41d03bd5 206860f8
                      fd7bc1a8 c0035fd6";
    fails(&run(descriptor, None), "offset-not-added", Some(CODE + 20));
    // b to itself ends.
    fails(&run("00000014 c0035fd6", None), "no-thread-pointer", None);
}

#[test]
fn symbols_only() {
    let names = ["autoTLSkey", "_PyThreadState_Current", "gil_locked", "gil_last_holder"];
    let run = |names: &[&str]| {
        let mut file = ElfBuilder::new(Arch::X86_64, ImageKind::Shared);
        file.map(VirtAddr(RUNTIME), 0x1000, Permissions::DATA);
        file.symbol_table();
        for (index, name) in (0u64..).zip(names) {
            file.static_symbol(SymbolSpec::object(name, VirtAddr(RUNTIME + 8 * index), 8).local());
        }
        let bytes = file.build().expect("a file");
        let image = Image::parse(&bytes).expect("an image");
        named(&baselines::run(&image, &[pthread_key(RUNTIME)], None), "symbols-only")
    };
    right(&run(&names), RUNTIME);
    fails(&run(&names[..3]), "symbol-missing", None);
    let renamed = ["autoTLSkey.lto_priv.0", names[1], names[2], names[3]];
    let result = run(&renamed);
    fails(&result, "symbol-missing", None);
    assert!(result.detail.expect("a detail").contains("autoTLSkey"));
}
