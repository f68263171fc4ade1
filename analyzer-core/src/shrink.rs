//! Small ELF files: cut from a large one, or written from a description.
//!
//! [`shrink`] cuts a **reproducer**: it analyzes a file while the image notes
//! what the analysis looks at, and writes an ELF file that holds those bytes,
//! symbols and relocations at their addresses and nothing else of the file.
//! The analysis of that small file gives the same report.
//!
//! [`ElfBuilder`] writes an ELF file from addresses, bytes, symbols and
//! relocations. Everything lies at the link-time address it is given; the
//! file is compact all the same, because only what has bytes takes room.
//! Reproducers are written with it, and so are the files of tests.

use alloc::{string::String, vec::Vec};
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    Options,
    addr::VirtAddr,
    analyze, analyze_image,
    image::{Image, ParseError},
    report::{FileFacts, ImageKind, Report},
};

mod builder;
mod cut;
mod hash;
mod layout;
mod plt_stub;
mod sections;
mod strings;
mod symbols;
mod tables;
mod types;
mod unwind;
mod write;

pub use self::{
    builder::{
        BuildError, ElfBuilder, Permissions, RelocationKind, SectionSpec, SymbolId, SymbolSpec,
    },
    cut::cut,
    plt_stub::plt_stub,
};

/// A small file cut from a large one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reproducer {
    /// The file.
    pub bytes: Vec<u8>,
    /// What of the large file it holds.
    pub contents: Contents,
    /// Members of the report that differ between the two files; empty unless
    /// something the analysis looks at could not be cut out.
    pub differences: Vec<String>,
}

/// What a reproducer holds of the file it was cut from, besides the file's
/// headers, build id and the names of the libraries it needs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contents {
    /// Bytes, by address.
    pub bytes: Vec<KeptBytes>,
    /// Symbols, by name.
    pub symbols: Vec<KeptSymbol>,
    /// Words that the dynamic linker fills, by address.
    pub relocations: Vec<VirtAddr>,
    /// Names of sections whose bounds are kept.
    pub sections: Vec<String>,
    /// Members of structures whose offsets debug information tells.
    pub types: Vec<String>,
}

/// A range of bytes in a reproducer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptBytes {
    /// Link-time address of the first.
    pub start: VirtAddr,
    /// Link-time address after the last.
    pub end: VirtAddr,
    /// Section of the large file, where it has section headers.
    pub section: Option<String>,
    /// Function of the large file, where a symbol tells.
    pub function: Option<String>,
}

/// A symbol in a reproducer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptSymbol {
    /// Its name.
    pub name: String,
    /// Its address (an offset in the TLS block for a thread-local variable);
    /// absent for an import.
    pub address: Option<VirtAddr>,
}

/// Why no reproducer can be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShrinkError {
    /// The file is no ELF image that can be read.
    Parse(ParseError),
    /// Relocatable objects and core dumps have no addresses to keep.
    Kind(ImageKind),
    /// The small file cannot be written.
    Build(BuildError),
}

impl From<BuildError> for ShrinkError {
    fn from(error: BuildError) -> Self {
        match error {
            BuildError::Kind(kind) => Self::Kind(kind),
            error => Self::Build(error),
        }
    }
}

impl fmt::Display for ShrinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parse(error) => error.fmt(f),
            Self::Kind(_) => f.write_str("only executables and shared libraries can be cut down"),
            Self::Build(error) => write!(f, "the reproducer cannot be written: {error}"),
        }
    }
}

impl core::error::Error for ShrinkError {}

/// Cuts a reproducer from the file whose bytes are `bytes`.
///
/// The file is analyzed with traces, and with the separate debug file of
/// `options` if there is one; what only that file tells is not in the result.
///
/// # Errors
///
/// [`ShrinkError`] when the file is no image that is loaded, or contradicts
/// itself so that its parts do not fit together.
pub fn shrink(bytes: &[u8], options: &Options<'_>) -> Result<Reproducer, ShrinkError> {
    let image = Image::parse(bytes).map_err(ShrinkError::Parse)?.recording();
    let options = Options { trace: true, ..options.clone() };
    let report = analyze_image(&image, &options);
    let record = image.record().unwrap_or_default();
    let (bytes, contents) = cut(&image, &record)?;
    let differences = differences(&report, &analyze(&bytes, &options));
    Ok(Reproducer { bytes, contents, differences })
}

/// Names of the members in which two reports differ, those aside that tell
/// one file from another.
fn differences(left: &Report, right: &Report) -> Vec<String> {
    let of_image =
        |report: &Report| FileFacts { size: 0, reproducer: false, ..report.file.clone() };
    [
        ("file", of_image(left) == of_image(right)),
        ("status", left.status == right.status),
        ("image", left.image == right.image),
        ("python", left.python == right.python),
        ("runtime", left.runtime == right.runtime),
        ("routes", left.routes == right.routes),
        ("preference", left.preference == right.preference),
        ("gil", left.gil == right.gil),
        ("layout", left.layout == right.layout),
        ("eval_loop", left.eval_loop == right.eval_loop),
        ("libc", left.libc == right.libc),
        ("strategies", left.strategies == right.strategies),
        ("baselines", left.baselines == right.baselines),
        ("diagnoses", left.diagnoses == right.diagnoses),
    ]
    .into_iter()
    .filter(|(_, same)| !same)
    .map(|(member, _)| member.into())
    .collect()
}
