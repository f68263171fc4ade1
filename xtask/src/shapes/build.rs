//! Making a shape: compile, link, strip, cut. What was made from the same
//! sources by the same tools with the same options is not made again.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::cut;
use super::factors::{Arch, Compiler, Post};
use super::recipe::{self, Recipe};
use super::shape::Shape;
use super::tools::Tools;
use crate::shell;

/// Where things lie, and what every build depends on.
#[derive(Debug)]
pub(crate) struct Workshop {
    /// The folder of the C sources.
    sources: PathBuf,
    /// `target/shapes`.
    folder: PathBuf,
    tools: Tools,
    /// Changes when a source changes.
    fingerprint: u64,
}

/// One shape on disk.
#[derive(Clone, Debug)]
pub(crate) struct Built {
    /// The object that is analyzed.
    pub(crate) object: PathBuf,
    /// The same with all symbols and section headers.
    pub(crate) twin: PathBuf,
    /// The compiled `truth.c` of its Python, architecture and C library.
    pub(crate) layout: PathBuf,
    /// It was there already.
    pub(crate) cached: bool,
}

impl Workshop {
    /// Makes the tools ready, zig only if asked for.
    ///
    /// # Errors
    /// A tool is missing and cannot be installed, or a source cannot be read.
    pub(crate) fn open(folder: PathBuf, with_zig: bool) -> Result<Self> {
        for name in ["objects", "parts"] {
            let path = folder.join(name);
            fs::create_dir_all(&path)
                .with_context(|| format!("cannot create {}", path.display()))?;
        }
        let tools = Tools::ready(&folder, with_zig)?;
        let sources = shell::root().join("shapes");
        let mut hasher = DefaultHasher::new();
        let mut names: Vec<PathBuf> = fs::read_dir(&sources)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<std::io::Result<_>>()?;
        names.sort();
        for name in names {
            fs::read(&name)
                .with_context(|| format!("cannot read {}", name.display()))?
                .hash(&mut hasher);
        }
        Ok(Self { sources, folder, tools, fingerprint: hasher.finish() })
    }

    /// Makes a shape, or finds it made.
    ///
    /// # Errors
    /// The compiler or the linker fails; the error carries what it said.
    pub(crate) fn build(&self, shape: &Shape) -> Result<Built> {
        let name = shape.name();
        let recipe = recipe::recipe(shape, &self.tools);
        let mut hasher = DefaultHasher::new();
        self.fingerprint.hash(&mut hasher);
        self.tools.versions(shape)?.hash(&mut hasher);
        (&recipe.driver, &recipe.compile, &recipe.link, &recipe.sources).hash(&mut hasher);
        let key = format!("{:016x}", hasher.finish());

        let objects = self.folder.join("objects");
        let object = objects.join(&name);
        let twin = match shape.post {
            Post::Keep => object.clone(),
            _ => objects.join(format!("{name}.twin")),
        };
        let stamp = objects.join(format!("{name}.key"));
        let layout = self.layout(shape)?;
        let cached = fs::read_to_string(&stamp).is_ok_and(|old| old == key)
            && object.is_file()
            && twin.is_file();
        if !cached {
            let _ = fs::remove_file(&stamp);
            self.make(shape, &recipe, &twin)?;
            match shape.post {
                Post::Keep => {}
                Post::Strip => strip(shape.arch, &twin, &object)?,
                Post::NoSections => {
                    strip(shape.arch, &twin, &object)?;
                    cut::section_headers(&object)?;
                }
            }
            fs::write(&stamp, key)?;
        }
        Ok(Built { object, twin, layout, cached })
    }

    fn make(&self, shape: &Shape, recipe: &Recipe, output: &Path) -> Result<()> {
        let mut parts = Vec::new();
        if recipe.is_program {
            for source in ["check", "exports"] {
                parts.push(self.program_part(shape, source)?);
            }
        }
        let mut command = self.command(&recipe.driver);
        command.args(&recipe.compile);
        command.args(recipe.sources.iter().map(|source| self.sources.join(source)));
        command.args(&parts).arg("-o").arg(output).args(&recipe.link);
        shell::output(&mut command).map(drop)
    }

