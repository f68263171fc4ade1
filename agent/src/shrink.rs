//! `keyhole shrink`: a reproducer to attach to a bug report.

use std::{fs, io::Write, path::PathBuf};

use analyzer_core::{
    Options,
    shrink::{self, Contents, Reproducer},
};
use anyhow::Context;
use clap::Args;

use crate::{cli::Ending, file_bytes::FileBytes};

/// Cut a small file that gives the same report
///
/// Writes an ELF file that holds only what the report of FILE rests on: a few
/// functions, tables, symbols and words, at their original addresses. It
/// carries none of the rest of FILE, and other decoders, objdump and gdb read
/// it too.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// The Python program or library
    file: PathBuf,
    /// Where to write the reproducer
    #[arg(short, long, value_name = "SMALL")]
    output: PathBuf,
    /// Write over a file that is already there
    #[arg(long)]
    force: bool,
    /// List what the reproducer holds
    #[arg(long)]
    explain: bool,
}

/// Writes the reproducer and says what it is.
///
/// # Errors
/// The file cannot be read or cut, or the reproducer cannot be written.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let bytes = FileBytes::open(&arguments.file)
        .with_context(|| format!("{} cannot be read", arguments.file.display()))?;
    let options =
        Options { path: arguments.file.to_string_lossy().into_owned(), ..Options::default() };
    let reproducer = shrink::shrink(&bytes, &options)
        .with_context(|| format!("{} cannot be cut down", arguments.file.display()))?;
    write(arguments, &reproducer.bytes)?;
    let mut out = anstream::stdout().lock();
    writeln!(
        out,
        "{}: {} bytes of {}, {}",
        arguments.output.display(),
        reproducer.bytes.len(),
        bytes.len(),
        sameness(&reproducer)
    )?;
    if arguments.explain {
        explain(&mut out, &reproducer.contents)?;
    }
    Ok(if reproducer.differences.is_empty() { Ending::Answered } else { Ending::Unanswered })
}

fn write(arguments: &Arguments, bytes: &[u8]) -> anyhow::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).truncate(true);
    if arguments.force {
        options.create(true);
    } else {
        options.create_new(true);
    }
    options
        .open(&arguments.output)
        .and_then(|mut file| file.write_all(bytes))
        .with_context(|| format!("{} cannot be written", arguments.output.display()))
}

fn sameness(reproducer: &Reproducer) -> String {
    if reproducer.differences.is_empty() {
        "with the same report".to_owned()
    } else {
        format!("whose report differs in {}", reproducer.differences.join(", "))
    }
}

fn explain(out: &mut impl Write, contents: &Contents) -> std::io::Result<()> {
    writeln!(out, "\nBytes")?;
    for kept in &contents.bytes {
        let section = kept.section.as_deref().unwrap_or("");
        let function = kept.function.as_deref().unwrap_or("");
        writeln!(out, "  {}..{}  {section} {function}", kept.start, kept.end)?;
    }
    writeln!(out, "\nSymbols")?;
    for kept in &contents.symbols {
        match kept.address {
            Some(address) => writeln!(out, "  {address}  {}", kept.name)?,
            None => writeln!(out, "  import  {}", kept.name)?,
        }
    }
    writeln!(out, "\nWords the dynamic linker fills")?;
    for address in &contents.relocations {
        writeln!(out, "  {address}")?;
    }
    if !contents.sections.is_empty() {
        writeln!(out, "\nBounds of sections\n  {}", contents.sections.join(", "))?;
    }
    if !contents.types.is_empty() {
        writeln!(out, "\nOffsets of members\n  {}", contents.types.join(", "))?;
    }
    Ok(())
}
