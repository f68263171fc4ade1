//! The command as a user runs it: exit status, streams, formats, processes.

use std::{
    io::{BufRead, BufReader, ErrorKind},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Output, Stdio},
    thread,
    time::Duration,
};

use serde_json::Value;

fn keyhole(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_keyhole"))
        .args(arguments)
        .env_remove("CLICOLOR_FORCE")
        .output()
        .expect("keyhole starts")
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).expect("UTF-8")
}

fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).expect("UTF-8")
}

fn reports(output: &Output) -> Vec<Value> {
    stdout(output)
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON on each line"))
        .collect()
}

#[test]
fn wrong_commands_end_with_two() {
    for arguments in [
        &["inspect"][..],
        &["inspect", "--format", "yaml", "/bin/sh"],
        &["inspect", "--pid", "one"],
        &["inspect", "--all", "--pid", "1"],
        &["explain", "no-such-code"],
        &["frobnicate"],
    ] {
        let output = keyhole(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{arguments:?}");
    }
}

#[test]
fn what_is_no_python_ends_with_one_and_what_cannot_be_read_with_two() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("tool");
    std::fs::write(&script, "#!/usr/bin/env python3\nprint()\n").expect("written");
    let script = script.to_str().expect("UTF-8");

    let output = keyhole(&["inspect", "--format", "json", script]);
    assert_eq!(output.status.code(), Some(1));
    let report = &reports(&output)[0];
    assert_eq!(report["schema"], "keyhole.report/1");
    assert_eq!(report["status"], "not_elf");
    assert_eq!(report["file"]["path"], script);
    assert_eq!(report["diagnoses"][0]["code"], "not-elf");
    assert!(report["diagnoses"][0]["remedy"].as_str().expect("text").contains("python3"));

    let missing = folder.path().join("missing");
    let output =
        keyhole(&["inspect", "--format", "json", missing.to_str().expect("UTF-8"), script]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("missing"));
    assert_eq!(reports(&output).len(), 1, "the other file is inspected all the same");
}

