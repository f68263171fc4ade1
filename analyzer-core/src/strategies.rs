//! Independent ways to find a route. Each returns a finding or a reason, and
//! its evidence.

use alloc::{string::String, vec::Vec};

use crate::{
    addr::VirtAddr,
    dataflow::{Exploration, Explorer, Settings},
    identity::Identity,
    image::Image,
    report::{Flavour, Libc, Reaches, RuntimeFacts},
    version::PyVersion,
};

mod callees;
#[cfg(feature = "dwarf")]
mod dwarf;
mod finding;
mod getter_flow;
mod key_flow;
mod known_offset;
mod symbols;

pub use callees::{Callees, is_instrumentation};
pub use finding::{Finding, Reason, Relation, TlsVariable};
pub use getter_flow::{executable_block_start, tp_offset};

/// What strategies work on.
#[derive(Debug)]
pub struct Subject<'a, 'd> {
    /// The runtime image.
    pub image: &'a Image<'d>,
    /// Its version, as exact as the file tells.
    pub version: Option<PyVersion>,
    /// Its build flavour.
    pub flavour: Flavour,
    /// The C library it was linked for.
    pub libc: Option<Libc>,
    /// `_PyRuntime`, if it was found.
    pub runtime: Option<RuntimeFacts>,
    /// The file's debug information, where it is in a file of its own.
    pub debug: Option<&'a Image<'d>>,
    /// The functions whose calls mean something.
    pub callees: Callees<'a, 'd>,
    /// Whether explorations are recorded.
    pub trace: bool,
    /// Whether debug information is read, if the crate is built for that.
    pub debug_information: bool,
}

/// One strategy's answer.
#[derive(Debug)]
pub struct Attempt<'a, 'd> {
    /// Stable name: the kind, a colon, and what it looked at.
    pub name: String,
    /// The answer.
    pub found: Result<Finding, Reason>,
    /// What the answer rests on, in plain words, where no trace tells it.
    pub detail: Option<String>,
    /// The exploration behind it.
    pub evidence: Option<Evidence<'a, 'd>>,
}

/// An exploration and the function it began in.
#[derive(Debug)]
pub struct Evidence<'a, 'd> {
    /// Link-time address of the function.
    pub entry: VirtAddr,
    /// Terms and trace.
    pub explorer: Explorer<'a, 'd>,
    /// How it ended.
    pub exploration: Exploration,
}

/// What following a function came to.
#[derive(Debug)]
struct Flow {
    found: Result<Finding, Reason>,
    exploration: Exploration,
}

/// Functions whose code leads to the key. Every one that exists is followed.
///
/// All four are exported from 2.7 (`PyGILState_Check` from 3.4) to 3.15.
const KEY_READERS: [&str; 4] = [
    "PyGILState_GetThisThreadState",
    "PyGILState_Release",
    "PyGILState_Ensure",
    "PyGILState_Check",
];

/// Functions that return the current thread state.
///
/// `PyThreadState_Get` is exported in every version, `_PyThreadState_UncheckedGet`
/// from 3.5.2 to 3.12, `_PyThreadState_GetCurrent` from 3.12 and
/// `PyThreadState_GetUnchecked` from 3.13.
const GETTERS: [&str; 4] = [
    "_PyThreadState_GetCurrent",
    "PyThreadState_GetUnchecked",
    "_PyThreadState_UncheckedGet",
    "PyThreadState_Get",
];

/// Runs every strategy.
#[must_use]
pub fn run<'a, 'd>(subject: &Subject<'a, 'd>) -> Vec<Attempt<'a, 'd>> {
    let mut attempts = Vec::with_capacity(16);
    for (name, symbol) in KEY_READERS.into_iter().zip(subject.image.exports(&KEY_READERS)) {
        let entry = symbol.map(|symbol| symbol.address);
        attempts.push(
            subject
                .follow(name, entry, |explorer, entry| subject.key_reader(explorer, name, entry)),
        );
    }
    keep_gilstate_keys(&mut attempts);
    for (name, symbol) in GETTERS.into_iter().zip(subject.image.exports(&GETTERS)) {
        let entry = symbol.map(|symbol| symbol.address);
        attempts.push(subject.follow(name, entry, |explorer, entry| {
            getter_flow::follow(explorer, subject.image, &subject.callees, entry, Reaches::Attached)
        }));
    }
    known_offset::run(subject, &mut attempts);
    symbols::run(subject, &mut attempts);
    #[cfg(feature = "dwarf")]
    if subject.debug_information {
        dwarf::run(subject, &mut attempts);
    }
    for attempt in &mut attempts {
        if let Ok(finding) = attempt.found {
            attempt.found = subject.plausible(finding);
        }
    }
    attempts
}

