//! The compilers and linkers: which there are, how each is called, and how a
//! missing one is installed.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Context, Result};

use super::factors::{Arch, Compiler, Linker};
use super::shape::Shape;
use crate::shell;
use crate::toolchain::ensure_apt;

/// Debian packages with everything but zig.
const PACKAGES: &[&str] = &[
    "gcc-11",
    "gcc-12",
    "gcc-11-aarch64-linux-gnu",
    "gcc-12-aarch64-linux-gnu",
    "libc6-dev-arm64-cross",
    "clang-14",
    "clang-19",
    "clang-22",
    "libclang-rt-14-dev",
    "libclang-rt-19-dev",
    "libclang-rt-22-dev",
    "lld-14",
    "lld-19",
    "lld-22",
    "mold",
    "musl-tools",
    "qemu-user-static",
];

/// The version of zig's package on PyPI.
const ZIG: &str = "0.17.1";

/// Where the tools lie.
#[derive(Debug)]
pub(crate) struct Tools {
    folder: PathBuf,
    zig: PathBuf,
    /// What programs say to `--version`, by their command.
    versions: Mutex<BTreeMap<Vec<String>, String>>,
}

impl Tools {
    /// Finds all tools, installing what is missing; zig only if asked for.
    ///
    /// # Errors
    /// Something is missing that cannot be installed here.
    pub(crate) fn ready(folder: &Path, with_zig: bool) -> Result<Self> {
        ensure_apt(PACKAGES)?;
        let folder = folder.join("tools");
        let zig = folder.join(format!("zig-{ZIG}"));
        if with_zig && !zig.join("ziglang/zig").is_file() {
            println!("installing zig {ZIG} from PyPI into {}", zig.display());
            shell::output(
                shell::command("python3")
                    .args(["-m", "pip", "install", "--quiet", "--no-deps", "--target"])
                    .arg(&zig)
                    .arg(format!("ziglang=={ZIG}")),
            )?;
        }
        let tools = Self { zig: zig.join("ziglang/zig"), folder, versions: Mutex::default() };
        for arch in Arch::ALL {
            for compiler in Compiler::ALL {
                for linker in Linker::ALL {
                    tools.link_as_ld(*compiler, *arch, *linker)?;
                }
            }
        }
        Ok(tools)
    }

    /// A folder in which `ld` is the linker, for gcc's `-B`: cross compilers
    /// know no other way to be given mold or lld.
    fn link_as_ld(&self, compiler: Compiler, arch: Arch, linker: Linker) -> Result<()> {
        let folder = self.linker_folder(compiler, arch, linker);
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        let target = Self::linker_program(compiler, arch, linker);
        let link = folder.join("ld");
        if std::fs::read_link(&link).ok().as_deref() != Some(&target) {
            let _ = std::fs::remove_file(&link);
            symlink(&target, &link).with_context(|| format!("cannot create {}", link.display()))?;
        }
        Ok(())
    }

    fn linker_folder(&self, compiler: Compiler, arch: Arch, linker: Linker) -> PathBuf {
        self.folder.join(format!("ld-{}-{}-{}", compiler.word(), arch.word(), linker.word()))
    }

    /// Whether a compiler is used with lld 14, which does not know
    /// `-z pack-relative-relocs`.
    pub(crate) fn has_old_lld(compiler: Compiler) -> bool {
        matches!(compiler, Compiler::Clang14 | Compiler::Gcc11)
    }

    fn linker_program(compiler: Compiler, arch: Arch, linker: Linker) -> PathBuf {
        let gnu = |name: &str| match arch {
            Arch::X86_64 => format!("/usr/bin/x86_64-linux-gnu-ld.{name}"),
            Arch::Aarch64 => format!("/usr/bin/aarch64-linux-gnu-ld.{name}"),
        };
        match linker {
            Linker::Bfd => gnu("bfd"),
            Linker::Gold => gnu("gold"),
            Linker::Mold => "/usr/bin/mold".into(),
            Linker::Lld => match compiler {
                _ if Self::has_old_lld(compiler) => "/usr/bin/ld.lld-14",
                Compiler::Clang19 | Compiler::MuslGcc => "/usr/bin/ld.lld-19",
                _ => "/usr/bin/ld.lld-22",
            }
            .into(),
        }
        .into()
    }

    /// The driver of a compiler for an architecture, with what it always needs.
    pub(crate) fn driver(&self, compiler: Compiler, arch: Arch) -> Vec<String> {
        let clang = |version: u32| {
            let mut words = vec![format!("clang-{version}")];
            if arch == Arch::Aarch64 {
                words.push("--target=aarch64-linux-gnu".into());
            }
            words
        };
        let gcc = |version: u32| match arch {
            Arch::X86_64 => vec![format!("gcc-{version}")],
            Arch::Aarch64 => vec![format!("aarch64-linux-gnu-gcc-{version}")],
        };
        let zig = |libc: &str| {
            vec![
                self.zig.display().to_string(),
                "cc".into(),
                "-target".into(),
                format!("{}-linux-{libc}", arch.word()),
            ]
        };
        match compiler {
            Compiler::Gcc11 => gcc(11),
            Compiler::Gcc12 => gcc(12),
            Compiler::Clang14 => clang(14),
            Compiler::Clang19 => clang(19),
            Compiler::Clang22 => clang(22),
            // Not newer than the glibc that runs the result.
            Compiler::ZigGlibc => zig("gnu.2.31"),
            Compiler::ZigMusl => zig("musl"),
            Compiler::MuslGcc => vec!["musl-gcc".into()],
        }
    }

    /// Adds the options that choose the linker.
    pub(crate) fn linker(&self, shape: &Shape, link: &mut Vec<String>) {
        if shape.is_zig() {
            return;
        }
        if shape.is_clang() {
            let program = Self::linker_program(shape.compiler, shape.arch, shape.linker);
            link.push(format!("--ld-path={}", program.display()));
        } else {
            let folder = self.linker_folder(shape.compiler, shape.arch, shape.linker);
            link.push(format!("-B{}", folder.display()));
        }
    }

    /// The versions of the compiler and the linker that make a shape.
    ///
    /// # Errors
    /// A tool cannot be started.
    pub(crate) fn versions(&self, shape: &Shape) -> Result<String> {
        let linker = Self::linker_program(shape.compiler, shape.arch, shape.linker);
        let compiler = self.version(self.driver(shape.compiler, shape.arch))?;
        if shape.is_zig() {
            return Ok(compiler);
        }
        Ok(compiler + &self.version(vec![linker.display().to_string()])?)
    }

    fn version(&self, program: Vec<String>) -> Result<String> {
        let mut versions = self.versions.lock().expect("no worker panics with the lock");
        if let Some(version) = versions.get(&program) {
            return Ok(version.clone());
        }
        let version =
            shell::output(shell::command(&program[0]).args(&program[1..]).arg("--version"))?;
        versions.insert(program, version.clone());
        Ok(version)
    }

    /// The program that removes symbols, for an architecture.
    pub(crate) fn strip(arch: Arch) -> &'static str {
        match arch {
            Arch::X86_64 => "x86_64-linux-gnu-strip",
            Arch::Aarch64 => "aarch64-linux-gnu-strip",
        }
    }

    /// The folder of zig's caches.
    pub(crate) fn zig_cache(&self) -> PathBuf {
        self.folder.join("zig-cache")
    }
}
