//! Runs `keyhole record` and reads the samples it writes.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fmt::{self, Debug},
    process::Command,
};

/// A frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// The function as shown.
    pub(crate) name: String,
    /// The file.
    pub(crate) file: String,
    /// The line; zero when none was told.
    pub(crate) line: u32,
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}:{})", self.name, self.file, self.line)
    }
}

/// A sample.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sample {
    /// Process id.
    pub(crate) pid: u32,
    /// State of the GIL.
    pub(crate) gil: String,
    /// How the owned state compares with the current one.
    pub(crate) thread_state: String,
    /// Whether the thread made the state.
    pub(crate) pthread_id: String,
    /// How the walk ended.
    pub(crate) status: String,
    /// Native boundaries.
    pub(crate) natives: usize,
    /// Frames, innermost first.
    pub(crate) frames: Vec<Frame>,
}

/// What `keyhole record` wrote.
#[derive(Debug)]
pub(crate) struct Recording {
    pub(crate) samples: Vec<Sample>,
    /// What a command that was run wrote before the first sample.
    pub(crate) before_samples: String,
    pub(crate) lost: u64,
    pub(crate) truncated: u64,
    pub(crate) symbols_lost: u64,
    /// Standard error.
    pub(crate) errors: String,
}

impl Recording {
    /// Samples with at least one frame.
    pub(crate) fn with_stack(&self) -> impl Iterator<Item = &Sample> {
        self.samples.iter().filter(|sample| !sample.frames.is_empty())
    }

    /// Names of all functions.
    pub(crate) fn functions(&self) -> BTreeSet<String> {
        self.with_stack()
            .flat_map(|sample| &sample.frames)
            .map(|frame| frame.name.clone())
            .collect()
    }
}

/// Runs `keyhole record --format text` with these arguments. With `-p` it ends
/// after 600 samples or as many as `-n` says; a busy machine may need long for them.
pub(crate) fn record<S: AsRef<OsStr> + Debug>(arguments: &[S]) -> Recording {
    record_under(&[], arguments)
}

/// The same under other commands.
pub(crate) fn record_under<S: AsRef<OsStr> + Debug>(under: &[&str], arguments: &[S]) -> Recording {
    let has = |option: &str| arguments.iter().any(|argument| argument.as_ref() == option);
    let words = [under, &[env!("CARGO_BIN_EXE_keyhole")]].concat();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).args(["record", "--format", "text", "--native-threads"]);
    if has("-p") {
        command.args(["-r", "4999", "-d", "60s"]);
        if !has("-n") {
            command.args(["-n", "600"]);
        }
    }
    let output = command.args(arguments).output().expect("keyhole runs");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{arguments:?}: {errors}");
    parse(&String::from_utf8_lossy(&output.stdout), errors)
}

fn parse(text: &str, errors: String) -> Recording {
    let mut recording = Recording {
        samples: Vec::new(),
        before_samples: String::new(),
        lost: u64::MAX,
        truncated: u64::MAX,
        symbols_lost: u64::MAX,
        errors,
    };
    for line in text.lines() {
        let number =
            || line.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(u64::MAX);
        if let Some(rest) = line.strip_prefix("PID: ") {
            let pid = rest.split(' ').next().and_then(|pid| pid.parse().ok()).expect("a pid");
            recording.samples.push(Sample { pid, ..Sample::default() });
        } else if line.ends_with(" samples lost") {
            recording.lost = number();
        } else if line.ends_with(" samples with truncated stack") {
            recording.truncated = number();
        } else if line.ends_with(" times Python symbol lost") {
            recording.symbols_lost = number();
        } else if let Some(sample) = recording.samples.last_mut() {
            if line == "    [native]" {
                sample.natives += 1;
            } else if let Some(frame) = line.strip_prefix("    ") {
                sample.frames.push(parse_frame(frame));
            } else if let Some((name, value)) = line.split_once(": ") {
                let field = match name {
                    "GIL State" => &mut sample.gil,
                    "Thread State" => &mut sample.thread_state,
                    "PthreadID State" => &mut sample.pthread_id,
                    "Stack Status" => &mut sample.status,
                    _ => continue,
                };
                value.clone_into(field);
            }
        } else {
            recording.before_samples.push_str(line);
            recording.before_samples.push('\n');
        }
    }
    recording
}

/// `name (file:line)`, without a line, or only a name.
fn parse_frame(text: &str) -> Frame {
    let whole = || Frame { name: text.to_owned(), file: String::new(), line: 0 };
    let Some((name, place)) = text.rsplit_once(" (") else { return whole() };
    let Some(place) = place.strip_suffix(')') else { return whole() };
    let (file, line) = match place.rsplit_once(':') {
        Some((file, line)) if line.parse::<u32>().is_ok() => (file, line.parse().unwrap_or(0)),
        _ => (place, 0),
    };
    Frame { name: name.to_owned(), file: file.to_owned(), line }
}