/// The state that `PyGILState_GetThisThreadState` returns is by definition the
/// one a thread owns. Where it is kept in a thread-local variable (3.15), a key
/// that another function was seen to use deep in its callees is another key.
fn keep_gilstate_keys(attempts: &mut [Attempt<'_, '_>]) {
    let Some((definition, others)) = attempts.split_first_mut() else { return };
    if let Ok(Finding::ThreadLocal { .. }) = definition.found {
        for attempt in others {
            if let Ok(Finding::Key { address }) = attempt.found {
                attempt.found = Err(Reason::AnotherKey(address));
            }
        }
    }
}

/// Link-time address of the key that code led to, if any did.
#[must_use]
pub fn key(attempts: &[Attempt<'_, '_>]) -> Option<VirtAddr> {
    attempts.iter().find_map(|attempt| match attempt.found {
        Ok(Finding::Key { address }) => Some(address),
        _ => None,
    })
}

impl<'a, 'd> Subject<'a, 'd> {
    /// What strategies need to know about `image`.
    #[must_use]
    pub fn new(
        image: &'a Image<'d>,
        identity: &Identity,
        debug: Option<&'a Image<'d>>,
        thorough: bool,
    ) -> Self {
        Self {
            image,
            version: identity.version,
            flavour: identity.flavour,
            libc: identity.libc,
            runtime: identity.runtime.clone(),
            debug,
            callees: Callees::of(image),
            trace: thorough,
            debug_information: thorough,
        }
    }

    fn follow(
        &self,
        name: &str,
        entry: Option<VirtAddr>,
        flow: impl FnOnce(&mut Explorer<'a, 'd>, VirtAddr) -> Flow,
    ) -> Attempt<'a, 'd> {
        let name = ["dataflow:", name].concat();
        let Some(entry) = entry else {
            return Attempt { name, found: Err(Reason::NoFunction), detail: None, evidence: None };
        };
        let settings = Settings { trace: self.trace, ..Settings::default() };
        let mut explorer = Explorer::new(self.image, settings);
        let Flow { found, exploration } = flow(&mut explorer, entry);
        let evidence = self.trace.then_some(Evidence { entry, explorer, exploration });
        Attempt { name, found, detail: None, evidence }
    }

    /// The key a reader uses; from 3.15 the getter among them loads a
    /// thread-local variable instead.
    fn key_reader(&self, explorer: &mut Explorer<'a, 'd>, name: &str, entry: VirtAddr) -> Flow {
        let mut flow = key_flow::follow(explorer, &self.callees, entry, self.image.is_fixed());
        if flow.found != Err(Reason::NoSink) {
            return flow;
        }
        if self.version.is_some_and(|version| version.major == 2) {
            flow.found = Err(Reason::KeyList);
        } else if name == KEY_READERS[0] {
            let returned = flow.exploration.returned;
            let thread_local =
                getter_flow::returned(returned, &explorer.terms, self.image, Reaches::Owned);
            if let Ok(Finding::ThreadLocal { .. }) = thread_local {
                flow.found = thread_local;
            }
        }
        flow
    }

    /// Holds a finding against what the file itself says about the address.
    fn plausible(&self, finding: Finding) -> Result<Finding, Reason> {
        match finding {
            // Whatever key was found in its code is not Python's.
            Finding::Key { .. } if self.version.is_some_and(|version| version.major == 2) => {
                return Err(Reason::KeyList);
            }
            Finding::Key { address } => self.plausible_word(address, 4)?,
            Finding::Global { address, .. } => self.plausible_word(address, 8)?,
            Finding::ThreadLocal { variable, .. } => {
                let tls = self.image.tls();
                match (variable.module_offset, tls) {
                    (Some(offset), Some(tls)) => {
                        let end = offset.checked_add(8);
                        if end.is_none_or(|end| end > tls.memory_size) {
                            return Err(Reason::OutsideTlsBlock(offset));
                        }
                    }
                    (offset, _) => return Err(Reason::OutsideTlsBlock(offset.unwrap_or(0))),
                }
            }
        }
        Ok(finding)
    }

    fn plausible_word(&self, address: VirtAddr, size: u64) -> Result<(), Reason> {
        if !address.0.is_multiple_of(size) {
            return Err(Reason::Misaligned(address));
        }
        if !self.image.is_writable(address) {
            return Err(Reason::NotWritable(address));
        }
        if let Some(RuntimeFacts { address: start, size: Some(length), .. }) = self.runtime {
            let end = address.distance_from(start).and_then(|offset| offset.checked_add(size));
            if end.is_none_or(|end| end > length) {
                return Err(Reason::OutsideRuntime(address));
            }
        }
        Ok(())
    }
}
