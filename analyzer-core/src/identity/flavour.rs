//! Release, debug or free-threaded.

use alloc::{string::String, vec::Vec};

use super::{Role, runtime::COOKIE, soname};
use crate::{
    image::Image,
    report::{Flavour, RuntimeFacts},
};

/// Defined by every version, so that the absence of the others means something.
const ALWAYS: &str = "PyThreadState_Get";
/// Defined only with `Py_REF_DEBUG`, which `--with-pydebug` implies
/// (2.7 to 3.15, `Objects/object.c`).
const ONLY_DEBUG: &str = "_Py_NegativeRefcount";
/// Defined only with `Py_GIL_DISABLED` (3.13 and later, `Objects/object.c`).
const ONLY_FREE_THREADED: &str = "_Py_MergeZeroLocalRefcount";

pub(super) fn of(
    image: &Image<'_>,
    runtime: Option<&RuntimeFacts>,
    role: &Role,
) -> (Flavour, Vec<String>) {
    let mut evidence = Vec::new();
    let name = match role {
        Role::Launcher { library } => library.as_deref(),
        _ => image.soname(),
    };
    let (mut debug, mut free_threaded) = (false, false);
    if let Some(library) = name.and_then(soname::parse) {
        debug |= library.debug;
        free_threaded |= library.free_threaded;
        if library.debug || library.free_threaded {
            evidence.push(["ABI flags in the library name ", name.unwrap_or_default()].concat());
        }
    }
    let [_, only_debug, only_free_threaded] =
        image.exports(&[ALWAYS, ONLY_DEBUG, ONLY_FREE_THREADED]);
    if only_debug.is_some() {
        debug = true;
        evidence.push(["it defines ", ONLY_DEBUG].concat());
    }
    if only_free_threaded.is_some() {
        free_threaded = true;
        evidence.push(["it defines ", ONLY_FREE_THREADED].concat());
    }
    if let Some(word) = runtime.and_then(|runtime| free_threaded_word(image, runtime)) {
        free_threaded |= word != 0;
        evidence.push(alloc::format!("_Py_DebugOffsets.free_threaded is {word}"));
    }
    let flavour = match (debug, free_threaded) {
        (false, false) => Flavour::Release,
        (true, false) => Flavour::Debug,
        (false, true) => Flavour::FreeThreaded,
        (true, true) => Flavour::FreeThreadedDebug,
    };
    (flavour, evidence)
}

/// `_Py_DebugOffsets.free_threaded`: the third word of `_PyRuntime` from 3.13.
fn free_threaded_word(image: &Image<'_>, runtime: &RuntimeFacts) -> Option<u64> {
    if image.bytes(runtime.address, COOKIE.len())? != COOKIE {
        return None;
    }
    image.u64_at(runtime.address.checked_add(16)?).filter(|word| *word <= 1)
}
