//! How a C library keeps thread-specific data and finds TLS blocks, read from
//! the library itself.
//!
//! Two independent sources: glibc describes its structures to debuggers in
//! `_thread_db_*` symbols (`descriptors`), and the code of
//! `pthread_getspecific` and `__tls_get_addr` does what it does (`code`).
//! No offset is built in.

use alloc::{borrow::ToOwned, vec::Vec};

use crate::{
    image::Image,
    report::{Libc, LibcFacts},
};

mod code;
mod descriptors;
mod form;
mod which;

/// What a C library (`libc.so.6`, `libpthread.so.0` to glibc 2.33, the
/// dynamic linker, `ld-musl-*.so.1`) or a static executable with one in it
/// tells; `None` for an image that holds no C library.
///
/// The thread pointer is `%fs` base on x86-64 and `tpidr_el0` on AArch64.
#[must_use]
pub fn libc_facts(image: &Image<'_>) -> Option<LibcFacts> {
    let libc = which::libc(image)?;
    let told = match libc {
        Libc::Glibc => descriptors::read(image),
        Libc::Musl => descriptors::Descriptors::default(),
    };
    let done = code::Code::read(image, libc);
    let thread_data = agreed(told.thread_data, done.thread_data);
    let dtv = agreed(told.dtv, done.dtv);
    let mut sources = Vec::new();
    if told != descriptors::Descriptors::default() {
        sources.push("descriptors".to_owned());
    }
    if done.thread_data.is_some() || done.dtv.is_some() {
        sources.push("code".to_owned());
    }
    for (what, answer) in [("thread data", thread_data.is_err()), ("DTV", dtv.is_err())] {
        if answer {
            sources.push(["descriptors and code disagree on the ", what].concat());
        }
    }
    Some(LibcFacts {
        libc,
        version: which::version(image, libc).map(ToOwned::to_owned),
        thread_data: thread_data.unwrap_or_default(),
        sources,
        dtv: dtv.unwrap_or_default(),
        link_map_tls_offset: told.link_map_tls_offset,
        link_map_tls_modid: told.link_map_tls_modid,
    })
}

/// The one answer of two sources, either of which may have none.
fn agreed<T: PartialEq>(first: Option<T>, second: Option<T>) -> Result<Option<T>, Disagreement> {
    match (first, second) {
        (Some(first), Some(second)) if first != second => Err(Disagreement),
        (first, second) => Ok(first.or(second)),
    }
}

/// Two sources have different answers.
#[derive(Debug)]
struct Disagreement;

#[cfg(test)]
mod tests;
