//! `cargo xtask test`: everything that has to hold before a merge.

use anyhow::{Result, bail};

use crate::shapes;
use crate::shell::{self, cargo, cargo_whole};
use crate::steps::{self, Step, Tally};
use crate::{e2e, ebpf, matrix, tidy, toolchain};

/// The steps, in order. Another task's check is one more line.
const STEPS: &[Step] = &[
    Step { name: "house rules", run: house_rules },
    Step { name: "formatting", run: formatting },
    Step { name: "clippy", run: clippy },
    Step { name: "tests", run: tests },
    Step { name: "shapes", run: shapes::reduced },
    Step { name: "no std in analyzer-core", run: no_std },
    Step { name: "documentation", run: documentation },
    Step { name: "page and npm package in Node and Chromium", run: page },
];

/// Runs the steps, or those whose name contains one of the arguments; with
/// `--matrix` samples the Pythons of other suites instead.
///
/// # Errors
/// A step failed, or no step has such a name.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if arguments.iter().any(|word| word == "--matrix") {
        return matrix::run();
    }
    let chosen: Vec<Step> = if arguments.is_empty() {
        STEPS.to_vec()
    } else {
        let is_named =
            |step: &&Step| arguments.iter().any(|word| step.name.contains(word.as_str()));
        STEPS.iter().filter(is_named).copied().collect()
    };
    if chosen.is_empty() {
        let names: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
        bail!("no step has such a name; the steps are: {}", names.join(", "));
    }
    steps::run_all(&chosen)
}

/// Rewrites the expected outputs of the tests that compare with one; review
/// the change like any other.
///
/// # Errors
/// A test fails for another reason.
pub(crate) fn update(_: &[String]) -> Result<()> {
    shell::run(cargo_whole("test").arg("--no-fail-fast").env("UPDATE_EXPECT", "1"))
}

fn house_rules(_: &mut Tally) -> Result<()> {
    tidy::check()
}

fn formatting(_: &mut Tally) -> Result<()> {
    shell::run(cargo().args(["fmt", "--all", "--check"]))
}

fn clippy(_: &mut Tally) -> Result<()> {
    shell::run(cargo_whole("clippy").args(["--all-targets", "--", "-D", "warnings"]))
}

fn tests(tally: &mut Tally) -> Result<()> {
    // The tests that sample need the program, and root.
    if toolchain::is_root() {
        ebpf::build()?;
    }
    shell::run_lines(cargo_whole("test").arg("--no-fail-fast"), |line| tally.add_line(line))
}

/// Holds the sizes within their budgets, too.
fn page(tally: &mut Tally) -> Result<()> {
    e2e::test(&[], tally)
}

fn documentation(_: &mut Tally) -> Result<()> {
    shell::run(
        cargo_whole("doc")
            .args(["--no-deps", "--document-private-items"])
            .env("RUSTDOCFLAGS", "-Dwarnings"),
    )
}

/// Builds `analyzer-core` for a target that has no `std`, and checks that no
/// dependency is asked for its `std` feature.
fn no_std(_: &mut Tally) -> Result<()> {
    let bare = toolchain::bare_toolchain()?;
    shell::run(bare.cargo("build").args(["--package=analyzer-core", "--all-features"]))?;
    let tree = shell::output(cargo().args([
        "tree",
        "--package=analyzer-core",
        "--all-features",
        "--edges=normal,features",
        "--target=x86_64-unknown-none",
        "--prefix=none",
    ]))?;
    let leaks: Vec<&str> = std_features(&tree);
    if !leaks.is_empty() {
        bail!("std is switched on in: {}", leaks.join(", "));
    }
    Ok(())
}

/// The lines of `cargo tree --edges=features` that are a `std` feature,
/// except those of crates that run on the build machine.
fn std_features(tree: &str) -> Vec<&str> {
    const BUILD_MACHINE: &[&str] =
        &["proc-macro2", "quote", "syn", "unicode-ident", "serde_derive"];
    let mut leaks: Vec<&str> = tree
        .lines()
        .filter(|line| line.contains(" feature \"std\""))
        .filter(|line| !BUILD_MACHINE.iter().any(|name| line.starts_with(&format!("{name} "))))
        .collect();
    leaks.sort_unstable();
    leaks.dedup();
    leaks
}

#[cfg(test)]
mod tests {
    use super::std_features;

    #[test]
    fn a_std_feature_is_seen_and_the_build_machine_is_not() {
        let tree = "analyzer-core v0.1.0\nserde feature \"alloc\"\nserde feature \"std\"\nsyn feature \"std\"\nserde feature \"std\" (*)\n";
        assert_eq!(std_features(tree), ["serde feature \"std\"", "serde feature \"std\" (*)"]);
        assert!(std_features("object feature \"read_core\"\n").is_empty());
    }
}