#[test]
fn no_colour_where_there_is_no_terminal() {
    let output = keyhole(&["inspect", "/proc/self/exe"]);
    assert!(!output.stdout.contains(&0x1b), "{}", stdout(&output));
    let forced = Command::new(env!("CARGO_BIN_EXE_keyhole"))
        .args(["inspect", "/proc/self/exe"])
        .env("CLICOLOR_FORCE", "1")
        .env_remove("NO_COLOR")
        .output()
        .expect("keyhole starts");
    assert!(forced.stdout.contains(&0x1b));
    let refused = Command::new(env!("CARGO_BIN_EXE_keyhole"))
        .args(["inspect", "/proc/self/exe"])
        .env("NO_COLOR", "1")
        .env_remove("CLICOLOR_FORCE")
        .output()
        .expect("keyhole starts");
    assert!(!refused.stdout.contains(&0x1b));
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_keyhole"))
        .args(["explain"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("keyhole starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(stderr(&output), "");
    assert!(output.status.success());
}

#[test]
fn explain_prints_the_page() {
    let output = keyhole(&["explain", "key-in-callee-saved-register"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).contains("What to do"));
    let list = keyhole(&["explain"]);
    for entry in analyzer_core::diagnosis::all() {
        assert!(stdout(&list).contains(entry.code));
    }
}

/// A running Python that waits until its standard input closes.
struct Python {
    child: Child,
    _input: ChildStdin,
}

impl Python {
    /// Runs the statements with this program, and waits until they are done.
    fn start(program: &Path, statements: &str) -> Self {
        let code =
            format!("import sys\n{statements}\nprint('ready', flush=True)\nsys.stdin.read()\n");
        let mut command = Command::new(program);
        command.args(["-S", "-c", &code]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = loop {
            match command.spawn() {
                // Another test's child may still hold the copy open for writing.
                Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => {
                    thread::sleep(Duration::from_millis(10));
                }
                started => break started.expect("Python starts"),
            }
        };
        let mut line = String::new();
        let output = child.stdout.take().expect("a pipe");
        BufReader::new(output).read_line(&mut line).expect("Python answers");
        assert_eq!(line.trim(), "ready");
        let input = child.stdin.take().expect("a pipe");
        Self { child, _input: input }
    }

    fn pid(&self) -> String {
        self.child.id().to_string()
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        // It may have ended by itself; either way it is gone afterwards.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A Python 3 program of this machine that is itself a runtime image, found
/// by asking it; `None`, with a word on why, where there is none.
fn static_python() -> Option<PathBuf> {
    let found = ["/usr/bin/python3", "/usr/local/bin/python3"].into_iter().find_map(|path| {
        let path = std::fs::canonicalize(path).ok()?;
        let output = keyhole(&["inspect", "--format", "json", path.to_str()?]);
        (output.status.code() == Some(0)).then_some(path)
    });
    if found.is_none() {
        eprintln!("skipped: no Python program on this machine holds its own runtime");
    }
    found
}

#[test]
fn a_process_is_known_by_content_whatever_its_program_is_called() {
    let Some(program) = static_python() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let renamed = folder.path().join("app-server");
    std::fs::copy(&program, &renamed).expect("copied");
    let python = Python::start(&renamed, "");

    let output = keyhole(&["inspect", "--format", "json", "--pid", &python.pid()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let alive = reports(&output);
    assert_eq!(alive.len(), 1);
    assert_eq!(alive[0]["status"], "resolved");
    assert_eq!(alive[0]["file"]["path"], renamed.to_str().expect("UTF-8"));
    assert_eq!(alive[0]["processes"][0]["pid"].to_string(), python.pid());

    // The same bytes give the same routes as the file on disk.
    let from_file =
        reports(&keyhole(&["inspect", "--format", "json", program.to_str().expect("UTF-8")]));
    assert_eq!(alive[0]["routes"], from_file[0]["routes"]);

    // Deleted, and then replaced by something else: still the mapped file.
    std::fs::remove_file(&renamed).expect("removed");
    let deleted = reports(&keyhole(&["inspect", "--format", "json", "--pid", &python.pid()]));
    assert_eq!(deleted[0]["routes"], alive[0]["routes"]);
    std::fs::write(&renamed, "another file").expect("written");
    let replaced = reports(&keyhole(&["inspect", "--format", "json", "--pid", &python.pid()]));
    assert_eq!(replaced[0]["routes"], alive[0]["routes"]);
}

#[test]
fn every_copy_in_a_process_is_reported_and_every_file_once() {
    let Some(program) = static_python() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("second");
    std::fs::copy(&program, &copy).expect("copied");
    let map = format!(
        "import mmap\nfile = open({:?}, 'rb')\n\
         second = mmap.mmap(file.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC)",
        copy.to_str().expect("UTF-8")
    );
    let both = Python::start(&program, &map);
    let one = Python::start(&program, "");

    let output = keyhole(&["inspect", "--format", "json", "--pid", &both.pid(), &one.pid()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let reports = reports(&output);
    assert_eq!(reports.len(), 2, "one report per file, not per process");
    let of = |path: &Path| {
        let path = path.to_str().expect("UTF-8");
        reports.iter().find(|report| report["file"]["path"] == path).expect("a report of the file")
    };
    assert_eq!(of(&program)["processes"].as_array().expect("a list").len(), 2);
    assert_eq!(of(&copy)["processes"].as_array().expect("a list").len(), 1);
    for report in &reports {
        let codes = report["diagnoses"].as_array().expect("a list");
        assert!(codes.iter().any(|finding| finding["code"] == "two-runtimes"), "{report}");
    }
}

#[test]
fn a_process_without_python_is_no_answer_and_a_missing_one_is_a_failure() {
    let mut child = Command::new("sleep").arg("60").spawn().expect("sleep starts");
    let output = keyhole(&["inspect", "--pid", &child.id().to_string()]);
    child.kill().expect("killed");
    child.wait().expect("ended");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("Python runtime"));

    // Above the kernel's largest process id (4194304 on 64-bit machines).
    let output = keyhole(&["inspect", "--pid", "4194305"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("no such process"));
}
