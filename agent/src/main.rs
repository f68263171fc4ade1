//! `keyhole`: finds how a profiler reaches the `PyThreadState` of a thread, in
//! files and in running processes.
//!
//! The command line is read in [`cli`]; each verb is a module with its
//! arguments and a `run` function.

use std::process::ExitCode;

use clap::Parser;

mod cli;
mod debug_file;
mod discover;
mod explain;
mod file_bytes;
mod inspect;
mod launcher;
mod output;
mod process;
mod profile;
mod record;
mod render;
mod sample;
mod serve;
mod shrink;
mod symbolize;

fn main() -> ExitCode {
    match cli::Cli::parse().verb.run() {
        Ok(ending) => ending.into(),
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            anstream::eprintln!("keyhole: {error:#}");
            cli::Ending::Failed.into()
        }
    }
}

/// Whoever reads our output has seen enough: `keyhole … | head`.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<std::io::Error>()
        .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}
