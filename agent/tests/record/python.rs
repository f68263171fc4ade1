//! The Pythons of this machine, and workloads that run on them.

use std::{
    ffi::{OsStr, OsString},
    fmt,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

/// A Python.
#[derive(Clone, Debug)]
pub(crate) struct Python {
    /// Its program.
    pub(crate) program: PathBuf,
    /// The folder that is its root, if not ours.
    pub(crate) root: Option<PathBuf>,
    /// Major version.
    pub(crate) major: u32,
    /// Minor version.
    pub(crate) minor: u32,
    /// Whether it runs without its GIL.
    pub(crate) free_threaded: bool,
    /// Where its library is, for a copy.
    home: Option<String>,
}

impl fmt::Display for Python {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Python {}.{} ({})", self.major, self.minor, self.program.display())
    }
}

/// Every Python to sample, oldest first.
pub(crate) fn all() -> Vec<Python> {
    let mut pythons: Vec<Python> = match std::env::var("KEYHOLE_PYTHONS") {
        Ok(list) => list.split(':').filter_map(Python::named).collect(),
        Err(_) => {
            let home = std::env::var("HOME").unwrap_or_default();
            let pyenv = std::env::var("PYENV_ROOT").unwrap_or_else(|_| format!("{home}/.pyenv"));
            let versions = std::fs::read_dir(Path::new(&pyenv).join("versions"));
            let programs = versions
                .into_iter()
                .flatten()
                .flatten()
                .map(|entry| entry.path().join("bin/python"));
            programs
                .chain([PathBuf::from("/usr/bin/python3")])
                .filter_map(|program| Python::of(program, None))
                .collect()
        }
    };
    pythons.sort_by_key(|python| (python.major, python.minor));
    pythons
}

/// The path of a workload.
pub(crate) fn workload(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/record/workloads").join(name)
}

impl Python {
    /// `PROGRAM` or `ROOT!PROGRAM`.
    fn named(name: &str) -> Option<Self> {
        match name.split_once('!') {
            Some((root, program)) => Self::of(PathBuf::from(program), Some(PathBuf::from(root))),
            None => Self::of(PathBuf::from(name), None),
        }
    }

    fn of(program: PathBuf, root: Option<PathBuf>) -> Option<Self> {
        let mut python =
            Self { program, root, major: 0, minor: 0, free_threaded: false, home: None };
        let code = "import sys; sys.stdout.write('%d %d %d %s' % (sys.version_info[0], sys.version_info[1], not getattr(sys, '_is_gil_enabled', lambda: True)(), getattr(sys, 'base_prefix', sys.prefix)))";
        let output = python.command(&[]).args(["-c", code]).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        let mut words = text.splitn(4, ' ');
        python.major = words.next()?.parse().ok()?;
        python.minor = words.next()?.parse().ok()?;
        python.free_threaded = words.next()? == "1";
        python.home = words.next().map(ToOwned::to_owned);
        Some(python)
    }

    /// The words of a command that runs it.
    pub(crate) fn words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        if let Some(root) = &self.root {
            words.extend(["chroot".into(), root.into()]);
        }
        words.push(self.program.clone().into());
        words
    }

    /// A command that runs it, under other commands.
    fn command(&self, under: &[&str]) -> Command {
        let mut words: Vec<OsString> = under.iter().map(OsString::from).collect();
        words.extend(self.words());
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        command
    }

    /// The path of a workload as this Python sees it.
    pub(crate) fn script(&self, name: &str) -> PathBuf {
        self.brought_in(&workload(name))
    }

    /// The path of a file as this Python sees it; copied into its root if that
    /// is not ours.
    pub(crate) fn brought_in(&self, file: &Path) -> PathBuf {
        let (Some(root), Some(name)) = (&self.root, file.file_name()) else {
            return file.to_owned();
        };
        // Another test may be reading an earlier copy.
        let copy = tempfile::NamedTempFile::new_in(root.join("tmp")).expect("a file in the root");
        std::fs::copy(file, &copy).expect("copied into the root");
        copy.persist(root.join("tmp").join(name)).expect("renamed in the root");
        Path::new("/tmp").join(name)
    }

    /// Where a path that this Python sees is.
    fn seen(&self, path: impl AsRef<Path>) -> PathBuf {
        match &self.root {
            Some(root) => root.join(path.as_ref().strip_prefix("/").expect("an absolute path")),
            None => path.as_ref().to_owned(),
        }
    }

    /// Whether its program holds the runtime itself.
    pub(crate) fn is_static(&self) -> bool {
        self.library("lib").is_none()
    }

    /// A shared library of the same version, if there is one: its own, or the
    /// one that Debian has beside a static program.
    pub(crate) fn any_library(&self) -> Option<PathBuf> {
        self.library("lib")
            .or_else(|| self.library(&format!("lib/{}-linux-gnu", std::env::consts::ARCH)))
    }

    /// The shared library in a folder of its installation, by our path.
    fn library(&self, folder: &str) -> Option<PathBuf> {
        let folder = self.seen(Path::new(self.home.as_ref()?).join(folder));
        let prefix = format!("libpython{}.{}", self.major, self.minor);
        std::fs::read_dir(folder)
            .ok()?
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| {
                path.file_name()
                    .and_then(OsStr::to_str)
                    .is_some_and(|name| name.starts_with(&prefix) && name.contains(".so."))
            })
            .min()
    }

    /// A folder that it sees under the same path as we do, below its root.
    pub(crate) fn folder(&self) -> tempfile::TempDir {
        tempfile::tempdir_in(self.seen(std::env::temp_dir())).expect("a folder")
    }

    /// A copy of its program in such a folder, and where we see that.
    pub(crate) fn copied_to(&self, folder: &tempfile::TempDir) -> (Self, PathBuf) {
        let ours = folder.path().join(COPY);
        std::fs::copy(self.seen(&self.program), &ours).expect("copied");
        let program = match &self.root {
            Some(root) => Path::new("/").join(ours.strip_prefix(root).expect("in the root")),
            None => ours.clone(),
        };
        (Self { program, ..self.clone() }, ours)
    }
}

