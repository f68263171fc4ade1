//! Routes that a symbol table names.

use alloc::{string::ToString, vec::Vec};

use super::{
    Attempt, Subject,
    finding::{Finding, Reason, TlsVariable},
    getter_flow,
};
use crate::{
    image::{Image, Symbol},
    report::{ImageKind, Reaches},
};

/// What a symbol of a known name stands for.
#[derive(Clone, Copy, Debug)]
enum Meaning {
    /// The `int` key (3.3 to 3.6, `Python/pystate.c`; in 2.7 an index into a list).
    Key,
    /// A pointer to the state of the thread that holds the GIL (2.7 to 3.6).
    Holder,
    /// A thread-local pointer (3.12 and later, `Python/pystate.c`).
    ThreadLocal(Reaches),
}

const SYMBOLS: [(&str, Meaning); 4] = [
    ("autoTLSkey", Meaning::Key),
    ("_PyThreadState_Current", Meaning::Holder),
    ("_Py_tss_tstate", Meaning::ThreadLocal(Reaches::Attached)),
    ("_Py_tss_gilstate", Meaning::ThreadLocal(Reaches::Owned)),
];

pub(super) fn run<'a, 'd>(subject: &Subject<'a, 'd>, attempts: &mut Vec<Attempt<'a, 'd>>) {
    let names = SYMBOLS.map(|(name, _)| name);
    let image = subject.debug.unwrap_or(subject.image);
    let found = objects(image, &names);
    for ((name, meaning), symbol) in SYMBOLS.into_iter().zip(found) {
        let found = match symbol {
            None => Err(Reason::NoSymbol),
            Some(symbol) => match meaning {
                Meaning::Key if subject.version.is_some_and(|version| version.major == 2) => {
                    Err(Reason::KeyList)
                }
                Meaning::Key => Ok(Finding::Key { address: symbol.address }),
                Meaning::Holder => {
                    Ok(Finding::Global { reaches: Reaches::Holder, address: symbol.address })
                }
                Meaning::ThreadLocal(reaches) => {
                    let variable = variable(subject, symbol.address.0);
                    Ok(Finding::ThreadLocal { reaches, variable })
                }
            },
        };
        attempts.push(Attempt {
            name: ["symbol:", name].concat(),
            found,
            detail: symbol
                .map(|symbol| ["defined as ", symbol.name, " at ", &symbol.address.to_string()].concat()),
            evidence: None,
        });
    }
}

/// Definitions of the names, from either symbol table.
fn objects<'d, const N: usize>(image: &Image<'d>, names: &[&str; N]) -> [Option<Symbol<'d>>; N] {
    let mut found = names.map(|name| image.dynamic_symbol(name));
    for named in image.static_symbols_named(names) {
        if let Some(place) = found.get_mut(named.which)
            && (place.is_none() || named.suffix.is_empty())
        {
            *place = Some(named.symbol);
        }
    }
    found
}

/// A TLS symbol's value is its offset in the module's block (gABI, symbol table).
fn variable(subject: &Subject<'_, '_>, module_offset: u64) -> TlsVariable {
    let executable = matches!(subject.image.kind(), ImageKind::Pie | ImageKind::Executable);
    let tp_offset = subject
        .image
        .tls()
        .filter(|_| executable)
        .and_then(|tls| getter_flow::tp_offset(subject.image.arch(), &tls, module_offset));
    TlsVariable { model: None, module_offset: Some(module_offset), got_slot: None, tp_offset }
}
