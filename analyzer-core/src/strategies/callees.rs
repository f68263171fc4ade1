//! The functions whose calls mean something to a strategy.

use crate::{
    addr::VirtAddr,
    image::{Callee, Image},
};

/// What a call to a function means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Known {
    /// `pthread_getspecific(key)`: takes the key itself.
    Getspecific,
    /// `PyThread_get_key_value(key)` (to 3.6, kept since): takes the key itself.
    GetKeyValue,
    /// `PyThread_tss_get(Py_tss_t *)` (3.7 and later).
    TssGet,
    /// `PyThread_tss_is_created(Py_tss_t *)` (3.7 and later).
    TssIsCreated,
    /// Called before the function proper, changes no register.
    Instrumentation,
    /// Does not return.
    NoReturn,
    /// Loads so many bytes from its first argument: what compilers leave to a
    /// library (libatomic; `sanitizer/tsan_interface_atomic.h`).
    AtomicLoad(u8),
    /// Gives a function memory for its frame from elsewhere, or null for none.
    FakeStack,
    /// The run-time library of a sanitizer: of no interest.
    Sanitizer,
    /// Anything else.
    Other,
}

/// Names and what calls to them mean. A name ending in `*` is a prefix.
const NAMES: &[(&str, Known)] = &[
    ("pthread_getspecific", Known::Getspecific),
    ("__pthread_getspecific", Known::Getspecific),
    ("PyThread_get_key_value", Known::GetKeyValue),
    ("PyThread_tss_get", Known::TssGet),
    ("PyThread_tss_is_created", Known::TssIsCreated),
    ("__fentry__", Known::Instrumentation),
    ("mcount", Known::Instrumentation),
    ("_mcount", Known::Instrumentation),
    ("abort", Known::NoReturn),
    ("exit", Known::NoReturn),
    ("_exit", Known::NoReturn),
    ("__assert_fail", Known::NoReturn),
    ("__stack_chk_fail", Known::NoReturn),
    ("__atomic_load_8", Known::AtomicLoad(8)),
    ("__atomic_load_4", Known::AtomicLoad(4)),
    ("__tsan_atomic64_load", Known::AtomicLoad(8)),
    ("__tsan_atomic32_load", Known::AtomicLoad(4)),
    ("__asan_report_*", Known::NoReturn),
    ("__asan_stack_malloc_*", Known::FakeStack),
    ("__asan_*", Known::Sanitizer),
    ("__tsan_*", Known::Sanitizer),
    ("__ubsan_*", Known::Sanitizer),
    ("__sanitizer_*", Known::Sanitizer),
    ("Py_FatalError", Known::NoReturn),
    ("_Py_FatalErrorFunc", Known::NoReturn),
    ("_Py_FatalErrorFormat", Known::NoReturn),
    ("_Py_FatalError_TstateNULL", Known::NoReturn),
];

/// Functions that an image may call directly, so that their address counts.
const BY_ADDRESS: [&str; 11] = [
    "PyThread_tss_get",
    "PyThread_tss_is_created",
    "PyThread_get_key_value",
    "pthread_getspecific",
    "__pthread_getspecific",
    "Py_FatalError",
    "_Py_FatalErrorFunc",
    "_Py_FatalErrorFormat",
    "_Py_FatalError_TstateNULL",
    SANITIZERS[0],
    SANITIZERS[1],
];

/// Whether a function of this name is called by instrumentation of an entry
/// (`-pg`, `-mfentry`).
#[must_use]
pub fn is_instrumentation(name: &str) -> bool {
    NAMES.contains(&(name, Known::Instrumentation))
}

/// What a sanitizer's run-time library that is linked into an image defines.
const SANITIZERS: [&str; 2] = ["__asan_init", "__tsan_init"];

/// Tells what calls mean in one image.
#[derive(Clone, Copy, Debug)]
pub struct Callees<'a, 'd> {
    addresses: [Option<VirtAddr>; BY_ADDRESS.len()],
    /// The image, where it holds a sanitizer, whose functions are many: the
    /// name of every callee is then looked up.
    sanitized: Option<&'a Image<'d>>,
}

impl<'a, 'd> Callees<'a, 'd> {
    /// Looks the functions up in `image`.
    #[must_use]
    pub fn of(image: &'a Image<'d>) -> Self {
        let mut addresses = [None; BY_ADDRESS.len()];
        let mut is_sanitized = false;
        for (address, symbol) in addresses.iter_mut().zip(image.exports(&BY_ADDRESS)) {
            *address = symbol.map(|symbol| symbol.address);
            is_sanitized |= symbol.is_some_and(|symbol| SANITIZERS.contains(&symbol.name));
        }
        Self { addresses, sanitized: is_sanitized.then_some(image) }
    }

    /// What a call to `callee` means.
    pub(super) fn classify(&self, callee: &Callee<'_>) -> Known {
        let name = callee.name.or_else(|| {
            let address = callee.address?;
            self.addresses
                .iter()
                .zip(BY_ADDRESS)
                .find_map(|(known, name)| (*known == Some(address)).then_some(name))
                .or_else(|| self.sanitized?.function_at(address).map(|symbol| symbol.name))
        });
        name.and_then(|name| {
            NAMES.iter().find_map(|(pattern, known)| {
                let matches = match pattern.strip_suffix('*') {
                    Some(prefix) => name.starts_with(prefix),
                    None => name == *pattern,
                };
                matches.then_some(*known)
            })
        })
        .unwrap_or(Known::Other)
    }
}
