//! Finds the compilers that targets without `std` need, and installs what is
//! missing.
//!
//! There are two kinds of machine. Where rustup can download, it adds the
//! target. Where only package registries are in reach, Debian's `rustc-web`
//! and `cargo-web` build the standard library from source for the target;
//! they live in `/usr/bin`, beside rustup's in the user's folder, and are
//! called by their full path. Every function here is cheap when nothing is
//! missing.

use std::fmt;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::shell;

/// A cargo that builds for one target.
#[derive(Clone, Debug)]
pub(crate) struct CrossCargo {
    /// The target triple.
    target: &'static str,
    /// Which compiler builds, and how.
    compiler: Compiler,
    /// The linker for the target, where the compiler has none of its own.
    linker: Option<PathBuf>,
}

#[derive(Clone, Debug)]
enum Compiler {
    /// The cargo that runs xtask, with the target added by rustup.
    Rustup,
    /// The cargo that runs xtask, building the standard library from rustup's
    /// `rust-src` for the target.
    RustupSource(&'static str),
    /// rustup's nightly with its `rust-src`, building these crates of the
    /// standard library for the target.
    Nightly(&'static str),
    /// Debian's, building these crates of the standard library for the target.
    Debian(&'static str),
    /// Debian's, with the target's standard library from a package.
    DebianReady,
}

impl CrossCargo {
    /// `cargo SUBCOMMAND --target …` at the root of the workspace.
    ///
    /// Build products lie under `target/cross/TRIPLE`, so that compilers of
    /// two versions do not evict each other's.
    pub(crate) fn cargo(&self, subcommand: &str) -> Command {
        let mut command = match self.compiler {
            Compiler::Rustup => shell::cargo(),
            Compiler::RustupSource(_) => {
                let mut command = shell::cargo();
                command.env("RUSTC_BOOTSTRAP", "1");
                command
            }
            Compiler::Nightly(_) => {
                let mut command = shell::command("rustup");
                command
                    .args(["run", "nightly", "cargo"])
                    .env_remove("RUSTUP_TOOLCHAIN")
                    .env_remove("RUSTC");
                command
            }
            Compiler::Debian(_) | Compiler::DebianReady => {
                let mut command = shell::command(DEBIAN_CARGO);
                command.env("RUSTC", DEBIAN_RUSTC).env("RUSTC_BOOTSTRAP", "1").env_remove("CARGO");
                command
            }
        };
        command.arg(subcommand).args(["--target", self.target, "--target-dir", "target/cross"]);
        if let Compiler::Nightly(crates)
        | Compiler::Debian(crates)
        | Compiler::RustupSource(crates) = self.compiler
        {
            command.arg(format!("-Zbuild-std={crates}"));
        }
        if self.target == WEB {
            command.arg("-Zbuild-std-features=optimize_for_size");
        }
        if let Some(linker) = &self.linker {
            let name = self.target.replace('-', "_").to_uppercase();
            command.env(format!("CARGO_TARGET_{name}_LINKER"), linker);
        }
        command
    }

    /// Where `--release` (`release`) or a named profile's products lie.
    pub(crate) fn products(&self, profile: &str) -> PathBuf {
        shell::root().join("target/cross").join(self.target).join(profile)
    }
}

impl fmt::Display for CrossCargo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let compiler = match self.compiler {
            Compiler::Rustup => "rustup's toolchain",
            Compiler::RustupSource(_) => "rustup's toolchain, standard library from source",
            Compiler::Nightly(_) => "rustup's nightly, standard library from source",
            Compiler::Debian(_) => "Debian's rustc-web, standard library from source",
            Compiler::DebianReady => "Debian's rustc-web",
        };
        write!(f, "{}: {compiler}, into {}", self.target, self.products("release").display())
    }
}

/// The target of what runs in browsers: downloaded, so built for size.
const WEB: &str = "wasm32-unknown-unknown";

const DEBIAN_CARGO: &str = "/usr/bin/cargo";
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";

/// Builds for `x86_64-unknown-none`: `core` and `alloc`, no `std` at all.
///
/// # Errors
/// Neither rustup nor apt can provide the target.
pub(crate) fn bare_toolchain() -> Result<CrossCargo> {
    let target = "x86_64-unknown-none";
    if rustup_target(target)? {
        return Ok(CrossCargo { target, compiler: Compiler::Rustup, linker: None });
    }
    ensure_apt(&["rustc-web", "cargo-web", "rust-web-src"])?;
    Ok(CrossCargo { target, compiler: Compiler::Debian("core,alloc"), linker: None })
}

/// Builds for `wasm32-unknown-unknown`, the standard library from source and
/// for size: as rustup ships it, it makes the modules a tenth larger.
///
/// # Errors
/// Neither rustup nor apt can provide the target.
pub(crate) fn wasm_toolchain() -> Result<CrossCargo> {
    let target = WEB;
    let crates = "std,panic_abort";
    if rustup_target(target)? && rustup_source()? {
        let compiler = Compiler::RustupSource(crates);
        return Ok(CrossCargo { target, compiler, linker: None });
    }
    ensure_apt(&["rustc-web", "cargo-web", "rust-web-src"])?;
    let linker = match sysroot_lld()? {
        Some(linker) => linker,
        None => {
            ensure_apt(&["lld-22"])?;
            PathBuf::from("/usr/bin/wasm-ld-22")
        }
    };
    Ok(CrossCargo { target, compiler: Compiler::Debian(crates), linker: Some(linker) })
}

/// Builds for `bpfel-unknown-none` and links with `bpf-linker`.
///
/// # Errors
/// Neither rustup nor apt can provide the target, or `bpf-linker` cannot be
/// built.
pub(crate) fn bpf_toolchain() -> Result<CrossCargo> {
    let target = "bpfel-unknown-none";
    // Where Debian's compiler is installed, it needs no download.
    if !apt_has("libstd-rust-web-dev-bpf")
        && nightly_with_source()?
        && let Some(linker) = nightly_bpf_linker()?
    {
        return Ok(CrossCargo {
            target,
            compiler: Compiler::Nightly("core"),
            linker: Some(linker),
        });
    }
    ensure_apt(&[
        "rustc-web",
        "cargo-web",
        "libstd-rust-web-dev-bpf",
        "rust-web-llvm",
        "llvm-22-dev",
    ])?;
    // The linker has to read the bitcode of the compiler's LLVM: rustc 1.96
    // of Debian has LLVM 22, and so has `llvm-22-dev`.
    let linker = match bpf_linker_in_path() {
        Some(linker) => linker,
        None => build_bpf_linker(22, Path::new("/usr/lib/llvm-22"), &tools()?)?,
    };
    Ok(CrossCargo { target, compiler: Compiler::DebianReady, linker: Some(linker) })
}

/// LLVM's versions that `bpf-linker` 0.13 can be built with.
const BPF_LINKER_LLVM: RangeInclusive<u32> = 21..=23;

/// A `bpf-linker` that reads what rustup's nightly writes: the one in `PATH`,
/// or one built with nightly's own LLVM. `None` where that LLVM is not a
/// shared library, or of a version that `bpf-linker` does not know.
fn nightly_bpf_linker() -> Result<Option<PathBuf>> {
    if let Some(linker) = bpf_linker_in_path() {
        return Ok(Some(linker));
    }
    let folder = nightly_sysroot()?.join("lib");
    let entries = std::fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
    let library = entries.filter_map(Result::ok).find_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let version = name.strip_prefix("libLLVM.so.")?.split('.').next()?.parse().ok()?;
        BPF_LINKER_LLVM.contains(&version).then_some((version, name))
    });
    let Some((version, name)) = library else { return Ok(None) };
    // Its name is not the one that linkers look for. The linker finds it at
    // run time by the same folder.
    let prefix = tools()?.join(&name);
    let links = prefix.join("lib");
    std::fs::create_dir_all(&links).with_context(|| links.display().to_string())?;
    for link in [links.join("libLLVM.so"), links.join(&name)] {
        if !link.is_symlink() {
            std::os::unix::fs::symlink(folder.join(&name), &link)
                .with_context(|| link.display().to_string())?;
        }
    }
    build_bpf_linker(version, &prefix, &prefix).map(Some)
}

