//! A list of named steps, each timed, all run whatever the others say.

use std::time::Instant;

use anyhow::{Result, bail};

/// Tests that passed and failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Tests that passed.
    pub(crate) passed: u64,
    /// Tests that failed.
    pub(crate) failed: u64,
}

impl Tally {
    /// Adds what one line of libtest's output says, if it is a closing line:
    /// `test result: ok. 3 passed; 0 failed; 1 ignored; …`.
    pub(crate) fn add_line(&mut self, line: &str) {
        let Some(counts) = line.strip_prefix("test result: ") else { return };
        let counts = counts.split_once(". ").map_or(counts, |(_, rest)| rest);
        for part in counts.split("; ") {
            match part.split_once(' ') {
                Some((count, "passed")) => self.passed += count.parse().unwrap_or(0),
                Some((count, "failed")) => self.failed += count.parse().unwrap_or(0),
                _ => {}
            }
        }
    }

    fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

/// One step.
#[derive(Clone, Copy)]
pub(crate) struct Step {
    /// A short name, unique in its list.
    pub(crate) name: &'static str,
    /// Does it, and counts tests into the tally if it runs any.
    pub(crate) run: fn(&mut Tally) -> Result<()>,
}

/// Runs all steps in order and prints how each ended, how long it took, and
/// a closing line `N passed, N failed`.
///
/// The closing line sums the tests. A step that fails without a failed test
/// (formatting, a build) counts as one failure, so that the line never says
/// `0 failed` of a run that failed.
///
/// # Errors
/// At least one step failed.
pub(crate) fn run_all(steps: &[Step]) -> Result<()> {
    let mut total = Tally::default();
    let mut lines = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        println!("\n=== {} ({} of {})", step.name, index + 1, steps.len());
        let start = Instant::now();
        let mut tally = Tally::default();
        let result = (step.run)(&mut tally);
        let seconds = start.elapsed().as_secs_f64();
        let failed = result.is_err() || tally.failed > 0;
        if let Err(error) = result {
            println!("{}: {error:#}", step.name);
            tally.failed = tally.failed.max(1);
        }
        lines.push(format!(
            "{:<6} {seconds:>7.1} s  {}",
            if failed { "FAILED" } else { "ok" },
            step.name
        ));
        total.add(tally);
    }
    println!();
    for line in lines {
        println!("{line}");
    }
    println!("{} passed, {} failed", total.passed, total.failed);
    if total.failed > 0 {
        bail!("not everything holds");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libtest_closing_lines_are_counted() {
        let mut tally = Tally::default();
        tally.add_line("test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s");
        tally.add_line("test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s");
        tally.add_line("test some::name ... ok");
        assert_eq!(tally, Tally { passed: 15, failed: 2 });
    }

    #[test]
    fn a_step_that_fails_without_tests_is_a_failure() {
        let steps =
            [Step { name: "broken", run: |_| bail!("no") }, Step { name: "fine", run: |_| Ok(()) }];
        assert!(run_all(&steps).is_err());
        assert!(run_all(&steps[1..]).is_ok());
    }
}