/// The name of a copied program.
const COPY: &str = "a python";

/// A running workload; killed when dropped.
#[derive(Debug)]
pub(crate) struct Workload {
    child: Child,
}

impl Workload {
    /// Starts a workload and waits until it is ready.
    pub(crate) fn start(python: &Python, name: &str, arguments: &[&str]) -> Self {
        Self::launch(python, name, arguments, &[], &[])
    }

    /// The same with variables in its environment.
    pub(crate) fn start_with(
        python: &Python,
        name: &str,
        arguments: &[&str],
        environment: &[(&str, &OsStr)],
    ) -> Self {
        Self::launch(python, name, arguments, environment, &[])
    }

    /// The same under other commands.
    pub(crate) fn start_under(
        python: &Python,
        name: &str,
        arguments: &[&str],
        under: &[&str],
    ) -> Self {
        Self::launch(python, name, arguments, &[], under)
    }

    fn launch(
        python: &Python,
        name: &str,
        arguments: &[&str],
        environment: &[(&str, &OsStr)],
        under: &[&str],
    ) -> Self {
        let mut command = python.command(under);
        command
            .arg(python.script(name))
            .args(arguments)
            .stdout(Stdio::piped())
            .stdin(Stdio::null());
        command.envs(environment.iter().copied());
        if let Some(home) = &python.home
            && python.program.ends_with(COPY)
        {
            command.env("PYTHONHOME", home);
        }
        let mut child = command.spawn().expect("the workload starts");
        let mut lines = BufReader::new(child.stdout.take().expect("its output"));
        let mut line = String::new();
        lines.read_line(&mut line).expect("its first line");
        assert_eq!(line, "ready\n", "{python}: {name} is not ready");
        // Its further output goes nowhere, but the pipe must stay open.
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut lines, &mut std::io::sink());
        });
        Self { child }
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The same as an argument.
    pub(crate) fn pid(&self) -> String {
        self.id().to_string()
    }

    /// The innermost process that was started under it.
    pub(crate) fn descendant(&self) -> u32 {
        let mut pid = self.id();
        loop {
            let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))
                .unwrap_or_default();
            match children.split_whitespace().next().and_then(|child| child.parse().ok()) {
                Some(child) => pid = child,
                None => return pid,
            }
        }
    }
}

impl Drop for Workload {
    fn drop(&mut self) {
        let innermost = self.descendant();
        if innermost != self.id() {
            let _ = Command::new("kill").args(["-9", &innermost.to_string()]).status();
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A Python that stopped while it was being loaded: the files before the C
/// library are mapped. Killed when dropped.
#[derive(Debug)]
pub(crate) struct Loading {
    helper: Child,
    pid: u32,
}

impl Loading {
    /// Starts a workload with the helper that [`loading_helper`] built.
    pub(crate) fn start(helper: &Built, python: &Python, name: &str, arguments: &[&str]) -> Self {
        let mut helper = Command::new(&helper.file)
            .arg(python.root.as_deref().unwrap_or(Path::new("/")))
            .arg(&python.program)
            .arg(python.script(name))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the helper starts");
        let mut line = String::new();
        let output = helper.stdout.take().expect("its output");
        BufReader::new(output).read_line(&mut line).expect("its first line");
        let pid = line.trim_end().parse().expect("a process id");
        Self { helper, pid }
    }

    /// The process id of the Python.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Lets it go on.
    pub(crate) fn go_on(&mut self) {
        let mut input = self.helper.stdin.take().expect("its input");
        input.write_all(b"\n").expect("the helper listens");
    }
}

impl Drop for Loading {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-9", &self.pid.to_string()]).status();
        let _ = self.helper.kill();
        let _ = self.helper.wait();
    }
}

/// Something that was built from C.
#[derive(Debug)]
pub(crate) struct Built {
    _folder: tempfile::TempDir,
    file: PathBuf,
}

impl Built {
    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.file
    }
}

/// A library for `LD_PRELOAD` that makes pthread keys before Python can;
/// `None` without a C compiler.
pub(crate) fn key_burner() -> Option<Built> {
    let code = "#include <pthread.h>\n#include <stdlib.h>\n\
        __attribute__((constructor)) static void burn(void) {\n\
        const char *number = getenv(\"KEYHOLE_BURNT_KEYS\");\n\
        for (int i = 0; number && i < atoi(number); i++) { pthread_key_t key; pthread_key_create(&key, 0); }\n}\n";
    // Without a C library of its own it takes the process's, of any version.
    build(code, &["-shared", "-fPIC", "-nostdlib"])
}

/// The program that stops another while it is being loaded; `None` without a
/// C compiler.
pub(crate) fn loading_helper() -> Option<Built> {
    build(include_str!("loading.c"), &[])
}

fn build(code: &str, options: &[&str]) -> Option<Built> {
    let folder = tempfile::tempdir().ok()?;
    let (source, file) = (folder.path().join("source.c"), folder.path().join("built"));
    std::fs::write(&source, code).ok()?;
    let built = Command::new("cc").args(options).arg("-o").args([&file, &source]).status().ok()?;
    assert!(built.success(), "cc builds it");
    Some(Built { _folder: folder, file })
}