/// The `bpf-linker` built from crates.io, into `root`, with the LLVM of this
/// version under `llvm`.
fn build_bpf_linker(version: u32, llvm: &Path, root: &Path) -> Result<PathBuf> {
    let feature = format!("llvm-{version}");
    let arguments = ["--no-default-features", "--features", &feature];
    cargo_install("bpf-linker", "^0.13", &arguments, &[("LLVM_PREFIX", llvm)], root)
}

fn bpf_linker_in_path() -> Option<PathBuf> {
    shell::has_program("bpf-linker").then(|| "bpf-linker".into())
}

/// Where programs from crates.io are installed.
///
/// # Errors
/// The folder cannot be made.
pub(crate) fn tools() -> Result<PathBuf> {
    Ok(shell::scratch()?.join("tools"))
}

/// A program from crates.io, built once into `root`.
///
/// `requirement` is a cargo version requirement. Returns the path of the
/// program that has the crate's name.
///
/// # Errors
/// It cannot be downloaded or built.
pub(crate) fn cargo_install(
    name: &str,
    requirement: &str,
    arguments: &[&str],
    environment: &[(&str, &Path)],
    root: &Path,
) -> Result<PathBuf> {
    let program = root.join("bin").join(name);
    if !program.is_file() {
        println!("{name} is missing; building it from crates.io (once, some minutes)");
        shell::run(
            shell::cargo()
                .args(["install", "--quiet", name, "--version", requirement, "--root"])
                .arg(root)
                .args(arguments)
                .envs(environment.iter().copied()),
        )?;
    }
    Ok(program)
}

