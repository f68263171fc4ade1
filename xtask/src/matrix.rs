//! `cargo xtask test --matrix`: the sampling suite on the Pythons of other
//! suites of Debian, each in its root folder, and on free-threaded builds.

mod free_threaded;

use anyhow::Result;

use crate::{
    ebpf, live,
    shell::{self, cargo},
};

/// Makes the roots that are missing and samples every Python in them.
///
/// # Errors
/// A root cannot be made, or a test fails.
pub(crate) fn run() -> Result<()> {
    ebpf::build()?;
    let in_roots = live::native_pythons()?;
    let pythons: Vec<String> = in_roots
        .into_iter()
        .map(|(root, program)| format!("{}!{program}", root.display()))
        .chain(free_threaded::programs().iter().map(|program| program.display().to_string()))
        .collect();
    shell::run(
        cargo()
            .args(["test", "--package", "agent", "--test", "record"])
            .args(["--", "--nocapture", "--test-threads=1"])
            .env("KEYHOLE_PYTHONS", pythons.join(":")),
    )
}
