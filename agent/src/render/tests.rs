//! Renderings compared with the files in `golden/`; `UPDATE_EXPECT=1` (or
//! `cargo xtask test-update`) rewrites them.

use analyzer_core::{
    addr::VirtAddr,
    container,
    diagnosis::{self, Code},
    report::{
        Arch, BaselineOutcome, BaselineResult, Effect, FileFacts, Flavour, ImageFacts, ImageKind,
        Libc, Outcome, PythonFacts, Reaches, Report, Route, RuntimeFacts, RuntimeSource, SCHEMA,
        Status, Step, StepRole, StrategyResult, Strength, TlsModel, VersionSource,
    },
};
use expect_test::expect_file;

use super::{Format, Page, Process, Subject};

const PAGE: Page = Page { width: 90, trace: true };

fn empty(path: &str, status: Status) -> Report {
    Report {
        schema: SCHEMA.into(),
        file: FileFacts { path: path.into(), size: 30_431_088, build_id: None, reproducer: false },
        status,
        image: None,
        python: None,
        runtime: None,
        routes: Vec::new(),
        preference: None,
        gil: None,
        layout: None,
        eval_loop: Vec::new(),
        libc: None,
        strategies: Vec::new(),
        baselines: Vec::new(),
        diagnoses: Vec::new(),
    }
}

fn step(
    address: u64,
    bytes: &str,
    text: &str,
    effects: &[(&str, &str)],
    role: Option<StepRole>,
) -> Step {
    Step {
        address: VirtAddr(address),
        bytes: bytes.into(),
        text: text.into(),
        depth: 0,
        function: Some("PyGILState_GetThisThreadState".into()),
        effects: effects
            .iter()
            .map(|&(place, value)| Effect { place: place.into(), value: value.into() })
            .collect(),
        role,
        on_path: !matches!(role, Some(StepRole::Branch)),
        origins: Vec::new(),
    }
}

/// A shared 3.12 without link-time optimization.
fn resolved() -> Report {
    let mut report = empty("/opt/python/lib/libpython3.12.so.1.0", Status::Resolved);
    report.file.build_id = Some("f9d5c82f5f2c22df".into());
    report.image = Some(ImageFacts {
        arch: Arch::X86_64,
        kind: ImageKind::Shared,
        stripped: true,
        section_headers: true,
        soname: Some("libpython3.12.so.1.0".into()),
        needed: vec!["libc.so.6".into()],
        interpreter: None,
        debug_link: None,
        libc: Some(Libc::Glibc),
        tls: None,
    });
    report.python = Some(PythonFacts {
        version: Some("3.12.1".into()),
        flavour: Flavour::Release,
        flavour_evidence: Vec::new(),
        version_sources: vec![VersionSource {
            source: "Py_Version".into(),
            value: "3.12.1".into(),
        }],
    });
    report.runtime = Some(RuntimeFacts {
        address: VirtAddr(0x64_3340),
        size: Some(459_944),
        source: RuntimeSource::Symbol,
    });
    report.routes = vec![
        Route::PthreadKey {
            reaches: Reaches::Owned,
            key_address: VirtAddr(0x64_394c),
            runtime_offset: Some(0x60c),
            strength: Strength::Corroborated,
        },
        Route::ThreadLocal {
            reaches: Reaches::Attached,
            model: TlsModel::GeneralDynamic,
            module_offset: Some(8),
            got_slot: Some(VirtAddr(0x54_3ef0)),
            slot_offset: None,
            tp_offset: None,
            strength: Strength::Single,
        },
    ];
    report.preference =
        Some("The first route also finds threads that have released the GIL.".into());
    let strategy = |name: &str, outcome, route, detail: Option<&str>| StrategyResult {
        name: name.into(),
        outcome,
        route,
        reason: None,
        detail: detail.map(Into::into),
        trace: Vec::new(),
    };
    report.strategies = vec![
        strategy("dataflow:PyGILState_GetThisThreadState", Outcome::Route, Some(0), None),
        strategy(
            "known-offset:autoTSSkey",
            Outcome::Route,
            Some(0),
            Some("verified offset of CPython 3.12.1"),
        ),
        strategy("dataflow:_PyThreadState_GetCurrent", Outcome::Route, Some(1), None),
        strategy(
            "symbol:autoTLSkey",
            Outcome::NotApplicable,
            None,
            Some("the file does not define this symbol"),
        ),
        strategy(
            "symbol:_Py_tss_tstate",
            Outcome::NotApplicable,
            None,
            Some("the file does not define this symbol"),
        ),
        strategy(
            "dataflow:PyGILState_Check",
            Outcome::None,
            None,
            Some(
                "two calls take different arguments, and nothing tells which of them is the one that counts",
            ),
        ),
    ];
    report.strategies[0].trace = vec![
        step(0x2d_7c30, "488b05c9c02600", "mov rax, [0x543d00]", &[("rax", "&_PyRuntime")], None),
        step(0x2d_7c37, "53", "push rbx", &[("[sp-0x8]", "entry rbx")], None),
        step(
            0x2d_7c38,
            "488d9808060000",
            "lea rbx, [rax+0x608]",
            &[("rbx", "&_PyRuntime+0x608")],
            None,
        ),
        step(0x2d_7c3f, "4889df", "mov rdi, rbx", &[("rdi", "&_PyRuntime+0x608")], None),
        step(
            0x2d_7c42,
            "e8d921e3ff",
            "call PyThread_tss_is_created@plt",
            &[("rax", "?")],
            Some(StepRole::Sink),
        ),
        step(0x2d_7c49, "740d", "je +0x28", &[], Some(StepRole::Branch)),
    ];
    report.baselines = vec![
        BaselineResult {
            name: "first-write".into(),
            outcome: BaselineOutcome::Fails,
            reason: Some("source-is-register".into()),
            detail: Some("the argument is copied from rbx, which it does not follow".into()),
            at: Some(VirtAddr(0x2d_7c3f)),
            value: None,
            tp_offset: None,
        },
        BaselineResult {
            name: "symbolic-straight-line".into(),
            outcome: BaselineOutcome::Right,
            reason: None,
            detail: None,
            at: None,
            value: Some(VirtAddr(0x64_394c)),
            tp_offset: None,
        },
    ];
    report.diagnoses = vec![diagnosis::new(
        Code::KeyInCalleeSavedRegister,
        "In PyGILState_GetThisThreadState the argument is copied from rbx at 0x2d7c3f.",
    )];
    report
}