/// Makes sure that these Debian packages are installed.
///
/// # Errors
/// Some are missing and this machine has no apt, we are not root, or apt
/// fails. The error carries the command that a user can run.
pub(crate) fn ensure_apt(packages: &[&str]) -> Result<()> {
    let missing: Vec<&str> = packages.iter().copied().filter(|name| !apt_has(name)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let words = missing.join(" ");
    if !shell::has_program("apt-get") {
        bail!("this needs the Debian packages {words}, and there is no apt-get on this machine");
    }
    if !is_root() {
        bail!("this needs packages that only root can install: sudo apt-get install {words}");
    }
    println!("installing with apt: {words}");
    let install = || {
        let mut command = apt();
        command.args(["install", "--yes", "--no-install-recommends"]).args(&missing);
        command
    };
    // The package lists may be missing or too old to name what the mirror has.
    if shell::output(&mut install()).is_err() {
        shell::run(apt().arg("update"))?;
        shell::run(&mut install())?;
    }
    Ok(())
}

/// `apt-get`, without questions, waiting for another apt to finish.
fn apt() -> Command {
    let mut command = shell::command("apt-get");
    command.args(["--quiet=2", "-o", "DPkg::Lock::Timeout=600"]);
    command.env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
    command
}

fn apt_has(package: &str) -> bool {
    shell::output(shell::command("dpkg-query").args([
        "--show",
        "--showformat=${db:Status-Status}",
        package,
    ]))
    .is_ok_and(|status| status.trim() == "installed")
}

/// Whether this process may install packages.
pub(crate) fn is_root() -> bool {
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| {
        status
            .lines()
            .find_map(|line| line.strip_prefix("Uid:"))
            .and_then(|ids| ids.split_whitespace().nth(1))
            .is_some_and(|effective| effective == "0")
    })
}

/// Whether the toolchain that runs xtask can build for `target`; adds the
/// target when rustup can.
fn rustup_target(target: &str) -> Result<bool> {
    let installed = Path::new(&sysroot()?).join("lib/rustlib").join(target).join("lib").is_dir();
    Ok(installed || rustup_can(&["target", "add", target])?)
}

/// Whether the toolchain that runs xtask has the standard library's source;
/// adds it when rustup can.
fn rustup_source() -> Result<bool> {
    let installed = Path::new(&sysroot()?).join("lib/rustlib/src/rust/library").is_dir();
    Ok(installed || rustup_can(&["component", "add", "rust-src"])?)
}

/// Whether rustup's nightly and its `rust-src` are here or can be had.
fn nightly_with_source() -> Result<bool> {
    match nightly_sysroot() {
        Ok(sysroot) if sysroot.join("lib/rustlib/src/rust/library").is_dir() => Ok(true),
        // `toolchain install` would bring a nightly that is there up to date,
        // which is not ours to do.
        Ok(_) => rustup_can(&["component", "add", "rust-src", "--toolchain=nightly"]),
        Err(_) => rustup_can(&[
            "toolchain",
            "install",
            "nightly",
            "--profile=minimal",
            "--component=rust-src",
        ]),
    }
}

fn nightly_sysroot() -> Result<PathBuf> {
    let mut rustc = shell::command("rustup");
    rustc.args(["run", "nightly", "rustc", "--print=sysroot"]);
    Ok(PathBuf::from(shell::output(&mut rustc)?.trim()))
}

/// Runs rustup, and remembers under `target/` when it could not do this, so
/// that the next run does not wait for the network again.
fn rustup_can(arguments: &[&str]) -> Result<bool> {
    if !shell::has_program("rustup") {
        return Ok(false);
    }
    let stamp =
        shell::scratch()?.join(format!("rustup-cannot-{}", arguments.join("-").replace('/', "_")));
    if stamp.is_file() {
        return Ok(false);
    }
    println!("asking rustup: {}", arguments.join(" "));
    match shell::output(shell::command("rustup").args(arguments)) {
        Ok(_) => Ok(true),
        Err(error) => {
            println!(
                "rustup could not do that; Debian's compilers are used instead ({} remembers it)",
                stamp.display()
            );
            std::fs::write(&stamp, format!("{error:#}\n"))
                .with_context(|| format!("cannot write {}", stamp.display()))?;
            Ok(false)
        }
    }
}

fn sysroot() -> Result<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    Ok(shell::output(shell::command(rustc).arg("--print=sysroot"))?.trim().to_owned())
}

/// The `rust-lld` in the sysroot of the toolchain that runs xtask.
fn sysroot_lld() -> Result<Option<PathBuf>> {
    let host = std::env::consts::ARCH;
    let path =
        Path::new(&sysroot()?).join(format!("lib/rustlib/{host}-unknown-linux-gnu/bin/rust-lld"));
    Ok(path.is_file().then_some(path))
}
