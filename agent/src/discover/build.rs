//! One analysis per file, shared by all processes that have mapped it.

use std::{collections::HashMap, os::unix::fs::MetadataExt as _, rc::Rc};

use analyzer_core::{
    Options,
    image::Image,
    report::{LibcFacts, Report, Status},
};
use memchr::memmem;
use memmap2::Mmap;

use super::{bias::Segments, static_data::StaticData};
use crate::process::{FileId, MappedFile, Mapping, Pid, open_mapped};

/// Types whose addresses let the program check what it follows.
const TYPES: [&str; 5] =
    ["PyCode_Type", "PyUnicode_Type", "PyString_Type", "PyBytes_Type", "PyTuple_Type"];

/// Every CPython asks for this environment variable when it starts (2.7:
/// Python/pythonrun.c, 3.x: Python/initconfig.c); few other files name it.
const PYTHON_MARK: &[u8] = b"PYTHONHASHSEED";
/// Every C library defines it; programs that only use it have it too.
const LIBC_MARK: &[u8] = b"pthread_getspecific";

/// What an image is for us.
#[derive(Debug)]
pub(crate) struct Build {
    /// The analyzer's report.
    pub(crate) report: Report,
    /// For the load bias.
    pub(crate) segments: Segments,
    /// Link-time addresses of the types that are exported.
    symbols: Vec<(&'static str, u64)>,
    bytes: Mmap,
}

impl Build {
    fn of(bytes: Mmap, path: String) -> Option<Self> {
        let image = Image::parse(&bytes).ok()?;
        let report = analyzer_core::analyze(&bytes, &Options { path, ..Options::default() });
        let address = |name: &'static str| Some((name, image.dynamic_symbol(name)?.address.0));
        Some(Self {
            segments: Segments::of(&image),
            symbols: TYPES.into_iter().filter_map(address).collect(),
            report,
            bytes,
        })
    }

    /// What the file puts into a process that loads it with this bias.
    pub(crate) fn static_data(&self, bias: u64) -> Option<StaticData<'_>> {
        Some(StaticData::new(Image::parse(&self.bytes).ok()?, bias))
    }

    /// Link-time address of one of the exported types.
    pub(crate) fn symbol(&self, name: &str) -> Option<u64> {
        self.symbols.iter().find(|(known, _)| *known == name).map(|&(_, address)| address)
    }

    /// Whether a profiler would have to read this image's runtime.
    pub(crate) fn holds_runtime(&self) -> bool {
        match self.report.status {
            Status::Resolved | Status::Conflict | Status::Unresolved => true,
            Status::Unsupported | Status::Damaged => {
                self.report.python.is_some() || self.report.runtime.is_some()
            }
            Status::Launcher | Status::NotPython | Status::NotElf => false,
        }
    }

    /// What it says about itself as a C library.
    pub(crate) fn libc(&self) -> Option<&LibcFacts> {
        self.report.libc.as_ref()
    }
}

/// A file at one moment: replacing or rewriting it changes one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Version {
    file: FileId,
    size: u64,
    modified: (i64, i64),
}

/// The files that were looked at.
#[derive(Debug, Default)]
pub(crate) struct Builds {
    known: HashMap<Version, Option<Rc<Build>>>,
    /// How many files were analyzed.
    pub(crate) analyzed: usize,
}

impl Builds {
    /// What a mapped file is; `None` when it is neither a Python runtime nor a
    /// C library.
    ///
    /// # Errors
    /// The file cannot be opened; says what was tried.
    pub(crate) fn look_up(
        &mut self,
        pid: Pid,
        mapping: &Mapping,
        file: &MappedFile,
    ) -> Result<Option<Rc<Build>>, String> {
        let version = version(pid, mapping, file);
        if let Some(version) = version
            && let Some(known) = self.known.get(&version)
        {
            return Ok(known.clone());
        }
        let bytes = open_mapped(pid, mapping, file).map_err(|error| error.to_string())?;
        let build = if is_of_interest(&bytes) {
            self.analyzed += 1;
            Build::of(bytes, file.path.to_string_lossy().into_owned())
                .filter(|build| build.holds_runtime() || build.libc().is_some())
                .map(Rc::new)
        } else {
            None
        };
        if let Some(version) = version {
            self.known.insert(version, build.clone());
        }
        Ok(build)
    }
}

fn version(pid: Pid, mapping: &Mapping, file: &MappedFile) -> Option<Version> {
    let by_address = format!("/proc/{pid}/map_files/{:x}-{:x}", mapping.start, mapping.end);
    let facts = std::fs::metadata(by_address).ok()?;
    Some(Version {
        file: file.id,
        size: facts.size(),
        modified: (facts.mtime(), facts.mtime_nsec()),
    })
}

/// Whether a file can be a Python runtime or a C library, by its content.
fn is_of_interest(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x7fELF")
        && (memmem::find(bytes, PYTHON_MARK).is_some() || is_c_library(bytes))
}

/// A C library defines `pthread_getspecific`; glibc's first from 2.34 on, its
/// `libpthread` before.
fn is_c_library(bytes: &[u8]) -> bool {
    memmem::find(bytes, LIBC_MARK).is_some()
        && Image::parse(bytes)
            .is_ok_and(|image| image.dynamic_symbol("pthread_getspecific").is_some())
}
