//! `keyhole inspect`: what the analyzer says about files and processes.

use std::{
    io::{ErrorKind, IsTerminal, Write},
    path::{Path, PathBuf},
};

use analyzer_core::{
    Options, analyze,
    report::{Report, Status},
};
use clap::Args;

use crate::{
    cli::Ending,
    debug_file,
    file_bytes::FileBytes,
    process::{self, Pid, Survey},
    render::{Format, Page, Process, Subject, plain},
};

/// Say how a profiler reaches the thread state in these files or processes
///
/// Exit status: 0 when every file is resolved, 1 when some are not, 2 when
/// something could not be read or the command is wrong.
#[derive(Args, Debug)]
#[group(id = "subjects", required = true, multiple = true)]
pub(crate) struct Arguments {
    /// Programs or libraries to inspect
    #[arg(value_name = "FILE", group = "subjects")]
    files: Vec<PathBuf>,

    /// Inspect the Python runtimes that these processes have mapped
    #[arg(long = "pid", value_name = "PID", num_args = 1.., group = "subjects")]
    pids: Vec<Pid>,

    /// Inspect the Python runtimes of all processes
    #[arg(long, conflicts_with = "pids", group = "subjects")]
    all: bool,

    /// How to write the reports
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Show the annotated disassembly of every function looked at
    #[arg(long)]
    trace: bool,

    /// Take symbols and DWARF of the one FILE from this debug file, instead
    /// of looking for one where distributions install it
    #[arg(long, value_name = "DEBUG_FILE", requires = "files")]
    debug_file: Option<PathBuf>,
}

/// Inspects everything that was asked for, and writes each report as soon as
/// it is there.
///
/// # Errors
/// Standard output cannot be written, or the arguments contradict each other.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    if arguments.debug_file.is_some() && arguments.files.len() != 1 {
        anyhow::bail!("--debug-file belongs to one FILE");
    }
    let mut reports = Reports::new(arguments);
    for path in &arguments.files {
        match inspect_file(path, arguments) {
            Ok(report) => reports.write(&report, &[])?,
            Err(error) => reports.fail(format_args!("{}: {error}", shown(path))),
        }
    }
    let pids = if arguments.all { process::all()? } else { arguments.pids.clone() };
    if arguments.all || !pids.is_empty() {
        let survey = process::survey(&pids, |bytes, path| analyzed(bytes, path, arguments.trace));
        write_survey(&survey, pids.len(), arguments, &mut reports)?;
    }
    reports.close()
}

/// Analyzes a file, with its debug file where there is one.
fn inspect_file(path: &Path, arguments: &Arguments) -> std::io::Result<Report> {
    let bytes = FileBytes::open(path)?;
    let report = |debug_file: Option<&[u8]>| {
        let path = path.to_string_lossy().into_owned();
        analyze(&bytes, &Options { path, trace: arguments.trace, debug_file })
    };
    if let Some(debug_path) = &arguments.debug_file {
        let debug_file = FileBytes::open(debug_path).map_err(|error| {
            std::io::Error::new(error.kind(), format!("{}: {error}", shown(debug_path)))
        })?;
        return Ok(report(Some(&debug_file)));
    }
    let alone = report(None);
    Ok(match debug_file::find(path, &alone) {
        Some((_, debug_file)) => report(Some(&debug_file)),
        None => alone,
    })
}

/// Analyzes a file that a process has mapped. Debug files lie in our folders,
/// not in the process's, so none is looked for.
fn analyzed(bytes: &[u8], path: &Path, trace: bool) -> Report {
    analyze(bytes, &Options { path: path.to_string_lossy().into_owned(), trace, debug_file: None })
}

fn write_survey(
    survey: &Survey,
    asked: usize,
    arguments: &Arguments,
    reports: &mut Reports,
) -> anyhow::Result<()> {
    for image in &survey.images {
        let processes: Vec<Process> =
            image.processes.iter().map(|&pid| Process { pid, name: process::name(pid) }).collect();
        reports.write(&image.report, &processes)?;
    }
    for (pid, path, unreachable) in survey.unreachable.values() {
        reports.fail(format_args!("process {pid}: {}: {unreachable}", shown(path)));
    }
    if arguments.all {
        let denied: Vec<_> = survey
            .closed
            .iter()
            .filter(|(_, error)| error.kind() == ErrorKind::PermissionDenied)
            .collect();
        // A process that ended while we looked is not missing from the answer.
        if let Some((pid, _)) = denied.first() {
            reports.fail(format_args!(
                "{} of {} processes may not be looked at (process {pid}, for one); run as root, or with CAP_SYS_PTRACE",
                denied.len(),
                asked
            ));
        }
        return Ok(());
    }
    for (pid, error) in &survey.closed {
        match error.kind() {
            ErrorKind::NotFound => {
                reports.fail(format_args!("process {pid}: there is no such process"));
            }
            ErrorKind::PermissionDenied => reports.fail(format_args!(
                "process {pid}: may not be looked at; run as root, or with CAP_SYS_PTRACE"
            )),
            _ => reports.fail(format_args!("process {pid}: {error}")),
        }
    }
    for pid in &survey.without {
        reports
            .miss(format_args!("process {pid}: none of its mapped files holds a Python runtime"));
    }
    Ok(())
}

/// A path on its way to a terminal.
fn shown(path: &Path) -> String {
    plain(&path.to_string_lossy()).into_owned()
}

/// Writes reports and keeps count of how they ended.
struct Reports {
    format: Format,
    page: Page,
    ending: Ending,
    written: usize,
    resolved: usize,
}

impl Reports {
    fn new(arguments: &Arguments) -> Self {
        let page = Page { width: width(), trace: arguments.trace };
        Self { format: arguments.format, page, ending: Ending::Answered, written: 0, resolved: 0 }
    }

    fn write(&mut self, report: &Report, processes: &[Process]) -> anyhow::Result<()> {
        let mut text =
            if self.written > 0 { self.format.separator().to_owned() } else { String::new() };
        text += &self.format.render(Subject { report, processes }, self.page)?;
        let mut out = anstream::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()?;
        self.written += 1;
        if report.status == Status::Resolved {
            self.resolved += 1;
        } else {
            self.ending = self.ending.max(Ending::Unanswered);
        }
        Ok(())
    }

    /// Something could not be read.
    fn fail(&mut self, what: std::fmt::Arguments<'_>) {
        anstream::eprintln!("keyhole: {what}");
        self.ending = Ending::Failed;
    }

    /// Something was read and holds no answer.
    fn miss(&mut self, what: std::fmt::Arguments<'_>) {
        anstream::eprintln!("keyhole: {what}");
        self.ending = self.ending.max(Ending::Unanswered);
    }

    fn close(self) -> anyhow::Result<Ending> {
        if self.format == Format::Text && self.written > 1 {
            writeln!(anstream::stdout(), "\n{} of {} files resolved", self.resolved, self.written)?;
        }
        Ok(self.ending)
    }
}

/// Columns of the terminal, within what is good to read; 100 elsewhere.
fn width() -> usize {
    let terminal = std::io::stdout().is_terminal().then(terminal_size::terminal_size).flatten();
    terminal.map_or(100, |(width, _)| usize::from(width.0).clamp(40, 120))
}