fn launcher() -> Report {
    let mut report = empty("/usr/bin/python3.12", Status::Launcher);
    report.file.size = 15_936;
    report.image = resolved().image.map(|image| ImageFacts {
        kind: ImageKind::Pie,
        needed: vec!["libpython3.12.so.1.0".into(), "libc.so.6".into()],
        ..image
    });
    report.diagnoses = vec![diagnosis::new(Code::Launcher, "It needs libpython3.12.so.1.0.")];
    report
}

fn not_elf() -> Report {
    let mut report = empty("pip\u{1b}[31m3", Status::NotElf);
    report.file.size = 220;
    report.diagnoses.extend(container::sniff(b"#!/usr/bin/python3\n").diagnosis());
    report
}

fn rendered(format: Format, report: &Report, processes: &[Process]) -> String {
    let text = format.render(Subject { report, processes }, PAGE).expect("rendered");
    anstream::adapter::strip_str(&text).to_string()
}

#[test]
fn text() {
    let processes =
        [Process { pid: 4711, name: Some("gunicorn".into()) }, Process { pid: 4712, name: None }];
    let text = [
        rendered(Format::Text, &resolved(), &processes),
        rendered(Format::Text, &launcher(), &[]),
        rendered(Format::Text, &not_elf(), &[]),
    ];
    expect_file!["golden/text.txt"].assert_eq(&text.join("\n\n"));
}

#[test]
fn brief() {
    let text =
        [&resolved(), &launcher(), &not_elf()].map(|report| rendered(Format::Brief, report, &[]));
    expect_file!["golden/brief.txt"].assert_eq(&text.concat());
}

#[test]
fn markdown() {
    let text = [
        Format::Markdown
            .render(Subject { report: &resolved(), processes: &[] }, PAGE)
            .expect("rendered"),
        Format::Markdown
            .render(Subject { report: &not_elf(), processes: &[] }, PAGE)
            .expect("rendered"),
    ];
    assert!(!text.concat().contains('\u{1b}'));
    expect_file!["golden/report.md"].assert_eq(&text.join("\n"));
}

#[test]
fn json_is_the_report_on_one_line() {
    let report = resolved();
    let text = rendered(Format::Json, &report, &[]);
    assert_eq!(text.matches('\n').count(), 1);
    assert_eq!(serde_json::from_str::<Report>(&text).expect("a report"), report);
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(value["routes"][0]["key_address"], "0x64394c");
    assert!(value.get("processes").is_none());

    let processes = [Process { pid: 1, name: Some("init".into()) }];
    let value: serde_json::Value =
        serde_json::from_str(&rendered(Format::Json, &report, &processes)).expect("JSON");
    assert_eq!(value["processes"][0]["pid"], 1);
    assert_eq!(value["schema"], SCHEMA);
}

#[test]
fn styles_only_repeat_words() {
    let subject = Subject { report: &resolved(), processes: &[] };
    let styled = Format::Text.render(subject, PAGE).expect("rendered");
    assert!(styled.contains('\u{1b}'));
    assert!(styled.lines().all(|line| !line.ends_with(' ')));
    let stripped = anstream::adapter::strip_str(&styled).to_string();
    assert!(stripped.lines().all(|line| !line.ends_with(' ')), "{stripped}");
}
