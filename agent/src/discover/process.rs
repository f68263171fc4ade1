//! From a process to the configuration of the sampling program.

use std::{collections::BTreeMap, rc::Rc};

use analyzer_core::report::{LibcFacts, Report};

use super::{
    build::{Build, Builds},
    memory::{Memory, ReadMemory as _},
};
use crate::{
    process::{self, FileId, Mapping, Pid},
    sample::target::{self, Configuration, Facts, Refusal},
};

/// A process that can be sampled.
#[derive(Debug)]
pub(crate) struct Resolved {
    /// The configuration.
    pub(crate) configuration: Configuration,
    /// The image with the runtime that counts.
    pub(crate) build: Rc<Build>,
    /// Its run-time address minus its link-time address.
    pub(crate) bias: u64,
    /// The other copies of a runtime in the process: path and bias.
    pub(crate) others: Vec<(String, u64)>,
    /// The process's memory.
    pub(crate) memory: Memory,
}

/// Why a process cannot be sampled.
#[derive(Debug)]
pub(crate) enum Obstacle {
    /// There is no such process (any more).
    Gone,
    /// We may not look at it.
    Denied,
    /// It has no Python runtime mapped. It may get one later.
    NotPython,
    /// It has one that cannot be sampled.
    Refused {
        /// The image.
        report: Box<Report>,
        /// Why.
        refusal: Refusal,
    },
    /// Another failure.
    Failed(String),
}

impl Obstacle {
    /// Whether looking again later can give another answer.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::NotPython => true,
            Self::Refused { refusal, .. } => refusal.may_pass(),
            Self::Gone | Self::Denied | Self::Failed(_) => false,
        }
    }
}

impl std::fmt::Display for Obstacle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Gone => f.write_str("there is no such process"),
            Self::Denied => f.write_str(
                "we may not look at it: that needs CAP_SYS_PTRACE in its user namespace, as root \
                 mostly has",
            ),
            Self::NotPython => f.write_str("no Python runtime is mapped in it"),
            Self::Refused { report, refusal } => {
                let version = report
                    .python
                    .as_ref()
                    .and_then(|python| python.version.as_deref())
                    .unwrap_or("of unknown version");
                write!(f, "Python {version} in {}: {refusal}", report.file.path)?;
                for diagnosis in &report.diagnoses {
                    write!(f, "\n  {}: {} {}", diagnosis.code, diagnosis.detail, diagnosis.remedy)?;
                }
                Ok(())
            }
            Self::Failed(why) => f.write_str(why),
        }
    }
}

/// Looks at a process.
///
/// # Errors
/// It cannot be sampled, or not yet.
pub(crate) fn resolve(pid: Pid, builds: &mut Builds) -> Result<Resolved, Obstacle> {
    let mappings = process::mappings(pid).map_err(|error| obstacle(&error))?;
    let memory = Memory::of(pid).map_err(|error| obstacle(&error))?;
    let found = runtimes(pid, &mappings, builds)?;
    let libc = found.libc.as_ref();
    let mut copies: Vec<(Rc<Build>, u64)> = found.runtimes;
    // The runtime that was set up counts.
    let mut told = true;
    if copies.len() > 1 {
        copies.sort_by_cached_key(|(build, bias)| !is_initialized(build, *bias, &memory));
        told = is_initialized(&copies[0].0, copies[0].1, &memory);
    }
    let mut copies = copies.into_iter();
    let (build, bias) = copies
        .next()
        .ok_or_else(|| found.unopened.map_or(Obstacle::NotPython, Obstacle::Failed))?;
    let symbol = |name: &str| build.symbol(name).map(|address| address.wrapping_add(bias));
    let facts = Facts { report: &build.report, bias, symbol: &symbol, libc, memory: &memory };
    let mut configuration = target::configure(&facts)
        .map_err(|refusal| Obstacle::Refused { report: Box::new(build.report.clone()), refusal })?;
    // Reading files takes longer than loading them: what was mapped meanwhile counts.
    let settled = told && process::mappings(pid).is_ok_and(|now| same_files(&mappings, &now));
    configuration.provisional |= !settled;
    let others = copies.map(|(other, bias)| (other.report.file.path.clone(), bias)).collect();
    Ok(Resolved { configuration, build, bias, others, memory })
}