    /// A source that programs have besides. Never link-time optimized, so that
    /// the linker keeps the functions whose addresses it takes.
    fn program_part(&self, shape: &Shape, source: &str) -> Result<PathBuf> {
        let pic = if shape.is_pic() { "-fPIE" } else { "-fno-pie" };
        let part = self.part(source, shape.compiler, shape, &[pic]);
        let defines = recipe::defines(shape.python);
        let source = format!("{source}.c");
        self.compile(shape.compiler, shape.arch, &source, &defines, &[pic], &part)?;
        Ok(part)
    }

    /// `truth.c` of the shape's Python.
    fn layout(&self, shape: &Shape) -> Result<PathBuf> {
        let compiler = recipe::layout_compiler(shape);
        let part = self.part("truth", compiler, shape, &[]);
        self.compile(compiler, shape.arch, "truth.c", &recipe::defines(shape.python), &[], &part)?;
        Ok(part)
    }

    fn part(&self, name: &str, compiler: Compiler, shape: &Shape, options: &[&str]) -> PathBuf {
        let words = [name, shape.python.word(), compiler.word(), shape.arch.word()];
        self.folder.join("parts").join(format!(
            "{}{}-{:016x}.o",
            words.join("-"),
            options.concat(),
            self.fingerprint
        ))
    }

    fn compile(
        &self,
        compiler: Compiler,
        arch: Arch,
        source: &str,
        defines: &[String],
        options: &[&str],
        part: &Path,
    ) -> Result<()> {
        if part.is_file() {
            return Ok(());
        }
        // Under another name first: another thread may make the same part.
        let draft = part.with_extension(format!("{:?}", std::thread::current().id()));
        let mut command = self.command(&self.tools.driver(compiler, arch));
        command.args(["-std=gnu11", "-O1", "-c"]).args(options).args(defines);
        command.arg(self.sources.join(source)).arg("-o").arg(&draft);
        shell::output(&mut command)?;
        fs::rename(&draft, part).with_context(|| format!("cannot make {}", part.display()))
    }

    /// The program that loads a library shape and checks it, for an
    /// architecture and a C library.
    ///
    /// # Errors
    /// It cannot be compiled.
    pub(crate) fn runner(&self, arch: Arch, musl: bool) -> Result<PathBuf> {
        let compiler = match (musl, arch) {
            (false, _) => Compiler::Gcc12,
            (true, Arch::X86_64) => Compiler::MuslGcc,
            (true, Arch::Aarch64) => bail!("there is no musl loader for this architecture here"),
        };
        let runner = self.folder.join("parts").join(format!(
            "runner-{}-{}-{:016x}",
            compiler.word(),
            arch.word(),
            self.fingerprint
        ));
        if !runner.is_file() {
            let draft = runner.with_extension(format!("{:?}", std::thread::current().id()));
            let mut command = self.command(&self.tools.driver(compiler, arch));
            command.args(["-std=gnu11", "-O1", "-DSHAPE_CHECK_ALONE", "-rdynamic"]);
            command.arg(self.sources.join("check.c")).arg("-o").arg(&draft);
            if !musl {
                command.args(["-ldl", "-lpthread"]);
            }
            shell::output(&mut command)?;
            fs::rename(&draft, &runner)?;
        }
        Ok(runner)
    }

    fn command(&self, driver: &[String]) -> Command {
        let mut command = shell::command(&driver[0]);
        command
            .args(&driver[1..])
            .env("ZIG_GLOBAL_CACHE_DIR", self.tools.zig_cache())
            .env("ZIG_LOCAL_CACHE_DIR", self.tools.zig_cache())
            .env("LC_ALL", "C");
        command
    }
}

fn strip(arch: Arch, twin: &Path, object: &Path) -> Result<()> {
    shell::output(shell::command(Tools::strip(arch)).arg("-s").arg("-o").arg(object).arg(twin))
        .map(drop)
}
