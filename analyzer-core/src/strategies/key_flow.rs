//! The pthread key, from what an entry function hands to
//! `pthread_getspecific`.

use alloc::vec::Vec;

use super::{
    Flow,
    callees::{Callees, Known},
    finding::{Finding, Reason},
};
use crate::{
    addr::VirtAddr,
    dataflow::{Action, Call, CallPlace, Explorer, Observer, Term, Terms, Value},
};

/// Offset of `_key` in `Py_tss_t`: `int _is_initialized` lies before it
/// (CPython 3.7 to 3.15, `Include/cpython/pythread.h`).
pub(super) const KEY_IN_TSS: u64 = 4;

/// What the argument of a sink is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Argument {
    /// The key.
    Key,
    /// The key, of a function that another image holds and that by its
    /// definition passes it on to `pthread_getspecific`.
    WrappedKey,
    /// A `Py_tss_t *`.
    Tss,
    /// A `Py_tss_t *` that is only tested.
    TestedTss,
}

#[derive(Clone, Copy, Debug)]
struct Sink {
    argument: Argument,
    value: Value,
    site: VirtAddr,
    place: CallPlace,
}

/// Collects the calls that consume a key.
#[derive(Debug)]
struct Sinks<'c, 'a, 'd> {
    callees: &'c Callees<'a, 'd>,
    met: Vec<Sink>,
}

impl Observer for Sinks<'_, '_, '_> {
    fn call(&mut self, call: &Call<'_>, _terms: &Terms) -> Action {
        let [value, ..] = call.args;
        let mut meet = |argument| {
            self.met.push(Sink { argument, value, site: call.site, place: call.place });
        };
        match self.callees.classify(&call.callee) {
            Known::Getspecific => {
                meet(Argument::Key);
                Action::Sink
            }
            Known::TssGet => {
                meet(Argument::Tss);
                if call.callee.address.is_some() { Action::Follow } else { Action::Sink }
            }
            // In 2.7 this function walks a list of its own: its code must tell.
            Known::GetKeyValue if call.callee.address.is_some() => Action::Follow,
            Known::GetKeyValue => {
                meet(Argument::WrappedKey);
                Action::Sink
            }
            Known::TssIsCreated => {
                meet(Argument::TestedTss);
                Action::Note
            }
            Known::Instrumentation => Action::Transparent,
            Known::NoReturn => Action::NoReturn,
            Known::AtomicLoad(size) => Action::Loads(size),
            Known::FakeStack => Action::Returns(0),
            Known::Sanitizer => Action::Skip,
            Known::Other => Action::Follow,
        }
    }
}

/// Follows the entry function at `entry`.
pub(super) fn follow(
    explorer: &mut Explorer<'_, '_>,
    callees: &Callees<'_, '_>,
    entry: VirtAddr,
    fixed: bool,
) -> Flow {
    let mut sinks = Sinks { callees, met: Vec::new() };
    let exploration = explorer.explore(entry, &mut sinks);
    let found = judge(&sinks.met, &explorer.terms, fixed).map(|(address, wanted)| {
        for sink in sinks.met.iter().filter(|sink| sink.argument == wanted) {
            explorer.mark_sink(sink.place);
        }
        Finding::Key { address }
    });
    Flow { found, exploration }
}

/// Link-time address of the one key that all sinks agree on, and which
/// arguments prove it.
fn judge(sinks: &[Sink], terms: &Terms, fixed: bool) -> Result<(VirtAddr, Argument), Reason> {
    // The innermost proof counts: what reaches pthread_getspecific before what
    // is handed to a function that, by its definition, would pass it on, and
    // that before what is only tested.
    for wanted in [Argument::Key, Argument::Tss, Argument::WrappedKey, Argument::TestedTss] {
        let of_kind = || sinks.iter().filter(|sink| sink.argument == wanted);
        let mut found: Option<(VirtAddr, VirtAddr)> = None;
        for sink in of_kind() {
            let Some(key) = key_address(sink, terms, fixed) else { continue };
            match found {
                Some((other, site)) if other != key => {
                    return Err(Reason::SinksDisagree(site, sink.site));
                }
                _ => found = Some((key, sink.site)),
            }
        }
        if let Some((address, site)) = found {
            let tested = sinks.iter().filter(|sink| sink.argument == Argument::TestedTss);
            for sink in tested {
                if key_address(sink, terms, fixed).is_some_and(|tested| tested != address) {
                    return Err(Reason::SinksDisagree(site, sink.site));
                }
            }
            return Ok((address, wanted));
        }
        if let Some(sink) = of_kind().next() {
            return Err(if sink.value.is_known() {
                Reason::ArgumentNotInImage(sink.site)
            } else {
                Reason::ArgumentUnknown(sink.site)
            });
        }
    }
    Err(Reason::NoSink)
}

/// Link-time address of the `int` key a sink consumes.
fn key_address(sink: &Sink, terms: &Terms, fixed: bool) -> Option<VirtAddr> {
    match sink.argument {
        Argument::Tss | Argument::TestedTss => {
            terms.as_address(sink.value, fixed)?.checked_add(KEY_IN_TSS)
        }
        Argument::Key | Argument::WrappedKey => match terms.of(sink.value)? {
            Term::Contents { address, size: 4, .. } if sink.value.offset() == 0 => {
                terms.as_address(address, fixed)
            }
            _ => None,
        },
    }
}
