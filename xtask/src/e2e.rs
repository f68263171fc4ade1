//! `cargo xtask e2e`: the npm package and the page, tested in Node and in a
//! real headless Chromium.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::shell::{self, cargo_whole};
use crate::steps::Tally;
use crate::wasm;
use crate::{node, python, web};

/// Builds everything the tests need and runs those whose file name contains
/// one of the arguments; all without arguments.
///
/// # Errors
/// Something cannot be built or installed, or a test fails.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let mut tally = Tally::default();
    test(arguments, &mut tally)?;
    println!("{} passed, {} failed", tally.passed, tally.failed);
    if tally.failed > 0 {
        bail!("not everything holds");
    }
    Ok(())
}

/// As [`run`], counting into `tally`.
///
/// # Errors
/// Something cannot be built or installed, or no test was run.
pub(crate) fn test(arguments: &[String], tally: &mut Tally) -> Result<()> {
    let site = web::build()?;
    // Told at the end, so that a page that is too heavy is tested all the same.
    let in_bounds = web::check_size(&site);
    // A build that panics on purpose, to see what becomes of it.
    let provoked = shell::root().join("target/npm/provoked");
    wasm::compile("analyzer-wasm", &["provoke"], &provoked, "analyzer")?;
    // After the site, so that it carries it.
    shell::run(cargo_whole("build").args(["--bin", "keyhole"]))?;
    let node = node::browser_packages()?;
    let chromium = node::chromium()?;
    let pythons: Vec<String> =
        python::all().iter().map(|path| path.to_string_lossy().into_owned()).collect();
    let scratch = shell::root().join("target/e2e");
    wasm::fresh(&scratch)?;

    let before = tally.passed + tally.failed;
    let mut command = shell::command("node");
    command
        .args(["--test", "--test-concurrency=1", "--test-reporter=tap"])
        .args(test_files(arguments)?)
        .env("KEYHOLE_SITE", &site)
        .env("KEYHOLE_PACKAGE", shell::root().join("target/npm/analyzer"))
        .env("KEYHOLE_PROVOKED", &provoked)
        .env("KEYHOLE_BIN", shell::root().join("target/debug/keyhole"))
        .env("KEYHOLE_NODE", &node)
        .env("KEYHOLE_CHROMIUM", chromium)
        .env("KEYHOLE_PYTHONS", pythons.join("\n"))
        .env("KEYHOLE_SCRATCH", &scratch);
    // The closing lines say how many failed; the status says no more.
    let ended = shell::run_lines(&mut command, |line| count(line, tally));
    if tally.passed + tally.failed == before {
        ended?;
        bail!("no test was run");
    }
    println!("screenshots: {}", scratch.join("shots").display());
    in_bounds
}

/// Adds what a closing line of TAP says: `# pass 12`, `# fail 0`.
fn count(line: &str, tally: &mut Tally) {
    let Some((word, number)) = line.strip_prefix("# ").and_then(|rest| rest.split_once(' ')) else {
        return;
    };
    let number = number.parse().unwrap_or(0);
    match word {
        "pass" => tally.passed += number,
        "fail" | "cancelled" => tally.failed += number,
        _ => {}
    }
}

fn test_files(words: &[String]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for folder in ["analyzer-wasm/tests", "web-ui/tests/e2e"] {
        let folder = shell::root().join(folder);
        for entry in std::fs::read_dir(&folder)
            .with_context(|| format!("cannot read {}", folder.display()))?
        {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.ends_with(".test.mjs")
                && (words.is_empty() || words.iter().any(|word| name.contains(word.as_str())))
            {
                files.push(path);
            }
        }
    }
    files.sort();
    if files.is_empty() {
        bail!("no test file has such a name");
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_lines_of_tap_are_counted() {
        let mut tally = Tally::default();
        for line in ["ok 1 - a", "# tests 3", "# pass 2", "# fail 1", "# cancelled 0", "# a # b"] {
            count(line, &mut tally);
        }
        assert_eq!(tally, Tally { passed: 2, failed: 1 });
    }
}
