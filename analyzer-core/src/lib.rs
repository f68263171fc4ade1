//! From an ELF image of CPython to how a profiler reaches a thread's
//! `PyThreadState`.
//!
//! Bytes go in, a [`Report`] comes out. The stages, each a module that knows
//! nothing of the later ones:
//!
//! | stage | module | is about |
//! |---|---|---|
//! | image | [`image`] | one ELF file as memory: segments, symbols, relocations, PLT names |
//! | identity | [`identity`] | which Python, which flavour, which C library |
//! | code | [`code`] | one lifted form of two instruction sets |
//! | dataflow | [`dataflow`] | abstract values in registers, stack slots and memory |
//! | strategies | [`strategies`] | independent answers, each with its evidence |
//! | verdict | [`verdict`] | which of them agree |
//! | baselines | [`baselines`] | what simpler, published decoders would answer |
//! | report | [`report`] | the answer as plain data |
//!
//! # Design constraints
//!
//! - `no_std` with `alloc`, no I/O, no clock, no logging: the same crate runs
//!   in a profiler and in a web page.
//! - Every byte is hostile. Nothing panics, work and memory are bounded, and
//!   what is not understood is unknown rather than guessed.
//! - [`analyze`] never fails: what a file is not is an answer too.
//! - Work is proportional to what is looked at, not to the size of the file.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

use alloc::{
    borrow::ToOwned,
    string::{String, ToString},
    vec::Vec,
};

pub mod addr;
pub mod baselines;
pub mod bundle;
mod bytes;
pub mod code;
pub mod container;
pub mod dataflow;
pub mod diagnosis;
pub mod eval_loop;
mod findings;
mod frames;
pub mod identity;
pub mod image;
pub mod layout;
pub mod libc;
mod ordered;
mod present;
mod refusal;
pub mod report;
mod search;
pub mod shrink;
pub mod strategies;
#[cfg(test)]
mod test_elf;
pub mod verdict;
pub mod version;

use identity::{Identity, Role};
use image::{Image, ParseError};
use report::{FileFacts, ImageFacts, Outcome, PythonFacts, Report, Route, Status, StrategyResult};
use strategies::{Attempt, Subject};
use verdict::Verdict;

/// What an analysis is asked to do.
#[derive(Clone, Debug, Default)]
pub struct Options<'o> {
    /// The file's path, for the report; the analysis never looks at it.
    pub path: String,
    /// Record every instruction looked at, with what it changed.
    pub trace: bool,
    /// The separate debug file that belongs to the image, if there is one.
    pub debug_file: Option<&'o [u8]>,
}

/// Analyzes one file.
#[must_use]
pub fn analyze(bytes: &[u8], options: &Options<'_>) -> Report {
    match Image::parse(bytes) {
        Ok(image) => analyze_image(&image, options),
        Err(error) => refusal::report(bytes, options, error),
    }
}

/// Analyzes one file that has been parsed.
#[must_use]
pub fn analyze_image<'d>(image: &Image<'d>, options: &Options<'d>) -> Report {
    let debug = options.debug_file.and_then(|bytes| Image::parse(bytes).ok());
    let identity = identity::identify(image, true);
    // Diagnoses are drawn from recorded explorations, so they are always recorded.
    let examination = examine(image, identity, debug.as_ref(), true);
    examination.report(image, options)
}

/// Only the routes of a runtime image, preferred first: what a profiler needs,
/// without traces, texts and diagnoses.
///
/// # Errors
///
/// The file is no ELF image that can be read.
pub fn routes(bytes: &[u8]) -> Result<Vec<Route>, ParseError> {
    let image = Image::parse(bytes)?;
    let identity = identity::identify(&image, false);
    Ok(examine(&image, identity, None, false).verdict.routes)
}

/// Everything that was found about an image.
struct Examination<'a, 'd> {
    identity: Identity,
    attempts: Vec<Attempt<'a, 'd>>,
    verdict: Verdict,
}

