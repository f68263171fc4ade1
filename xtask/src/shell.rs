//! Running other programs from the root of the workspace, saying so.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// The root of the workspace.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}

/// Where tasks keep what they make: `target/xtask`, created when missing.
pub(crate) fn scratch() -> Result<PathBuf> {
    let folder = root().join("target/xtask");
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot create {}", folder.display()))?;
    Ok(folder)
}

/// A command that runs at the root of the workspace, without what
/// `cargo run` adds to the environment of xtask itself.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    for (name, _) in std::env::vars_os() {
        let name_text = name.to_string_lossy();
        if name_text.starts_with("CARGO_PKG_")
            || matches!(
                &*name_text,
                "CARGO_MANIFEST_DIR" | "CARGO_MANIFEST_PATH" | "LD_LIBRARY_PATH"
            )
        {
            command.env_remove(&name);
        }
    }
    command
}

/// The cargo that runs xtask, so that one toolchain serves the whole run.
pub(crate) fn cargo() -> Command {
    command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// `cargo SUBCOMMAND` on the whole workspace, `glue` included.
///
/// Cargo compiles a dependency anew for every choice of packages that wants
/// other features of it: commands that choose the same share what is compiled.
pub(crate) fn cargo_whole(subcommand: &str) -> Command {
    let mut cargo = cargo();
    cargo.args([subcommand, "--workspace", "--features", "xtask/glue"]);
    cargo
}

/// The command as one would type it.
fn spelled(command: &Command) -> String {
    let mut words: Vec<String> = command
        .get_envs()
        .filter_map(|(name, value)| {
            value.map(|value| format!("{}={:?}", name.to_string_lossy(), value.to_string_lossy()))
        })
        .collect();
    words.push(command.get_program().to_string_lossy().into_owned());
    words.extend(command.get_args().map(|word| word.to_string_lossy().into_owned()));
    words.join(" ")
}

/// Says what is run and runs it with our standard streams.
///
/// # Errors
/// The program cannot be started, or ends with another status than zero.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let words = spelled(command);
    println!("$ {words}");
    std::io::stdout().flush()?;
    let status = command.status().with_context(|| format!("cannot start `{words}`"))?;
    if !status.success() {
        bail!("`{words}` ended with {status}");
    }
    Ok(())
}

/// Like [`run`], and hands every line of standard output to `each` after it
/// was printed.
pub(crate) fn run_lines(command: &mut Command, mut each: impl FnMut(&str)) -> Result<()> {
    let words = spelled(command);
    println!("$ {words}");
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start `{words}`"))?;
    if let Some(output) = child.stdout.take() {
        let mut reader = BufReader::new(output);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line)? > 0 {
            std::io::stdout().write_all(&line)?;
            each(String::from_utf8_lossy(&line).trim_end());
            line.clear();
        }
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("`{words}` ended with {status}");
    }
    Ok(())
}

/// Runs quietly and returns standard output.
///
/// # Errors
/// As [`run`]; the error carries what the program wrote to standard error.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let words = spelled(command);
    let output = command.output().with_context(|| format!("cannot start `{words}`"))?;
    if !output.status.success() {
        bail!(
            "`{words}` ended with {}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether a program of that name is in `PATH`.
pub(crate) fn has_program(name: &str) -> bool {
    find_program(name).is_some()
}

/// Where a program of that name is in `PATH`.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}
