//! Which routes the strategies found, and how strongly each stands.

use alloc::{string::String, string::ToString, vec::Vec};

use crate::{
    addr::VirtAddr,
    ordered::sort_by_key,
    report::{Reaches, Route, RuntimeFacts, Strength, TlsModel},
    strategies::{Attempt, Finding, Relation, TlsVariable},
};

/// Routes in order of preference, and which of them each attempt found.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Preferred first.
    pub routes: Vec<Route>,
    /// For each attempt, the index of its route.
    pub found: Vec<Option<usize>>,
    /// Two strategies claim different places for the same state.
    pub conflict: bool,
    /// Why the first route is preferred.
    pub preference: Option<String>,
}

/// One route and who stands behind it.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    finding: Finding,
    supporters: usize,
    contested: bool,
}

/// Weighs what the strategies found.
#[must_use]
pub fn weigh(attempts: &[Attempt<'_, '_>], runtime: Option<&RuntimeFacts>) -> Verdict {
    let mut candidates: Vec<Candidate> = Vec::new();
    for finding in attempts.iter().filter_map(|attempt| attempt.found.ok()) {
        match candidates.iter_mut().find(|known| known.finding.relation(finding) == Relation::Same)
        {
            Some(known) => {
                known.supporters = known.supporters.saturating_add(1);
                known.finding = completed(known.finding, finding);
            }
            None => candidates.push(Candidate { finding, supporters: 1, contested: false }),
        }
    }
    let contested: Vec<bool> = candidates
        .iter()
        .map(|mine| {
            candidates
                .iter()
                .any(|other| mine.finding.relation(other.finding) == Relation::Contradicts)
        })
        .collect();
    for (candidate, contested) in candidates.iter_mut().zip(contested) {
        candidate.contested = contested;
    }
    candidates.retain(|candidate| is_usable(candidate.finding));
    sort_by_key(&mut candidates, |candidate| {
        (rank(candidate.finding).into(), u64::MAX - candidate.supporters as u64)
    });
    let found = attempts
        .iter()
        .map(|attempt| {
            let finding = attempt.found.ok()?;
            candidates.iter().position(|known| known.finding.relation(finding) == Relation::Same)
        })
        .collect();
    Verdict {
        conflict: candidates.iter().any(|candidate| candidate.contested),
        preference: preference(&candidates),
        routes: candidates.iter().map(|candidate| route(candidate, runtime)).collect(),
        found,
    }
}

/// What a profiler should try first: the state a thread owns, which is there
/// whether or not it holds the GIL; then the attached one; then the holder's.
fn rank(finding: Finding) -> u8 {
    match finding {
        Finding::Key { .. } | Finding::ThreadLocal { reaches: Reaches::Owned, .. } => 0,
        Finding::ThreadLocal { .. } => 1,
        Finding::Global { .. } => 2,
    }
}

/// A thread-local variable that only a symbol names says where it is, but not
/// how to get there; in an executable the thread-pointer offset is enough.
fn is_usable(finding: Finding) -> bool {
    match finding {
        Finding::ThreadLocal { variable, .. } => {
            variable.model.is_some() || variable.tp_offset.is_some()
        }
        Finding::Key { .. } | Finding::Global { .. } => true,
    }
}

/// `first`, with what only `second` knows about the same variable.
fn completed(first: Finding, second: Finding) -> Finding {
    match (first, second) {
        (
            Finding::ThreadLocal { reaches, variable: mine },
            Finding::ThreadLocal { variable: theirs, .. },
        ) => {
            let code = if mine.model.is_some() { mine } else { theirs };
            let variable = TlsVariable {
                model: code.model,
                module_offset: mine.module_offset.or(theirs.module_offset),
                got_slot: code.got_slot,
                slot_offset: code.slot_offset,
                tp_offset: mine.tp_offset.or(theirs.tp_offset),
            };
            Finding::ThreadLocal { reaches, variable }
        }
        _ => first,
    }
}

fn route(candidate: &Candidate, runtime: Option<&RuntimeFacts>) -> Route {
    let strength = match candidate {
        Candidate { contested: true, .. } => Strength::Contested,
        Candidate { supporters: 2.., .. } => Strength::Corroborated,
        _ => Strength::Single,
    };
    let runtime_offset = |address: VirtAddr| address.distance_from(runtime?.address);
    match candidate.finding {
        Finding::Key { address } => Route::PthreadKey {
            reaches: Reaches::Owned,
            key_address: address,
            runtime_offset: runtime_offset(address),
            strength,
        },
        Finding::ThreadLocal { reaches, variable } => Route::ThreadLocal {
            reaches,
            model: variable.model.unwrap_or(TlsModel::LocalExec),
            module_offset: variable.module_offset,
            got_slot: variable.got_slot,
            slot_offset: variable.slot_offset,
            tp_offset: variable.tp_offset,
            strength,
        },
        Finding::Global { reaches, address } => {
            Route::Global { reaches, address, runtime_offset: runtime_offset(address), strength }
        }
    }
}

fn preference(candidates: &[Candidate]) -> Option<String> {
    let has = |wanted: u8| candidates.iter().any(|candidate| rank(candidate.finding) == wanted);
    let text = match (has(0), has(1), has(2)) {
        (true, true, _) => {
            "The first route reaches the state a thread owns, which stays while the thread runs \
             native code with the GIL released; the attached state is null then. Read both: where \
             they agree the thread is attached now."
        }
        (true, false, true) => {
            "The first route reaches the state each thread owns; the global one reaches only the \
             state of the thread that holds the GIL, and tells which thread that is."
        }
        (true, false, false) => {
            "The route reaches the state a thread owns, whether or not it holds the GIL."
        }
        (false, true, _) => {
            "Only the attached state can be reached: it is null while a thread runs native code \
             with the GIL released."
        }
        (false, false, true) => {
            "Only the state of the thread that holds the GIL can be reached; compare its thread_id \
             with the sampled thread before using it."
        }
        (false, false, false) => return None,
    };
    Some(text.to_string())
}
