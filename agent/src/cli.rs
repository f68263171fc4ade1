//! The command line: which verbs there are, and how one ends.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::{explain, inspect, record, serve, shrink};

/// Finds how a profiler reaches a CPython thread's PyThreadState.
#[derive(Debug, Parser)]
#[command(name = "keyhole", version, about, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// What keyhole can do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Inspect(inspect::Arguments),
    Record(Box<record::Arguments>),
    Shrink(shrink::Arguments),
    Explain(explain::Arguments),
    Serve(serve::Arguments),
}

impl Verb {
    /// Does it.
    ///
    /// # Errors
    /// What stops the whole verb; what concerns one of many files is said on
    /// standard error and shows in the [`Ending`].
    pub(crate) fn run(self) -> anyhow::Result<Ending> {
        match self {
            Self::Inspect(arguments) => inspect::run(&arguments),
            Self::Record(arguments) => record::run(&arguments),
            Self::Shrink(arguments) => shrink::run(&arguments),
            Self::Explain(arguments) => explain::run(&arguments),
            Self::Serve(arguments) => serve::run(&arguments),
        }
    }
}

/// How a verb ended; the larger, the worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ending {
    /// Exit status 0: everything was answered.
    Answered,
    /// Exit status 1: something was not.
    Unanswered,
    /// Exit status 2: something could not be read, or the command is wrong.
    Failed,
}

impl From<Ending> for ExitCode {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Answered => Self::SUCCESS,
            Ending::Unanswered => Self::from(1),
            Ending::Failed => Self::from(2),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Cli;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
