//! What `cargo xtask web` needs of wasm-bindgen: a program of its own,
//! because the library behind it is large and most tasks do without.
//!
//! `glue bind WASM FOLDER NAME` writes the JavaScript glue of a compiled
//! crate; `glue types REPORT.RS FILE` writes the TypeScript types of the
//! report.

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use wasm_bindgen_cli_support::Bindgen;

mod types;

fn main() -> ExitCode {
    match run(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("glue: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<()> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["bind", wasm, folder, name] => bind(wasm, folder, name),
        ["types", source, target] => {
            let source =
                std::fs::read_to_string(source).with_context(|| format!("cannot read {source}"))?;
            std::fs::write(target, types::typescript(&source)?)
                .with_context(|| format!("cannot write {target}"))
        }
        _ => bail!("usage: glue bind WASM FOLDER NAME | glue types REPORT.RS FILE"),
    }
}

fn bind(wasm: &str, folder: &str, name: &str) -> Result<()> {
    Bindgen::new()
        .input_path(wasm)
        .out_name(name)
        .web(true)?
        .typescript(false)
        .omit_default_module_path(true)
        .reset_state_function(true)
        .generate(folder)
}
