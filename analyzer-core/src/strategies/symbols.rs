//! Routes that a symbol table names.

use alloc::{format, vec::Vec};

use super::{
    Attempt, Subject,
    finding::{Finding, Reason, TlsVariable},
    getter_flow,
};
use crate::{
    image::{Symbol, SymbolKind},
    report::{ImageKind, Reaches},
};

/// Variables of versions before 3.7 (`Python/pystate.c`).
///
/// `autoTLSkey` is a key from 3.3; in 2.7 it is an index into a list.
const STATICS: [&str; 2] = ["autoTLSkey", "_PyThreadState_Current"];

/// Thread-local variables of 3.12 and later (`Python/pystate.c`), and what
/// they hold.
const THREAD_LOCALS: [&str; 2] = ["_Py_tss_tstate", "_Py_tss_gilstate"];
const REACHES: [Reaches; 2] = [Reaches::Attached, Reaches::Owned];

pub(super) fn run<'a, 'd>(subject: &Subject<'a, 'd>, attempts: &mut Vec<Attempt<'a, 'd>>) {
    let image = subject.debug.unwrap_or(subject.image);
    let version = subject.version;
    let [key, holder] = if version.is_some_and(|version| version.at_least(3, 7)) {
        [Err(Reason::NotInVersion); 2]
    } else {
        image.variables(SymbolKind::Object, &STATICS).map(|found| found.ok_or(Reason::NoSymbol))
    };
    let key = match key {
        Ok(_) if version.is_some_and(|version| version.major == 2) => Err(Reason::KeyList),
        key => key,
    };
    let [key_name, holder_name] = STATICS;
    attempts.push(attempt(key_name, key, |symbol| Finding::Key { address: symbol.address }));
    attempts.push(attempt(holder_name, holder, |symbol| Finding::Global {
        reaches: Reaches::Holder,
        address: symbol.address,
    }));
    let thread_locals = if version.is_some_and(|version| !version.at_least(3, 12)) {
        [Err(Reason::NotInVersion); 2]
    } else {
        image.variables(SymbolKind::Tls, &THREAD_LOCALS).map(|found| found.ok_or(Reason::NoSymbol))
    };
    for ((name, reaches), symbol) in THREAD_LOCALS.into_iter().zip(REACHES).zip(thread_locals) {
        attempts.push(attempt(name, symbol, |symbol| Finding::ThreadLocal {
            reaches,
            variable: variable(subject, symbol.address.0),
        }));
    }
}

fn attempt<'a, 'd>(
    name: &str,
    symbol: Result<Symbol<'_>, Reason>,
    finding: impl FnOnce(&Symbol<'_>) -> Finding,
) -> Attempt<'a, 'd> {
    Attempt {
        name: ["symbol:", name].concat(),
        found: symbol.as_ref().map(finding).map_err(|reason| *reason),
        detail: symbol
            .ok()
            .map(|symbol| format!("{} is defined at {}", symbol.name, symbol.address)),
        evidence: None,
    }
}

/// A TLS symbol's value is its offset in the module's block (gABI, symbol table).
fn variable(subject: &Subject<'_, '_>, module_offset: u64) -> TlsVariable {
    let executable = matches!(subject.image.kind(), ImageKind::Pie | ImageKind::Executable);
    let tp_offset = subject
        .image
        .tls()
        .filter(|_| executable)
        .and_then(|tls| getter_flow::tp_offset(subject.image.arch(), &tls, module_offset));
    TlsVariable {
        model: None,
        module_offset: Some(module_offset),
        got_slot: None,
        slot_offset: None,
        tp_offset,
    }
}
