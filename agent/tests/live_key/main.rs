//! The live check: what `keyhole inspect` says of a Python must be what a
//! running process of it has, in every thread, with the GIL held and
//! released, and with pthread keys made before Python made its own.
//!
//! Every Python found on the machine is tried; none is required. More can be
//! given in root folders (see [`pythons::all`]), also for aarch64, which runs
//! in an emulator.

mod image;
mod preload;
mod process;
mod pythons;
mod report;
mod route;
mod storage;
mod target;

use analyzer_core::report::{Reaches, Report, Route};

use preload::Preloads;
use storage::Thread;
use target::{Facts, PHASES, Phase, Said, Target};

/// Numbers of pthread keys made before Python starts: none, a few, and more
/// than glibc keeps in a thread's first block.
const KEYS: [u32; 3] = [0, 3, 40];

#[test]
fn routes_lead_to_the_true_state_whatever_keys_were_made_before() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let preloads = Preloads::in_folder(folder.path());
    let mut failures = Vec::new();
    let pythons = pythons::all();
    for python in &pythons {
        match preloads.of(python) {
            Ok(preload) => {
                for keys in KEYS {
                    let name = format!("{}, {keys} keys made before", python.name());
                    let target = Target::start(python, Some(preload), keys);
                    note(&mut failures, &name, target.and_then(|target| check(&target, keys)));
                }
            }
            Err(reason) => {
                eprintln!("{}: no keys made before, {reason}", python.name());
                let target = Target::start(python, None, 0);
                note(&mut failures, &python.name(), target.and_then(|target| check(&target, 0)));
            }
        }
    }
    close(&failures, pythons.len());
}

#[test]
fn routes_lead_to_the_true_state_in_a_libpython_loaded_late() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let preloads = Preloads::in_folder(folder.path());
    let mut failures = Vec::new();
    let mut tried = 0;
    for python in pythons::all() {
        let Some(library) = python.library() else { continue };
        let preload = match preloads.of(&python) {
            Ok(preload) => preload,
            Err(reason) => {
                eprintln!("{}: skipped, {reason}", library.path.display());
                continue;
            }
        };
        tried += 1;
        for keys in KEYS {
            let name = format!("{} late, {keys} keys before", library.path.display());
            let target = Target::start_late(&python, &library, preload, keys);
            note(&mut failures, &name, target.and_then(|target| check(&target, keys)));
        }
    }
    close(&failures, tried);
}

fn note(failures: &mut Vec<String>, name: &str, result: Result<String, String>) {
    match result {
        Ok(what) => eprintln!("{name}: {what}"),
        Err(reason) => failures.push(format!("{name}: {reason}")),
    }
}

fn close(failures: &[String], tried: usize) {
    eprintln!("{tried} Pythons tried");
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

/// Checks every route of the running Python in every phase. Returns in words
/// what was checked.
fn check(target: &Target, keys: u32) -> Result<String, String> {
    let (path, report) = report::of_runtime_image(&target.process)?;
    let mappings: Vec<_> = target
        .process
        .mappings()
        .map_err(|error| error.to_string())?
        .into_iter()
        .filter(|mapping| mapping.path == path)
        .collect();
    let bias = image::load_bias(&target.process.file(&path), &mappings)?;
    let said = target.said.clone();
    require_routes(&report, &said.python)?;
    if said.main.owned != said.main.attached || said.other.owned != said.other.attached {
        return Err(format!("the interpreter contradicts itself: {said:?}"));
    }
    if let Some(Route::PthreadKey { key_address, .. }) =
        report.routes.iter().find(|route| matches!(route, Route::PthreadKey { .. }))
    {
        let key = target.process.int(bias.wrapping_add(key_address.0));
        let key = key.map_err(|error| error.to_string())?;
        if u32::try_from(key).map_or(true, |key| key < keys) {
            return Err(format!("key {key} at {key_address}, with {keys} made before"));
        }
    }
    for phase in PHASES {
        target.enter(phase)?;
        let holder = match phase {
            Phase::Released => 0,
            Phase::MainHolds => said.main.owned,
            Phase::OtherHolds => said.other.owned,
        };
        for (who, facts, holds) in [
            ("main thread", said.main, phase == Phase::MainHolds),
            ("other thread", said.other, phase == Phase::OtherHolds),
        ] {
            for route in &report.routes {
                let expected = expected(route, facts, holds, holder);
                let found = route::follow(route, &target.process, bias, thread(facts, &said)?)
                    .map_err(|error| format!("{route:?}, {who}: {error}"))?;
                if found != expected {
                    return Err(format!(
                        "{route:?}, {who}, {phase:?}: {found:#x} instead of {expected:#x}"
                    ));
                }
            }
        }
    }
    Ok(format!("{} routes of {} hold", report.routes.len(), said.python))
}

/// What the route has to yield for a thread.
fn expected(route: &Route, facts: Facts, holds: bool, holder: u64) -> u64 {
    let (Route::PthreadKey { reaches, .. }
    | Route::ThreadLocal { reaches, .. }
    | Route::Global { reaches, .. }) = route;
    match reaches {
        Reaches::Owned => facts.owned,
        Reaches::Attached => {
            if holds {
                facts.attached
            } else {
                0
            }
        }
        Reaches::Holder => holder,
    }
}

/// The routes that a version has must be in the report.
fn require_routes(report: &Report, version: &str) -> Result<(), String> {
    let numbers: Vec<u32> = version.split('.').filter_map(|part| part.parse().ok()).collect();
    let version = (numbers[0], numbers[1]);
    let has = |wanted: fn(&Route) -> bool| report.routes.iter().any(wanted);
    let key = has(|route| matches!(route, Route::PthreadKey { .. }));
    let global = has(|route| matches!(route, Route::Global { .. }));
    let attached =
        has(|route| matches!(route, Route::ThreadLocal { reaches: Reaches::Attached, .. }));
    let owned = has(|route| matches!(route, Route::ThreadLocal { reaches: Reaches::Owned, .. }));
    for (what, has, should) in [
        ("a pthread key", key, ((3, 3)..=(3, 14)).contains(&version)),
        ("a global", global, version <= (3, 11)),
        ("an attached thread-local", attached, version >= (3, 12)),
        ("an owned thread-local", owned, version >= (3, 15)),
    ] {
        if has != should {
            return Err(format!(
                "the report {} {what} for {version:?}",
                if has { "has" } else { "lacks" }
            ));
        }
    }
    Ok(())
}

fn thread(facts: Facts, said: &Said) -> Result<Thread, String> {
    let minor = said.glibc.split('.').nth(1).and_then(|minor| minor.parse().ok());
    Ok(Thread {
        pointer: facts.thread_pointer,
        aarch64: said.machine == "aarch64",
        glibc: minor.ok_or_else(|| format!("no version of glibc: {}", said.glibc))?,
    })
}
