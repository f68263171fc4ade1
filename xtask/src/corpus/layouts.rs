//! `--layouts`: every offset that a report gives for CPython's structures,
//! against the debug information of that very build.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::archive::Archive;
use super::derive;
use super::manifest::Build;
use super::report::{Member, Report};
use super::truth::{self, Debugger};

/// What of a report's layout is not as the build's debug information has it,
/// in words. Prints how many offsets were compared.
///
/// # Errors
/// There is no gdb, or no debug information of that build.
pub(crate) fn compare(
    folder: &Path,
    build: &Build,
    path: &Path,
    report: &Report,
) -> Result<Vec<String>> {
    let debugger = Debugger::find()?;
    let debug = debug_file(folder, build, path)?;
    let members: &[Member] = report.layout.as_ref().map_or(&[], |layout| &layout.members);
    let old = report
        .python
        .as_ref()
        .and_then(|python| python.version.as_deref())
        .is_some_and(|version| version.starts_with("2."));
    let expressions: Vec<(String, String)> = members
        .iter()
        .flat_map(|member| {
            let name = format!("{}.{}", member.structure, member.member);
            // Some structures are only known by their tag, some only by a typedef.
            ["", "struct "].map(|tag| {
                (format!("{tag}{name}"), expression(tag, type_name(&member.structure, old), member))
            })
        })
        .collect();
    let expressions: Vec<(&str, &str)> =
        expressions.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let answers = debugger.numbers(&debug, &expressions)?;
    let mut wrong = Vec::new();
    let mut compared = 0;
    for member in members {
        let name = format!("{}.{}", member.structure, member.member);
        let tagged = format!("struct {name}");
        match answers.get(name.as_str()).or_else(|| answers.get(tagged.as_str())) {
            None => wrong.push(format!("{name}: the debug information has no such member")),
            Some(&answer) if answer.cast_unsigned() == member.offset => compared += 1,
            Some(answer) => wrong.push(format!("{name} at {} instead of {answer}", member.offset)),
        }
    }
    println!("{compared} of {} offsets hold: {}", members.len(), build.name());
    Ok(wrong)
}

fn debug_file(folder: &Path, build: &Build, path: &Path) -> Result<PathBuf> {
    if truth::has_debug_information(path)? {
        return Ok(path.to_owned());
    }
    if ["pypi", "installed"].contains(&build.suite.as_str()) {
        bail!("there is no debug information for it");
    }
    let archive = Archive::open(folder, &build.suite, &build.arch, true)?;
    let place = (build.suite.as_str(), build.arch.as_str());
    let package = (build.package.as_str(), build.version.as_str());
    Ok(derive::debug_file(folder, &archive, place, package, path)?.0)
}

fn expression(tag: &str, structure: &str, member: &Member) -> String {
    match member.member.as_str() {
        "sizeof" => format!("(long)sizeof({tag}{structure})"),
        name => format!("(long)&(({tag}{structure} *)0)->{name}"),
    }
}

/// The name that the structure has in CPython's sources.
fn type_name(structure: &str, old: bool) -> &str {
    match structure {
        // 2.7 has the name only as a macro.
        "PyBytesObject" if old => "PyStringObject",
        structure => structure,
    }
}
