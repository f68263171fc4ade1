//! House rules that no compiler checks.

use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::shell;

/// The modules of `analyzer-core`, each of which may use those before it and
/// none of those after it. `lib.rs` stands after all of them.
const STAGES: &[&str] = &[
    // What needs nothing of the others.
    "bytes",
    "ordered",
    "search",
    // The vocabulary of the report.
    "addr",
    "report",
    "version",
    "diagnosis",
    "container",
    "bundle",
    // The pipeline.
    "image",
    "code",
    "layout",
    "dataflow",
    "identity",
    "eval_loop",
    "libc",
    "strategies",
    "verdict",
    "baselines",
    // The report from all of it.
    "frames",
    "findings",
    "present",
    "refusal",
    "shrink",
];

/// Checks every file that git knows.
///
/// # Errors
/// A rule is broken; the error lists each place.
pub(crate) fn check() -> Result<()> {
    if !shell::root().join(".git").exists() {
        println!("skipped: this is no git checkout, so there is no list of our own files");
        return Ok(());
    }
    let files = shell::output(shell::command("git").args(["ls-files", "-z"]))?;
    let mut broken = Vec::new();
    for file in files.split_terminator('\0') {
        let path = shell::root().join(file);
        // Neither deleted files nor binary ones have lines to look at.
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        broken.extend(leftovers(file, &text));
        broken.extend(layering(file, &text).with_context(|| format!("in {file}"))?);
    }
    if !broken.is_empty() {
        bail!("{} rules are broken:\n  {}", broken.len(), broken.join("\n  "));
    }
    Ok(())
}

/// Words that must not be left in a file, with what they are.
fn marks() -> [(String, &'static str); 4] {
    // Put together here, so that this file does not hold them.
    [
        (["TO", "DO"].concat(), "work that is not done"),
        (["FIX", "ME"].concat(), "work that is not done"),
        (["/ro", "ot/"].concat(), "a path of somebody's machine"),
        (["/wo", "rk/"].concat(), "a path of somebody's machine"),
    ]
}

fn leftovers(file: &str, text: &str) -> Vec<String> {
    let marks = marks();
    let mut broken = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for (mark, what) in &marks {
            if contains_word(line, mark) {
                broken.push(format!("{file}:{}: {mark}: {what}", index + 1));
            }
        }
    }
    broken
}

/// Whether `mark` stands in the line with no letter, digit or folder name
/// before it.
fn contains_word(line: &str, mark: &str) -> bool {
    line.match_indices(mark).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
    })
}

/// Uses of later stages in a source file of `analyzer-core`.
fn layering(file: &str, text: &str) -> Result<Vec<String>> {
    let Some(inner) = file.strip_prefix("analyzer-core/src/") else { return Ok(Vec::new()) };
    let module = inner.split('/').next().unwrap_or(inner).trim_end_matches(".rs");
    // Tests may use every stage.
    if module == "test_elf" || inner.ends_with("/tests.rs") {
        return Ok(Vec::new());
    }
    if module == "lib" || Path::new(file).extension().is_none_or(|ending| ending != "rs") {
        return Ok(Vec::new());
    }
    let rank = rank(module)?;
    // Tests may look at everything.
    let text = text.split("#[cfg(test)]").next().unwrap_or(text);
    let mut broken = Vec::new();
    for used in used_modules(text) {
        if STAGES.contains(&used) && self::rank(used)? > rank {
            broken.push(format!("{file}: {module} uses {used}, which is a later stage"));
        }
    }
    Ok(broken)
}

fn rank(module: &str) -> Result<usize> {
    STAGES.iter().position(|stage| *stage == module).with_context(|| {
        format!("{module} has no place in the order of stages (xtask/src/tidy.rs)")
    })
}

/// The names right after `crate::` in paths and in `use` trees.
fn used_modules(text: &str) -> Vec<&str> {
    let mut used = Vec::new();
    for (at, start) in text.match_indices("crate::") {
        let rest = &text[at + start.len()..];
        match rest.strip_prefix('{') {
            None => used.push(name(rest)),
            Some(tree) => used.extend(top_of_tree(tree)),
        }
    }
    used
}

/// The first names of the branches of a `use` tree, up to its closing brace.
fn top_of_tree(tree: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut depth = 0;
    let mut branch = 0;
    for (at, c) in tree.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                names.push(name(&tree[branch..at]));
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                names.push(name(&tree[branch..at]));
                branch = at + 1;
            }
            _ => {}
        }
    }
    names
}

fn name(text: &str) -> &str {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_stage_is_seen_in_every_form() {
        let file = "analyzer-core/src/image/plt.rs";
        for text in [
            "use crate::verdict::Verdict;",
            "use crate::{\n    addr::VirtAddr,\n    report::{Arch, Route},\n    verdict,\n};",
            "fn f() { crate::verdict::weigh() }",
        ] {
            assert_eq!(layering(file, text).expect("placed").len(), 1, "{text}");
        }
        for text in [
            "use crate::{addr::VirtAddr, report::Arch};",
            "use crate::image::Image;",
            "#[cfg(test)]\nmod tests { use crate::verdict::Verdict; }",
        ] {
            assert!(layering(file, text).expect("placed").is_empty(), "{text}");
        }
        assert!(layering("analyzer-core/src/unheard_of.rs", "").is_err());
        assert!(layering("agent/src/main.rs", "use crate::verdict;").expect("not ours").is_empty());
    }

    #[test]
    fn leftovers_are_seen_as_words() {
        let [(note, _), .., (folder, _)] = marks();
        assert_eq!(leftovers("a", &format!("// {note}: more")).len(), 1);
        assert_eq!(leftovers("a", &format!("open({folder}x)")).len(), 1);
        assert!(leftovers("a", &format!("X{note} target{folder}")).is_empty());
    }
}