fn examine<'a, 'd>(
    image: &'a Image<'d>,
    mut identity: Identity,
    debug: Option<&'a Image<'d>>,
    trace: bool,
) -> Examination<'a, 'd> {
    let attempts = match identity.role {
        Role::Runtime => strategies::run(&Subject::new(image, &identity, debug, trace)),
        Role::Launcher { .. } | Role::Other => Vec::new(),
    };
    identity.complete_runtime(strategies::key(&attempts), image);
    let verdict = verdict::weigh(&attempts, identity.runtime.as_ref());
    Examination { identity, attempts, verdict }
}

impl<'a, 'd> Examination<'a, 'd> {
    fn report(&self, image: &'a Image<'d>, options: &Options<'_>) -> Report {
        let runtime = self.identity.runtime.as_ref();
        let frames = frames::Frames::of(image, &self.identity);
        let libc = libc::libc_facts(image);
        let diagnoses = findings::of(&findings::Examined {
            image,
            identity: &self.identity,
            attempts: &self.attempts,
            verdict: &self.verdict,
            frames: &frames,
            is_libc: libc.is_some(),
        });
        Report {
            schema: report::SCHEMA.to_owned(),
            file: FileFacts {
                path: options.path.clone(),
                size: image.data().len() as u64,
                build_id: image.build_id().map(present::hex),
                reproducer: image.is_reproducer(),
            },
            status: self.status(image),
            image: Some(image_facts(image, &self.identity)),
            python: python_facts(&self.identity),
            runtime: runtime.cloned(),
            routes: self.verdict.routes.clone(),
            preference: self.verdict.preference.clone(),
            gil: frames.gil,
            layout: frames.layout,
            eval_loop: frames.eval_loop,
            libc,
            strategies: self.strategy_results(image, options.trace),
            baselines: match self.identity.role {
                Role::Runtime => baselines::run(image, &self.verdict.routes, runtime),
                Role::Launcher { .. } | Role::Other => Vec::new(),
            },
            diagnoses,
        }
    }

    fn status(&self, image: &Image<'_>) -> Status {
        match self.identity.role {
            Role::Launcher { .. } => Status::Launcher,
            Role::Other => Status::NotPython,
            Role::Runtime if self.verdict.conflict => Status::Conflict,
            Role::Runtime if !self.verdict.routes.is_empty() => Status::Resolved,
            Role::Runtime if image.cut().is_some() => Status::Damaged,
            Role::Runtime => Status::Unresolved,
        }
    }

    fn strategy_results(&self, image: &Image<'_>, trace: bool) -> Vec<StrategyResult> {
        let namer = present::Namer::new(image, self.identity.runtime.as_ref());
        self.attempts
            .iter()
            .zip(&self.verdict.found)
            .map(|(attempt, route)| StrategyResult {
                name: attempt.name.clone(),
                outcome: match attempt.found {
                    Ok(_) => Outcome::Route,
                    Err(reason) if reason.is_not_applicable() => Outcome::NotApplicable,
                    Err(_) => Outcome::None,
                },
                route: route.map(|index| index as u64),
                reason: attempt.found.err().map(|reason| reason.code().to_owned()),
                detail: match attempt.found {
                    Err(reason) => Some(reason.to_string()),
                    Ok(_) => attempt.detail.clone(),
                },
                trace: match &attempt.evidence {
                    Some(evidence) if trace => namer.steps(evidence),
                    _ => Vec::new(),
                },
            })
            .collect()
    }
}

fn image_facts(image: &Image<'_>, identity: &Identity) -> ImageFacts {
    ImageFacts {
        arch: image.arch(),
        kind: image.kind(),
        stripped: image.is_stripped(),
        section_headers: image.has_section_headers(),
        soname: image.soname().map(ToOwned::to_owned),
        needed: image.needed().map(ToOwned::to_owned).collect(),
        interpreter: image.interpreter().map(ToOwned::to_owned),
        debug_link: image.debug_link().map(|(name, _)| name.to_owned()),
        libc: identity.libc,
        tls: image.tls(),
    }
}

fn python_facts(identity: &Identity) -> Option<PythonFacts> {
    (identity.role != Role::Other).then(|| PythonFacts {
        version: identity.version.map(|version| version.to_string()),
        flavour: identity.flavour,
        flavour_evidence: identity.flavour_evidence.clone(),
        version_sources: identity.version_sources.clone(),
    })
}
