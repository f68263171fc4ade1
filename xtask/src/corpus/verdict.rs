//! Compares a report with the truth.

use super::manifest::{LibcTruth, Place, ThreadLocal, TlsWay, Truth};
use super::report::{Libc, Report, Route, ThreadData};

/// How a report stands against the truth, worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// Everything that is true is said, and nothing else.
    Right,
    /// Something true is not said.
    Missed,
    /// Something untrue is said.
    Wrong,
    /// There is no report.
    NoReport,
}

impl Outcome {
    /// The word for it in tables.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Missed => "missed",
            Self::Wrong => "wrong",
            Self::NoReport => "no report",
        }
    }
}

/// The outcome, what is not right, and what is worth saying.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) outcome: Outcome,
    pub(crate) findings: Vec<String>,
}

impl Verdict {
    fn note(&mut self, what: impl Into<String>) {
        self.findings.push(what.into());
    }

    fn missed(&mut self, what: impl Into<String>) {
        self.outcome = self.outcome.max(Outcome::Missed);
        self.findings.push(format!("missed: {}", what.into()));
    }

    /// Adds something untrue that is said.
    pub(crate) fn wrong(&mut self, what: impl Into<String>) {
        self.outcome = self.outcome.max(Outcome::Wrong);
        self.findings.push(format!("wrong: {}", what.into()));
    }
}

/// Judges one report.
pub(crate) fn judge(truth: &Truth, report: Option<&Report>) -> Verdict {
    let mut verdict = Verdict { outcome: Outcome::Right, findings: Vec::new() };
    let Some(report) = report else {
        verdict.outcome = Outcome::NoReport;
        return verdict;
    };
    if report.status != truth.status {
        let text = format!("status {} instead of {}", report.status, truth.status);
        if report.status == "unresolved" { verdict.missed(text) } else { verdict.wrong(text) }
    }
    python(&mut verdict, truth, report);
    routes(&mut verdict, truth, report);
    match (&report.gil, &truth.gil) {
        (Some(said), Some(truth)) if !said.agrees(truth) => {
            verdict.wrong(format!("GIL {said:?} instead of {truth:?}"));
        }
        // Refused and said so: the offsets of this version are not verified.
        (None, Some(_)) if report.layout_is_unknown() => {
            verdict.note("says it does not know the layout, nor where the GIL is");
        }
        (None, Some(_)) => verdict.missed("where the GIL is"),
        _ => {}
    }
    match (&report.libc, &truth.libc) {
        (Some(said), Some(truth)) => libc(&mut verdict, truth, said),
        (None, Some(truth)) => verdict.missed(format!("that it is {}", truth.libc)),
        _ => {}
    }
    verdict
}

fn python(verdict: &mut Verdict, truth: &Truth, report: &Report) {
    let Some(true_version) = &truth.python else { return };
    let Some(said) = &report.python else {
        verdict.missed("that it is a Python");
        return;
    };
    match &said.version {
        None => verdict.missed("its version"),
        Some(version) if version == true_version => {}
        Some(version) if true_version.starts_with(&format!("{version}.")) => {
            verdict.missed(format!("its version beyond {version}"));
        }
        Some(version) => verdict.wrong(format!("version {version} instead of {true_version}")),
    }
    if let Some(flavour) = &truth.flavour
        && said.flavour != *flavour
    {
        verdict.wrong(format!("flavour {} instead of {flavour}", said.flavour));
    }
    if let Some(runtime) = &truth.runtime {
        match &report.runtime {
            None => verdict.missed("_PyRuntime"),
            Some(said) => {
                if said.address != runtime.address {
                    verdict.wrong(format!(
                        "_PyRuntime at {} instead of {}",
                        said.address, runtime.address
                    ));
                }
                if said.size.is_some_and(|size| size != runtime.size) {
                    verdict.wrong(format!(
                        "_PyRuntime of {:?} bytes instead of {}",
                        said.size, runtime.size
                    ));
                }
            }
        }
    }
}

fn routes(verdict: &mut Verdict, truth: &Truth, report: &Report) {
    let mut key_said = false;
    let mut global_said = false;
    let mut said_variables = Vec::new();
    for route in &report.routes {
        match route {
            Route::PthreadKey { key_address, runtime_offset } => {
                key_said = true;
                place(
                    verdict,
                    "pthread key",
                    truth.pthread_key.as_ref(),
                    key_address,
                    *runtime_offset,
                );
            }
            Route::Global { address, runtime_offset } => {
                global_said = true;
                place(verdict, "global", truth.global.as_ref(), address, *runtime_offset);
            }
            Route::ThreadLocal { reaches, .. } => {
                match truth.thread_local.iter().find(|variable| variable.reaches == *reaches) {
                    Some(variable) => {
                        said_variables.push(reaches.as_str());
                        thread_local(verdict, variable, route);
                    }
                    None => verdict.wrong(format!("a thread-local route to the {reaches} state")),
                }
            }
        }
    }
    if truth.pthread_key.is_some() && !key_said {
        verdict.missed("the pthread key");
    }
    if truth.global.is_some() && !global_said {
        verdict.missed("the global");
    }
    for variable in &truth.thread_local {
        if !said_variables.contains(&variable.reaches.as_str()) {
            verdict.missed(&variable.variable);
        }
    }
}

fn place(
    verdict: &mut Verdict,
    what: &str,
    truth: Option<&Place>,
    address: &str,
    runtime_offset: Option<u64>,
) {
    match truth {
        None => verdict.wrong(format!("a {what} at {address}")),
        Some(truth) => {
            if truth.address != address {
                verdict.wrong(format!("{what} at {address} instead of {}", truth.address));
            }
            if truth.runtime_offset != runtime_offset {
                verdict.wrong(format!(
                    "{what} at offset {runtime_offset:?} instead of {:?}",
                    truth.runtime_offset
                ));
            }
        }
    }
}

