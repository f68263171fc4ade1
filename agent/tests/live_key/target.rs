//! A running Python that says what is true of its threads.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::process::Process;
use crate::pythons::{Library, Python};

/// How long a process may take to reach a known state.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is true of one thread, as the interpreter's own API says.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Facts {
    pub(crate) tid: u32,
    pub(crate) thread_pointer: u64,
    /// `PyThreadState_Get`, while it holds the GIL.
    pub(crate) attached: u64,
    /// `PyGILState_GetThisThreadState`.
    pub(crate) owned: u64,
}

/// What the script prints.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Said {
    pub(crate) machine: String,
    pub(crate) python: String,
    pub(crate) glibc: String,
    pub(crate) main: Facts,
    pub(crate) other: Facts,
    /// The ends for reading and writing of the pipes it waits on in turn.
    main_pipes: [[i32; 2]; 3],
    other_pipes: [[i32; 2]; 2],
}

/// A state of the process in which both threads wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Nobody holds the GIL.
    Released,
    /// The main thread holds it.
    MainHolds,
    /// The other thread holds it.
    OtherHolds,
}

/// The phases, in the order in which a process has to go through them.
pub(crate) const PHASES: [Phase; 3] = [Phase::Released, Phase::MainHolds, Phase::OtherHolds];

/// A running Python. Ended when dropped.
#[derive(Debug)]
pub(crate) struct Target {
    child: Child,
    _output: BufReader<ChildStdout>,
    pub(crate) process: Process,
    pub(crate) said: Said,
}

impl Target {
    /// Starts an interpreter with `keys` pthread keys made before it.
    /// Without `preload` no keys can be made.
    ///
    /// # Errors
    /// In words, why it does not run.
    pub(crate) fn start(
        python: &Python,
        preload: Option<&Path>,
        keys: u32,
    ) -> Result<Self, String> {
        let place = Place::make(python, preload)?;
        let mut command = python.interpreter();
        place.prepare(&mut command, keys);
        command.arg(&place.script);
        Self::run(command)
    }

    /// Starts a program that is no Python, with `keys` pthread keys made
    /// first, and loads `library` into it with `dlopen`.
    ///
    /// # Errors
    /// In words, why it does not run.
    pub(crate) fn start_late(
        python: &Python,
        library: &Library,
        preload: &Path,
        keys: u32,
    ) -> Result<Self, String> {
        let place = Place::make(python, Some(preload))?;
        let mut command = python.command(Path::new("/bin/cat"));
        place.prepare(&mut command, keys);
        command
            .env("KEYHOLE_LATE", &library.path)
            .env("KEYHOLE_SCRIPT", &place.script)
            .env("PYTHONHOME", &library.home);
        Self::run(command)
    }

    fn run(mut command: Command) -> Result<Self, String> {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start {command:?}: {error}"))?;
        let mut output = BufReader::new(child.stdout.take().ok_or("no standard output")?);
        let mut line = String::new();
        output.read_line(&mut line).map_err(|error| error.to_string())?;
        let said: Said = match serde_json::from_str(&line) {
            Ok(said) => said,
            Err(error) => {
                let ended = child.wait_with_output().map_err(|error| error.to_string())?;
                return Err(format!(
                    "{command:?} said {line:?} ({error}) and {}",
                    String::from_utf8_lossy(&ended.stderr)
                ));
            }
        };
        let process = Process::open(child.id()).map_err(|error| error.to_string())?;
        Ok(Self { child, _output: output, process, said })
    }

    /// Brings the process into a phase, coming from the one before it.
    ///
    /// # Errors
    /// In words, that the process did not get there.
    pub(crate) fn enter(&self, phase: Phase) -> Result<(), String> {
        let Said { main, other, main_pipes, other_pipes, .. } = &self.said;
        match phase {
            Phase::Released => {
                self.await_read(main, main_pipes[0])?;
                self.await_read(other, other_pipes[0])
            }
            Phase::MainHolds => {
                self.let_go_on(main_pipes[0])?;
                self.await_read(main, main_pipes[1])
            }
            Phase::OtherHolds => {
                self.let_go_on(main_pipes[1])?;
                self.await_read(main, main_pipes[2])?;
                self.let_go_on(other_pipes[0])?;
                self.await_read(other, other_pipes[1])
            }
        }
    }

    fn let_go_on(&self, [_, writing]: [i32; 2]) -> Result<(), String> {
        fs::write(format!("/proc/{}/fd/{writing}", self.child.id()), b".")
            .map_err(|error| format!("cannot write into the process's pipe: {error}"))
    }

    fn await_read(&self, thread: &Facts, [reading, _]: [i32; 2]) -> Result<(), String> {
        let start = Instant::now();
        while !self.process.reads_from(thread.tid, reading) {
            if start.elapsed() > PATIENCE {
                return Err(format!("thread {} never waited on {reading}", thread.tid));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        // The process may be gone already, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Paths of what a target needs, as it sees them.
struct Place {
    script: std::path::PathBuf,
    preload: Option<std::path::PathBuf>,
}

impl Place {
    /// Puts script and preload where the Python can read them.
    fn make(python: &Python, preload: Option<&Path>) -> Result<Self, String> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/live_key/target.py");
        if python.sees_our_files() {
            return Ok(Self { script, preload: preload.map(Path::to_owned) });
        }
        let inside = Path::new("/tmp");
        let copy = |from: &Path, name: &str| {
            let to = inside.join(name);
            let outside = python.outside(&to);
            // Written beside and renamed: another test may use it.
            let fresh = outside.with_extension(format!("{}", std::process::id()));
            fs::copy(from, &fresh)
                .and_then(|_| fs::rename(&fresh, &outside))
                .map_err(|error| format!("{}: {error}", outside.display()))?;
            Ok::<_, String>(to)
        };
        Ok(Self {
            script: copy(&script, "keyhole-target.py")?,
            preload: preload.map(|preload| copy(preload, "keyhole-preload.so")).transpose()?,
        })
    }

    fn prepare(&self, command: &mut Command, keys: u32) {
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("PYTHON") {
                command.env_remove(&name);
            }
        }
        if let Some(preload) = &self.preload {
            command.env("LD_PRELOAD", preload).env("KEYHOLE_KEYS", keys.to_string());
        }
        command.env("PYTHONDONTWRITEBYTECODE", "1");
    }
}
