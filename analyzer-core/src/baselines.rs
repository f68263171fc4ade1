//! Models of simpler decoders that are published and in use, and what each
//! would answer on this file.
//!
//! A user whose profiler loses Python frames learns here at which instruction
//! it goes wrong. Each model does what the decoder does with code, no more;
//! version limits and the recognition of files by name are left out. None of
//! their code is here.
//!
//! | name | describes | asks for |
//! |---|---|---|
//! | `first-write` | OpenTelemetry eBPF profiler, 2024 (bd37e9c), x86-64 | pthread key |
//! | `symbolic-straight-line` | the same, 2026 (b442421), x86-64 | pthread key |
//! | `last-argument-offset` | the same, AArch64 | pthread key |
//! | `symbols-only` | PyPerf of the BPF Compiler Collection (0079941) | `autoTLSkey` and three more |
//! | `first-fs-load` | OpenTelemetry eBPF profiler, 2026, x86-64 | thread-local variable |
//! | `first-thread-pointer-offset` | the same, AArch64 | thread-local variable |

mod first_fs_load;
mod first_thread_pointer_offset;
mod first_write;
mod last_argument_offset;
mod registers;
mod straight_line;
mod stub;
mod symbols_only;

use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString},
    vec::Vec,
};

use crate::{
    addr::VirtAddr,
    image::Image,
    report::{Arch, BaselineOutcome, BaselineResult, Route, RuntimeFacts},
};

/// What a baseline answers, and the instruction that made the answer.
#[derive(Clone, Copy, Debug)]
struct Answer<T> {
    value: T,
    at: Option<VirtAddr>,
}

/// Why a baseline answers nothing.
#[derive(Clone, Debug)]
struct Failure {
    /// Stable code.
    reason: &'static str,
    /// In plain words.
    detail: String,
    /// The instruction at which it goes wrong.
    at: Option<VirtAddr>,
}

impl Failure {
    fn new(
        reason: &'static str,
        at: impl Into<Option<VirtAddr>>,
        detail: impl Into<String>,
    ) -> Self {
        Self { reason, detail: detail.into(), at: at.into() }
    }
}

/// Runs every baseline that is made for the image's instruction set and
/// compares with `truth`, the routes that were found. `runtime` says whether
/// the image has a `_PyRuntime` at all (3.7 and later).
#[must_use]
pub fn run(
    image: &Image<'_>,
    truth: &[Route],
    runtime: Option<&RuntimeFacts>,
) -> Vec<BaselineResult> {
    let key = |name, result| key_result(name, result, truth);
    let variable =
        |name, find: &dyn Fn() -> Result<Answer<i64>, Failure>| variable_result(name, find, truth);
    let has_runtime = runtime.is_some();
    match image.arch() {
        Arch::X86_64 => Vec::from([
            key("first-write", first_write::find(image, has_runtime)),
            key("symbolic-straight-line", straight_line::find(image, has_runtime)),
            key("symbols-only", symbols_only::find(image)),
            variable("first-fs-load", &|| first_fs_load::find(image)),
        ]),
        Arch::Aarch64 => Vec::from([
            key("last-argument-offset", last_argument_offset::find(image, has_runtime)),
            key("symbols-only", symbols_only::find(image)),
            variable("first-thread-pointer-offset", &|| first_thread_pointer_offset::find(image)),
        ]),
    }
}

fn key_result(
    name: &str,
    result: Result<Answer<VirtAddr>, Failure>,
    truth: &[Route],
) -> BaselineResult {
    let answer = match result {
        Ok(answer) => answer,
        Err(failure) => return failed(name, failure),
    };
    let keys: Vec<VirtAddr> = truth
        .iter()
        .filter_map(|route| match route {
            Route::PthreadKey { key_address, .. } => Some(*key_address),
            Route::ThreadLocal { .. } | Route::Global { .. } => None,
        })
        .collect();
    let mut result = empty(name, BaselineOutcome::Right);
    result.value = Some(answer.value);
    match keys.first() {
        None => {
            result.outcome = BaselineOutcome::Unverified;
            result.detail = Some("No other strategy found a pthread key here.".to_owned());
        }
        Some(_) if keys.contains(&answer.value) => {}
        Some(key) => {
            result.outcome = BaselineOutcome::Wrong;
            result.reason = Some("not-the-key".to_owned());
            result.detail = Some(distance(answer.value, *key));
            result.at = answer.at;
        }
    }
    result
}

fn distance(answer: VirtAddr, key: VirtAddr) -> String {
    match answer.distance_from(key) {
        Some(bytes) => format!("It answers {answer}, {bytes} bytes behind the key at {key}."),
        None => {
            let bytes = key.distance_from(answer).unwrap_or(0);
            format!("It answers {answer}, {bytes} bytes before the key at {key}.")
        }
    }
}

fn variable_result(
    name: &str,
    find: &dyn Fn() -> Result<Answer<i64>, Failure>,
    truth: &[Route],
) -> BaselineResult {
    let offsets: Vec<Option<i64>> = truth
        .iter()
        .filter_map(|route| match route {
            Route::ThreadLocal { tp_offset, .. } => Some(*tp_offset),
            Route::PthreadKey { .. } | Route::Global { .. } => None,
        })
        .collect();
    if offsets.is_empty() && !truth.is_empty() {
        let mut result = empty(name, BaselineOutcome::NotApplicable);
        result.reason = Some("no-thread-local-route".to_owned());
        result.detail =
            Some("This build keeps no thread state in a thread-local variable.".to_owned());
        return result;
    }
    let answer = match find() {
        Ok(answer) => answer,
        Err(failure) => return failed(name, failure),
    };
    let mut result = empty(name, BaselineOutcome::Right);
    result.tp_offset = Some(answer.value);
    if offsets.is_empty() {
        result.outcome = BaselineOutcome::Unverified;
        result.detail = Some("No other strategy found a thread-local variable here.".to_owned());
    } else if !offsets.contains(&Some(answer.value)) {
        result.outcome = BaselineOutcome::Wrong;
        result.at = answer.at;
        let fixed: Vec<i64> = offsets.into_iter().flatten().collect();
        let (reason, detail) = match fixed.first() {
            Some(offset) => ("not-the-variable", format!("The variable is at {offset:+}.")),
            None => (
                "offset-not-fixed",
                "The variable's distance from the thread pointer is fixed when the file is loaded."
                    .to_string(),
            ),
        };
        result.reason = Some(reason.to_owned());
        result.detail = Some(detail);
    }
    result
}

fn failed(name: &str, failure: Failure) -> BaselineResult {
    let mut result = empty(name, BaselineOutcome::Fails);
    result.reason = Some(failure.reason.to_owned());
    result.detail = Some(failure.detail);
    result.at = failure.at;
    result
}

fn empty(name: &str, outcome: BaselineOutcome) -> BaselineResult {
    BaselineResult {
        name: name.to_owned(),
        outcome,
        reason: None,
        detail: None,
        at: None,
        value: None,
        tp_offset: None,
    }
}
