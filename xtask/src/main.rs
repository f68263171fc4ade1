//! Set-up, builds that cross targets, and tests of the whole:
//! `cargo xtask TASK [ARGUMENT…]`.
//!
//! A task is a function in a file of its own and one line in [`TASKS`].

use std::process::ExitCode;

mod codegen;
mod corpus;
mod demo;

mod e2e;
mod ebpf;
mod fuzz;
mod live;
mod matrix;
mod node;
mod overhead;
mod python;
mod setup;
mod shapes;
mod shell;
mod steps;
mod test;
mod tidy;
mod toolchain;
mod wasm;
mod web;

/// One thing `cargo xtask` can do.
struct Task {
    /// The word after `cargo xtask`.
    name: &'static str,
    /// One line for the list of tasks.
    help: &'static str,
    /// Does it. Takes the arguments after the name.
    run: fn(&[String]) -> anyhow::Result<()>,
}

const TASKS: &[Task] = &[
    Task {
        name: "codegen",
        help: "rewrite the tables that are generated from data",
        run: codegen::run,
    },
    Task {
        name: "corpus",
        help: "inspect real CPython packages and compare with what is true of them",
        run: corpus::run,
    },
    Task {
        name: "demo",
        help: "build keyhole and inspect every Python found here",
        run: demo::run,
    },
    Task { name: "e2e", help: "drive the page in a real browser", run: e2e::run },
    Task { name: "ebpf", help: "build the sampling program that the agent embeds", run: ebpf::run },
    Task { name: "fuzz", help: "fuzz the analyzer, a minute each target", run: fuzz::run },
    Task {
        name: "live",
        help: "check reports against running Pythons of other suites and of aarch64",
        run: live::run,
    },
    Task { name: "overhead", help: "measure what sampling costs", run: overhead::run },
    Task {
        name: "setup",
        help: "get the compilers for wasm, BPF and bare targets",
        run: setup::run,
    },
    Task {
        name: "shapes",
        help: "compile the entry functions in many ways and analyze each",
        run: shapes::run,
    },
    Task { name: "test", help: "everything that has to hold before a merge", run: test::run },
    Task { name: "test-update", help: "rewrite the expected outputs of tests", run: test::update },
    Task { name: "wasm", help: "build the npm package of the analyzer", run: wasm::run },
    Task { name: "web", help: "build the page into target/site", run: web::run },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = arguments.split_first() else {
        list_tasks();
        return ExitCode::from(2);
    };
    let Some(task) = TASKS.iter().find(|task| task.name == name) else {
        eprintln!("xtask: there is no task {name:?}");
        list_tasks();
        return ExitCode::from(2);
    };
    match (task.run)(rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask {name}: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn list_tasks() {
    eprintln!("usage: cargo xtask TASK [ARGUMENT…]\n");
    for task in TASKS {
        eprintln!("  {:<12} {}", task.name, task.help);
    }
}
