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
/// `autoTLSkey` is a key from 3.3; in 2.7 it is an index into a list, so that
/// it tells nothing where the version is not known.
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
    let key = key.and_then(|symbol| version.map(|_| symbol).ok_or(Reason::VersionUnknown));
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

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use crate::{
        Options,
        addr::VirtAddr,
        analyze,
        report::{Arch, ImageKind, Route},
        shrink::{ElfBuilder, Permissions, SymbolSpec},
    };

    /// A debug file of a version before 3.7 says nowhere which one it is.
    #[test]
    fn a_key_of_an_unknown_version_may_be_an_index_of_2_7() {
        let data = VirtAddr(0x20_0000);
        let mut file = ElfBuilder::new(Arch::X86_64, ImageKind::Shared);
        file.map(data, 0x1000, Permissions::DATA).symbol_table();
        for (index, name) in (0..).zip(super::STATICS) {
            let at = VirtAddr(data.0 + 8 * index);
            file.static_symbol(SymbolSpec::object(name, at, 8).local());
        }
        let getter = SymbolSpec::function("PyGILState_GetThisThreadState", VirtAddr(0x1000), 0x20);
        file.static_symbol(getter);
        let report = analyze(&file.build().expect("a file"), &Options::default());
        let reason = |name: &str| {
            let strategy = report.strategies.iter().find(|told| told.name == name);
            strategy.expect("the strategy was tried").reason.as_deref()
        };
        assert_eq!(reason("symbol:autoTLSkey"), Some("version-unknown"));
        assert_eq!(reason("symbol:_PyThreadState_Current"), None);
        let keys: Vec<&Route> = report
            .routes
            .iter()
            .filter(|route| matches!(route, Route::PthreadKey { .. }))
            .collect();
        assert!(keys.is_empty(), "{keys:?}");
    }
}
