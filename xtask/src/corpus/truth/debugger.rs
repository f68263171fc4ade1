//! gdb as a reader of debug information.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, bail};

use crate::shell;

/// A gdb that knows every architecture of the corpus.
#[derive(Debug)]
pub(crate) struct Debugger {
    program: &'static str,
}

impl Debugger {
    /// Finds `gdb-multiarch`.
    ///
    /// # Errors
    /// It is not installed.
    pub(crate) fn find() -> Result<Self> {
        let program = "gdb-multiarch";
        if !shell::has_program(program) {
            bail!("{program} is not installed (apt-get install {program})");
        }
        Ok(Self { program })
    }

    /// Evaluates C expressions against the symbols of `file`, without a
    /// process. Takes pairs of a name for the answer and an expression;
    /// an expression that makes no sense for this file is left out.
    ///
    /// # Errors
    /// gdb cannot be run.
    pub(crate) fn numbers<'n>(
        &self,
        file: &Path,
        expressions: &[(&'n str, &str)],
    ) -> Result<BTreeMap<&'n str, i64>> {
        let mut gdb = shell::command(self.program);
        gdb.args(["-nx", "-batch", "-ex", "set language c", "-ex", "set debuginfod enabled off"]);
        for (name, expression) in expressions {
            // `output` fails as a whole, so a failed expression leaves a bare name.
            gdb.args(["-ex", &format!("echo \\n@{name}="), "-ex", &format!("output {expression}")]);
        }
        let output = gdb.args(["-ex", "echo \\n"]).arg(file).output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text
            .lines()
            .filter_map(|line| line.strip_prefix('@')?.split_once('='))
            .filter_map(|(name, value)| {
                let (known, _) = expressions.iter().find(|(known, _)| *known == name)?;
                Some((*known, value.trim().parse().ok()?))
            })
            .collect())
    }
}