/// Whether the same code is mapped at the same places.
fn same_files(before: &[Mapping], after: &[Mapping]) -> bool {
    let code = |mappings: &[Mapping]| -> Vec<(u64, u64, Option<FileId>)> {
        let executable = mappings.iter().filter(|mapping| mapping.executable);
        executable
            .map(|mapping| (mapping.start, mapping.end, mapping.file.as_ref().map(|file| file.id)))
            .collect()
    };
    code(before) == code(after)
}

fn obstacle(error: &std::io::Error) -> Obstacle {
    match error.kind() {
        std::io::ErrorKind::NotFound => Obstacle::Gone,
        std::io::ErrorKind::PermissionDenied => Obstacle::Denied,
        _ if error.raw_os_error() == Some(libc::ESRCH) => Obstacle::Gone,
        _ => Obstacle::Failed(error.to_string()),
    }
}

/// What is mapped.
struct Found {
    /// Every copy of a runtime: its image and its bias.
    runtimes: Vec<(Rc<Build>, u64)>,
    /// The C library's facts.
    libc: Option<LibcFacts>,
    /// A file that could not be opened.
    unopened: Option<String>,
}

fn runtimes(pid: Pid, mappings: &[Mapping], builds: &mut Builds) -> Result<Found, Obstacle> {
    let mut files: BTreeMap<FileId, Vec<&Mapping>> = BTreeMap::new();
    for mapping in mappings {
        if let Some(file) = &mapping.file {
            files.entry(file.id).or_default().push(mapping);
        }
    }
    let mut found = Found { runtimes: Vec::new(), libc: None, unopened: None };
    for mappings in files.values() {
        let Some(mapping) = mappings.iter().find(|mapping| mapping.executable) else { continue };
        let Some(file) = &mapping.file else { continue };
        let build = match builds.look_up(pid, mapping, file) {
            Ok(Some(build)) => build,
            Ok(None) => continue,
            Err(why) => {
                found.unopened.get_or_insert(format!("{}: {why}", file.path.display()));
                continue;
            }
        };
        if let Some(facts) = build.libc() {
            complete(&mut found.libc, facts);
        }
        if build.holds_runtime() {
            let biases = build.segments.biases(mappings);
            found.runtimes.extend(biases.into_iter().map(|bias| (Rc::clone(&build), bias)));
        }
    }
    Ok(found)
}

/// Before glibc 2.34 one half of the facts is in `libc.so.6` and the other in
/// `libpthread.so.0`.
fn complete(known: &mut Option<LibcFacts>, facts: &LibcFacts) {
    let Some(known) = known else {
        *known = Some(facts.clone());
        return;
    };
    known.thread_data = known.thread_data.or(facts.thread_data);
    known.dtv = known.dtv.or(facts.dtv);
    known.link_map_tls_offset = known.link_map_tls_offset.or(facts.link_map_tls_offset);
    known.link_map_tls_modid = known.link_map_tls_modid.or(facts.link_map_tls_modid);
}

/// Whether a copy of a runtime has been set up: it has an interpreter (3.7 and
/// later), or a current thread state.
fn is_initialized(build: &Build, bias: u64, memory: &Memory) -> bool {
    let report = &build.report;
    let interpreters = report.layout.as_ref().and_then(|layout| {
        layout.members.iter().find(|member| {
            member.structure == "_PyRuntimeState" && member.member == "interpreters.head"
        })
    });
    let place = match (report.runtime.as_ref(), interpreters) {
        (Some(runtime), Some(head)) => Some(runtime.address.0.wrapping_add(head.offset)),
        _ => report.routes.iter().find_map(|route| match route {
            analyzer_core::report::Route::Global { address, .. } => Some(address.0),
            _ => None,
        }),
    };
    place.is_some_and(|place| {
        (0..100).any(|_| memory.word(place.wrapping_add(bias)).is_ok_and(|word| word != 0))
    })
}
