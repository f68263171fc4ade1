//! Read by hand and as `serde` derives it, every part of a report is the same.

use analyzer_core::report::SCHEMA;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::*;

fn same<T: Read + Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(values: &[T]) {
    for value in values {
        let text = serde_json::to_string(value).unwrap();
        let json = serde_json::from_str(&text).unwrap();
        assert_eq!(T::read(json).as_ref(), Ok(value), "{text}");
    }
}

#[test]
fn every_word_is_known() {
    use {BaselineOutcome as B, Flavour as F, ImageKind as K, Status as S, TlsModel as T};
    same(&[
        S::Resolved,
        S::Conflict,
        S::Unresolved,
        S::Launcher,
        S::NotPython,
        S::Unsupported,
        S::NotElf,
        S::Damaged,
    ]);
    same(&[Arch::X86_64, Arch::Aarch64]);
    same(&[K::Shared, K::Pie, K::Executable, K::Relocatable, K::Core, K::Other]);
    same(&[Libc::Glibc, Libc::Musl]);
    same(&[F::Release, F::Debug, F::FreeThreaded, F::FreeThreadedDebug]);
    same(&[
        RuntimeSource::Symbol,
        RuntimeSource::Section,
        RuntimeSource::Cookie,
        RuntimeSource::Code,
    ]);
    same(&[Reaches::Owned, Reaches::Attached, Reaches::Holder]);
    same(&[Strength::Corroborated, Strength::Single, Strength::Contested]);
    same(&[T::LocalExec, T::InitialExec, T::GeneralDynamic, T::LocalDynamic, T::Descriptor]);
    same(&[LayoutSource::DebugOffsets, LayoutSource::Table, LayoutSource::Unknown]);
    same(&[Outcome::Route, Outcome::None, Outcome::NotApplicable]);
    same(&[
        StepRole::Branch,
        StepRole::FollowedCall,
        StepRole::SkippedCall,
        StepRole::Sink,
        StepRole::Return,
    ]);
    same(&[B::Right, B::Wrong, B::Fails, B::Unverified, B::NotApplicable]);
}

fn whole() -> Report {
    let at = VirtAddr(u64::MAX);
    let text = || "a \"text\" — with a\nline".to_owned();
    Report {
        schema: SCHEMA.into(),
        file: FileFacts {
            path: text(),
            size: u64::MAX,
            build_id: Some("00ff".into()),
            reproducer: true,
        },
        status: Status::Resolved,
        image: Some(ImageFacts {
            arch: Arch::Aarch64,
            kind: ImageKind::Pie,
            stripped: true,
            section_headers: false,
            soname: None,
            needed: vec![text(), text()],
            interpreter: Some(text()),
            debug_link: None,
            libc: Some(Libc::Musl),
            tls: Some(TlsSegment { address: at, file_size: 1, memory_size: 2, align: 1 << 60 }),
        }),
        python: Some(PythonFacts {
            version: Some("3.13.0".into()),
            flavour: Flavour::Debug,
            flavour_evidence: vec![text()],
            version_sources: vec![VersionSource { source: text(), value: text() }],
        }),
        runtime: Some(RuntimeFacts { address: at, size: None, source: RuntimeSource::Code }),
        routes: vec![
            Route::PthreadKey {
                reaches: Reaches::Owned,
                key_address: at,
                runtime_offset: Some(0x60c),
                strength: Strength::Single,
            },
            Route::ThreadLocal {
                reaches: Reaches::Attached,
                model: TlsModel::Descriptor,
                module_offset: Some(1),
                got_slot: Some(at),
                slot_offset: None,
                tp_offset: Some(i64::MIN),
                strength: Strength::Contested,
            },
            Route::Global {
                reaches: Reaches::Holder,
                address: at,
                runtime_offset: None,
                strength: Strength::Corroborated,
            },
        ],
        preference: Some(text()),
        gil: Some(GilFacts::Statics { locked: None, last_holder: Some(at) }),
        layout: Some(LayoutFacts {
            source: LayoutSource::Table,
            members: vec![LayoutMember { structure: text(), member: text(), offset: 8 }],
            note: None,
        }),
        eval_loop: vec![CodeRange { start: at, end: at, part: text(), source: text() }],
        libc: Some(LibcFacts {
            libc: Libc::Glibc,
            version: None,
            thread_data: Some(ThreadData::Array { pointer: -8 }),
            sources: vec![],
            dtv: Some(Dtv { pointer: -16, entry_size: 16 }),
            link_map_tls_offset: Some(1),
            link_map_tls_modid: None,
        }),
        strategies: vec![StrategyResult {
            name: text(),
            outcome: Outcome::Route,
            route: Some(0),
            reason: None,
            detail: Some(text()),
            trace: vec![Step {
                address: at,
                bytes: "c3".into(),
                text: "ret".into(),
                depth: 1,
                function: Some(text()),
                effects: vec![Effect { place: text(), value: text() }],
                role: Some(StepRole::Return),
                on_path: true,
                origins: vec![0, 3],
            }],
        }],
        baselines: vec![BaselineResult {
            name: text(),
            outcome: BaselineOutcome::Fails,
            reason: Some(text()),
            detail: None,
            at: Some(at),
            value: None,
            tp_offset: Some(-1),
        }],
        diagnoses: vec![Diagnosis { code: text(), title: text(), detail: text(), remedy: text() }],
    }
}

#[test]
fn every_member_is_read() {
    let whole = whole();
    let text = serde_json::to_string(&whole).unwrap();
    assert_eq!(report(&text).as_ref(), Ok(&whole));
    same(&[
        GilFacts::Runtime { locked: VirtAddr(1), last_holder: VirtAddr(2) },
        GilFacts::Interpreter { gil_pointer: 1, locked: 2, last_holder: 3, optional: true },
    ]);
    same(&[ThreadData::TwoLevel {
        first_block: -1,
        blocks: 2,
        block_keys: 3,
        slot_size: 4,
        value_offset: 5,
    }]);
}

#[test]
fn the_member_at_fault_is_named() {
    let text = serde_json::to_string(&whole()).unwrap();
    for (from, to, named) in [
        ("\"resolved\"", "\"settled\"", "`status`"),
        ("\"stripped\":true", "\"stripped\":1", "`stripped`"),
        ("\"kind\":\"global\"", "\"kind\":\"else\"", "`kind`"),
        ("\"depth\":1", "\"depth\":-1", "`depth`"),
        ("\"schema\":", "\"other\":", "`schema`"),
        (",\"origins\":[0,3]", "", ""),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text);
        match report(&changed) {
            Ok(report) => assert_eq!((named, report.strategies[0].trace[0].origins.len()), ("", 0)),
            Err(message) => assert!(message.starts_with(named), "{message}"),
        }
    }
    // What a later version adds is passed over.
    let more = text.replacen('{', "{\"later\":{\"a\":[1.5,null]},", 1);
    assert!(report(&more).is_ok());
    assert!(report("").is_err());
}
