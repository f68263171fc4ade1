//! Compares a report with the truth.

use std::fmt;

use analyzer_core::report::{
    Arch as ReportArch, Flavour, ImageKind, Reaches, Report, Route, Status, StepRole, TlsModel,
};

use super::factors::{Arch, Kind, Post, Python};
use super::shape::Shape;
use super::truth::{Slot, ThreadLocal, Truth};

/// One thing that a report gets wrong or leaves out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Miss {
    /// Wrong or missing, and of what.
    pub(crate) kind: MissKind,
    /// In words, with what was expected.
    pub(crate) detail: String,
}

/// Kinds of misses, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MissKind {
    /// A route that leads elsewhere.
    WrongRoute,
    /// No route where one is possible.
    MissingRoute,
    /// Another fact of the report is wrong.
    WrongFact,
    /// Another fact is not there.
    MissingFact,
}

impl fmt::Display for MissKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WrongRoute => "wrong route",
            Self::MissingRoute => "no route",
            Self::WrongFact => "wrong fact",
            Self::MissingFact => "no fact",
        })
    }
}

/// Everything a report misses; empty when all of it is right.
pub(crate) fn judge(shape: &Shape, truth: &Truth, report: &Report) -> Vec<Miss> {
    let mut misses = Vec::new();
    routes(shape, truth, report, &mut misses);
    facts(shape, truth, report, &mut misses);
    ways(report, &mut misses);
    misses
}

/// Kinds of routes, to tell which are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Key,
    Global,
    Attached,
    Owned,
}

fn routes(shape: &Shape, truth: &Truth, report: &Report, misses: &mut Vec<Miss>) {
    let mut wanted = Vec::new();
    if truth.key.is_some() {
        wanted.push(Wanted::Key);
    }
    if truth.global.is_some() {
        wanted.push(Wanted::Global);
    }
    if truth.attached.is_some() {
        wanted.push(Wanted::Attached);
    }
    if truth.owned.is_some() {
        wanted.push(Wanted::Owned);
    }
    for route in &report.routes {
        let (which, wrong) = route_errors(truth, route);
        wanted.retain(|wanted| *wanted != which);
        if !wrong.is_empty() {
            misses.push(Miss {
                kind: MissKind::WrongRoute,
                detail: format!("{which:?}: {}", wrong.join("; ")),
            });
        }
    }
    if shape.unanswerable().is_some() {
        if !matches!(report.status, Status::Unresolved | Status::NotPython | Status::Resolved) {
            misses.push(Miss {
                kind: MissKind::WrongFact,
                detail: format!("status {:?} of a file without names", report.status),
            });
        }
        return;
    }
    for wanted in wanted {
        misses.push(Miss { kind: MissKind::MissingRoute, detail: format!("{wanted:?}") });
    }
    if report.status != Status::Resolved {
        misses.push(Miss {
            kind: MissKind::MissingRoute,
            detail: format!("status {:?}", report.status),
        });
    }
}

/// Which route it is, and what is wrong with it.
fn route_errors(truth: &Truth, route: &Route) -> (Wanted, Vec<String>) {
    let mut errors = Vec::new();
    let mut compare = |what: &str, seen: Option<u64>, right: Option<u64>| {
        if seen != right {
            errors.push(format!("{what} {}, right is {}", hex(seen), hex(right)));
        }
    };
    let in_runtime = |address: Option<u64>| Some(address?.wrapping_sub(truth.runtime?.0));
    match route {
        Route::PthreadKey { reaches, key_address, runtime_offset, .. } => {
            compare("key", Some(key_address.0), truth.key);
            compare("offset in _PyRuntime", *runtime_offset, in_runtime(truth.key));
            if *reaches != Reaches::Owned {
                errors.push(format!("reaches {reaches:?}"));
            }
            (Wanted::Key, errors)
        }
        Route::Global { reaches, address, runtime_offset, .. } => {
            compare("pointer", Some(address.0), truth.global);
            compare("offset in _PyRuntime", *runtime_offset, in_runtime(truth.global));
            if *reaches != Reaches::Holder {
                errors.push(format!("reaches {reaches:?}"));
            }
            (Wanted::Global, errors)
        }
        Route::ThreadLocal {
            reaches,
            model,
            module_offset,
            got_slot,
            slot_offset,
            tp_offset,
            ..
        } => {
            let (which, right) = match reaches {
                Reaches::Owned => (Wanted::Owned, truth.owned),
                _ => (Wanted::Attached, truth.attached),
            };
            if *reaches == Reaches::Holder {
                errors.push("reaches the holder".into());
            }
            let Some(right) = right else {
                errors.push("this Python keeps no such variable".into());
                return (which, errors);
            };
            if *module_offset != Some(right.offset) {
                errors.push(format!(
                    "module offset {}, right is {:#x}",
                    hex(*module_offset),
                    right.offset
                ));
            }
            errors.extend(access_errors(
                truth,
                right,
                *model,
                got_slot.map(|slot| (slot.0, *slot_offset)),
                *tp_offset,
            ));
            (which, errors)
        }
    }
}

