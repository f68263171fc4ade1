//! Finds the runtime images that processes have mapped: by content, never by
//! name.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::{Path, PathBuf},
};

use analyzer_core::{
    diagnosis::{self, Code},
    report::{Report, Status},
};

use super::{FileId, Pid, Unreachable, mappings, open_mapped};

/// A file that holds a Python runtime, and who has mapped it.
#[derive(Debug)]
pub(crate) struct RuntimeImage {
    /// What the analysis of the file says.
    pub(crate) report: Report,
    /// The processes that have mapped it, ascending.
    pub(crate) processes: Vec<Pid>,
}

/// What was found in a set of processes.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// Every runtime image once, in the order they were met.
    pub(crate) images: Vec<RuntimeImage>,
    /// Processes without any runtime image.
    pub(crate) without: Vec<Pid>,
    /// Processes that could not be looked at.
    pub(crate) closed: Vec<(Pid, io::Error)>,
    /// Files that no process's mapping gave access to, each with the process
    /// and path that was tried last.
    pub(crate) unreachable: BTreeMap<FileId, (Pid, PathBuf, Unreachable)>,
}

/// Looks through the executable mappings of these processes.
///
/// `analyze` is called once per file, whoever has mapped it, with its bytes
/// and its path in the process. A process that has several runtime images gets
/// all of them reported, each with a diagnosis that names the others.
pub(crate) fn survey(pids: &[Pid], mut analyze: impl FnMut(&[u8], &Path) -> Report) -> Survey {
    let mut survey = Survey::default();
    // Every file seen, with its place in `images` if it holds a runtime.
    let mut known: BTreeMap<FileId, Option<usize>> = BTreeMap::new();
    for &pid in pids {
        let mappings = match mappings(pid) {
            Ok(mappings) => mappings,
            Err(error) => {
                survey.closed.push((pid, error));
                continue;
            }
        };
        let mut here = BTreeSet::new();
        for mapping in mappings.iter().filter(|mapping| mapping.executable) {
            let Some(file) = &mapping.file else { continue };
            let index = match known.get(&file.id) {
                Some(index) => *index,
                None => match open_mapped(pid, mapping, file) {
                    Ok(bytes) => {
                        survey.unreachable.remove(&file.id);
                        let index = survey.add(analyze(&bytes, &file.path));
                        known.insert(file.id, index);
                        index
                    }
                    // Another process's mapping may still lead to it.
                    Err(unreachable) => {
                        survey.unreachable.insert(file.id, (pid, file.path.clone(), unreachable));
                        None
                    }
                },
            };
            here.extend(index);
        }
        if here.is_empty() {
            survey.without.push(pid);
        }
        for &index in &here {
            survey.images[index].processes.push(pid);
        }
        if here.len() > 1 {
            note_company(&mut survey.images, &here, pid);
        }
    }
    survey
}

impl Survey {
    /// Keeps the report if it is a runtime image's; its place in `images`.
    fn add(&mut self, report: Report) -> Option<usize> {
        holds_runtime(&report).then(|| {
            self.images.push(RuntimeImage { report, processes: Vec::new() });
            self.images.len() - 1
        })
    }
}

/// Whether a profiler would have to read this image's runtime.
fn holds_runtime(report: &Report) -> bool {
    match report.status {
        Status::Resolved | Status::Conflict | Status::Unresolved => true,
        Status::Unsupported | Status::Damaged => {
            report.python.is_some() || report.runtime.is_some()
        }
        Status::Launcher | Status::NotPython | Status::NotElf => false,
    }
}

/// Adds to each of the images that process `pid` has mapped a diagnosis that
/// names the others, unless another process's company did so before.
fn note_company(images: &mut [RuntimeImage], here: &BTreeSet<usize>, pid: Pid) {
    for &index in here {
        let others: Vec<String> = here
            .iter()
            .filter(|&&other| other != index)
            .map(|&other| images[other].report.file.path.clone())
            .collect();
        let report = &mut images[index].report;
        if report.diagnoses.iter().all(|finding| finding.code != Code::TwoRuntimes.as_str()) {
            let detail = format!("Process {pid} has mapped this file and {}.", others.join(", "));
            report.diagnoses.push(diagnosis::new(Code::TwoRuntimes, detail));
        }
    }
}