fn thread_local(verdict: &mut Verdict, truth: &ThreadLocal, said: &Route) {
    let Route::ThreadLocal { model, module_offset, got_slot, slot_offset, tp_offset, .. } = said
    else {
        return;
    };
    let name = &truth.variable;
    if *module_offset != Some(truth.module_offset) {
        verdict.wrong(format!(
            "{name} at module offset {module_offset:?} instead of {}",
            truth.module_offset
        ));
    }
    if *tp_offset != truth.tp_offset {
        verdict.wrong(format!(
            "{name} at thread-pointer offset {tp_offset:?} instead of {:?}",
            truth.tp_offset
        ));
    }
    let is_said = |way: &&TlsWay| {
        way.model == *model && way.got_slot == *got_slot && way.slot_offset == *slot_offset
    };
    if !truth.ways.iter().any(|way| is_said(&way)) {
        verdict.wrong(format!(
            "{name} by {model} through {got_slot:?} (+{slot_offset:?}), which is none of {:?}",
            truth.ways
        ));
    }
}

fn libc(verdict: &mut Verdict, truth: &LibcTruth, said: &Libc) {
    if said.libc != truth.libc {
        verdict.wrong(format!("{} instead of {}", said.libc, truth.libc));
    }
    let (slots, blocks) = match said.thread_data {
        Some(ThreadData::TwoLevel { first_block, blocks }) => (Some(first_block), Some(blocks)),
        Some(ThreadData::Array { pointer }) => (Some(pointer), None),
        None => (None, None),
    };
    for (what, said, truth) in [
        ("slots", slots, truth.slots),
        ("blocks", blocks, truth.blocks),
        ("DTV", said.dtv.as_ref().map(|dtv| dtv.pointer), truth.dtv),
        (
            "l_tls_offset",
            said.link_map_tls_offset.map(u64::cast_signed),
            truth.link_map_tls_offset.map(u64::cast_signed),
        ),
    ] {
        match (said, truth) {
            (Some(said), Some(truth)) if said != truth => {
                verdict.wrong(format!("{what} at {said} instead of {truth}"));
            }
            (Some(said), None) => {
                verdict.wrong(format!("{what} at {said}, which this file has not"));
            }
            (None, Some(_)) => verdict.missed(what),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::manifest::Runtime;
    use super::*;

    fn truth() -> Truth {
        Truth {
            status: "resolved".into(),
            python: Some("3.12.1".into()),
            flavour: Some("release".into()),
            runtime: Some(Runtime { address: "0x643340".into(), size: 459_944 }),
            pthread_key: Some(Place { address: "0x64394c".into(), runtime_offset: Some(1548) }),
            thread_local: vec![ThreadLocal {
                variable: "_Py_tss_tstate".into(),
                reaches: "attached".into(),
                module_offset: 8,
                tp_offset: None,
                ways: vec![TlsWay {
                    model: "general_dynamic".into(),
                    got_slot: Some("0x543ef0".into()),
                    slot_offset: None,
                }],
            }],
            ..Truth::default()
        }
    }

    const RIGHT: &str = r#"{"file": {"path": "x"}, "status": "resolved",
        "python": {"version": "3.12.1", "flavour": "release"},
        "runtime": {"address": "0x643340", "size": 459944, "source": "symbol"},
        "routes": [
            {"kind": "pthread_key", "reaches": "owned", "key_address": "0x64394c",
             "runtime_offset": 1548, "strength": "corroborated"},
            {"kind": "thread_local", "reaches": "attached", "model": "general_dynamic",
             "module_offset": 8, "got_slot": "0x543ef0", "tp_offset": null, "strength": "single"}],
        "gil": null, "libc": null, "baselines": []}"#;

    fn judged(report: &str) -> Verdict {
        judge(&truth(), Some(&serde_json::from_str(report).unwrap()))
    }

    #[test]
    fn a_true_report_is_right() {
        assert_eq!(judged(RIGHT), Verdict { outcome: Outcome::Right, findings: vec![] });
    }

    #[test]
    fn an_untrue_address_is_wrong() {
        assert_eq!(judged(&RIGHT.replace("0x64394c", "0x643948")).outcome, Outcome::Wrong);
        assert_eq!(judged(&RIGHT.replace("0x543ef0", "0x543a70")).outcome, Outcome::Wrong);
        assert_eq!(judged(&RIGHT.replace("3.12.1", "3.12.2")).outcome, Outcome::Wrong);
        let with_offset = RIGHT.replace("\"tp_offset\": null", "\"tp_offset\": -8");
        assert_eq!(judged(&with_offset).outcome, Outcome::Wrong);
    }

    #[test]
    fn a_route_the_build_does_not_have_is_wrong() {
        let with_global = RIGHT.replace(
            "\"routes\": [",
            "\"routes\": [{\"kind\": \"global\", \"reaches\": \"holder\", \"address\": \"0x10\", \"runtime_offset\": null},",
        );
        assert_eq!(judged(&with_global).outcome, Outcome::Wrong);
    }

    #[test]
    fn silence_is_a_miss() {
        let without = RIGHT.replace("\"3.12.1\"", "\"3.12\"");
        assert_eq!(judged(&without).outcome, Outcome::Missed);
        assert_eq!(judge(&truth(), None).outcome, Outcome::NoReport);
    }
}