/// Whether the model, the slot and the thread-pointer offset are those of
/// this variable.
fn access_errors(
    truth: &Truth,
    right: ThreadLocal,
    model: TlsModel,
    slot: Option<(u64, Option<u64>)>,
    tp_offset: Option<i64>,
) -> Vec<String> {
    let mut errors = Vec::new();
    if model == TlsModel::LocalExec {
        if slot.is_some() {
            errors.push("local-exec with a GOT slot".into());
        }
        if tp_offset.is_none() || tp_offset != right.tp_offset {
            errors.push(format!(
                "thread-pointer offset {tp_offset:?}, right is {:?}",
                right.tp_offset
            ));
        }
        return errors;
    }
    if tp_offset.is_some() && tp_offset != right.tp_offset {
        errors.push(format!("thread-pointer offset {tp_offset:?}, right is {:?}", right.tp_offset));
    }
    let Some((slot, slot_offset)) = slot else {
        errors.push(format!("{model:?} without a GOT slot"));
        return errors;
    };
    let found = truth.slots.get(&slot).copied();
    let fits = match (model, found) {
        // The slot may be another variable's, or the whole module's: the
        // report then says whose, and the code adds the difference.
        (TlsModel::InitialExec, Some(Slot::ThreadPointerOffset(offset)))
        | (TlsModel::Descriptor, Some(Slot::Descriptor(offset))) => Some(offset) == slot_offset,
        (TlsModel::GeneralDynamic, Some(Slot::ModuleAndOffset(offset))) => offset == right.offset,
        // The second word is the variable's offset less what the code adds.
        (TlsModel::LocalDynamic, Some(Slot::ModuleAndOffset(_))) => true,
        // A program's own variable: the linker fills the words, without a relocation.
        (TlsModel::InitialExec | TlsModel::GeneralDynamic | TlsModel::LocalDynamic, None) => {
            right.tp_offset.is_some()
        }
        _ => false,
    };
    if !fits {
        errors.push(format!("{model:?} by the slot {slot:#x}, which holds {found:x?}"));
    }
    errors
}

fn facts(shape: &Shape, truth: &Truth, report: &Report, misses: &mut Vec<Miss>) {
    let mut miss = |kind: MissKind, detail: String| misses.push(Miss { kind, detail });
    let unanswerable = shape.unanswerable().is_some();
    match &report.image {
        None => miss(MissKind::MissingFact, "no image facts".into()),
        Some(image) => {
            let arch = match shape.arch {
                Arch::X86_64 => ReportArch::X86_64,
                Arch::Aarch64 => ReportArch::Aarch64,
            };
            let kind = match shape.kind {
                _ if shape.is_library() => ImageKind::Shared,
                Kind::NoPie | Kind::NoPieOfPic | Kind::Static => ImageKind::Executable,
                _ => ImageKind::Pie,
            };
            if image.arch != arch || image.kind != kind {
                miss(MissKind::WrongFact, format!("image is {:?} {:?}", image.arch, image.kind));
            }
            if image.stripped != (shape.post != Post::Keep)
                || image.section_headers != (shape.post != Post::NoSections)
            {
                miss(
                    MissKind::WrongFact,
                    format!(
                        "stripped {}, section headers {}",
                        image.stripped, image.section_headers
                    ),
                );
            }
        }
    }
    match (&report.runtime, truth.runtime) {
        (None, Some(_)) if !unanswerable => {
            miss(MissKind::MissingFact, "no address of _PyRuntime".into());
        }
        (Some(seen), Some((address, size))) => {
            if seen.address.0 != address || seen.size.is_some_and(|seen| seen != size) {
                miss(
                    MissKind::WrongFact,
                    format!("_PyRuntime at {seen:?}, right is {address:#x}+{size}"),
                );
            }
        }
        (Some(seen), None) => {
            miss(MissKind::WrongFact, format!("_PyRuntime at {seen:?} before 3.7"));
        }
        (None, _) => {}
    }
    let version = shape.python.word().trim_end_matches('t');
    let flavour = match shape.python {
        Python::V3_13FreeThreaded | Python::V3_14FreeThreaded | Python::V3_15FreeThreaded => {
            Flavour::FreeThreaded
        }
        _ => Flavour::Release,
    };
    match &report.python {
        None if unanswerable => {}
        None => miss(MissKind::MissingFact, "not seen as a Python".into()),
        Some(python) => {
            match &python.version {
                None if unanswerable => {}
                None => miss(MissKind::MissingFact, format!("no version, right is {version}")),
                Some(seen) if seen != version => {
                    miss(MissKind::WrongFact, format!("version {seen}, right is {version}"));
                }
                Some(_) => {}
            }
            if python.flavour != flavour && !unanswerable {
                miss(
                    MissKind::WrongFact,
                    format!("flavour {:?}, right is {flavour:?}", python.flavour),
                );
            }
        }
    }
    eval_loop(shape, truth, report, misses);
}

/// Every reported range has to lie in the evaluation loop's true ranges, and
/// the function itself has to be among them.
fn eval_loop(shape: &Shape, truth: &Truth, report: &Report, misses: &mut Vec<Miss>) {
    if shape.unanswerable().is_some() {
        return;
    }
    let Some(function) = truth.eval_loop.first() else { return };
    if !report.eval_loop.iter().any(|range| range.start.0 == function.start) {
        misses.push(Miss {
            kind: MissKind::MissingFact,
            detail: "the evaluation loop is not found".into(),
        });
    }
    for range in &report.eval_loop {
        let inside = truth.eval_loop.iter().any(|right| {
            right.start <= range.start.0 && range.end.0 <= right.end.next_multiple_of(16)
        });
        if !inside {
            misses.push(Miss {
                kind: MissKind::WrongFact,
                detail: format!(
                    "evaluation loop at {}..{}, right is {:x?}",
                    range.start, range.end, truth.eval_loop
                ),
            });
        }
    }
}

/// The steps that a trace marks lead to where the answer is: a key's to the
/// call that consumes it, a pointer's to an instruction that leaves a value
/// other than null.
fn ways(report: &Report, misses: &mut Vec<Miss>) {
    for strategy in &report.strategies {
        let route =
            strategy.route.and_then(|route| report.routes.get(usize::try_from(route).ok()?));
        let Some(route) = route.filter(|_| !strategy.trace.is_empty()) else { continue };
        let last = strategy.trace.iter().rfind(|step| step.on_path);
        let arrives = last.is_some_and(|step| match route {
            Route::PthreadKey { .. } => step.role == Some(StepRole::Sink),
            _ => step.effects.iter().any(|effect| effect.value != "0x0"),
        });
        if !arrives {
            misses.push(Miss {
                kind: MissKind::WrongFact,
                detail: format!("{}: the marked way ends at {last:?}", strategy.name),
            });
        }
    }
}

fn hex(value: Option<u64>) -> String {
    value.map_or_else(|| "absent".to_owned(), |value| format!("{value:#x}"))
}
