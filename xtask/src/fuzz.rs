//! `cargo xtask fuzz [SECONDS] [TARGET…]`: fuzzes the analyzer.
//!
//! Seeds are small files and code from the shape factory's objects, as far as
//! it was run, and the regressions. The targets, and what they check, are in
//! `fuzz/`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use object::{Architecture, Object, ObjectSection, ObjectSymbol};

use crate::shell;
use crate::toolchain;

/// One fuzz target.
struct Target {
    name: &'static str,
    /// Longest input in bytes.
    longest: usize,
    /// Seeds made of one object of the shape factory.
    seeds: fn(&[u8]) -> Vec<Vec<u8>>,
}

const TARGETS: &[Target] = &[
    Target { name: "report", longest: 64 << 10, seeds: whole_files },
    Target { name: "lift", longest: 4 << 10, seeds: functions },
    Target { name: "function", longest: 4 << 10, seeds: entry_functions },
    Target { name: "reproducer", longest: 64 << 10, seeds: files_and_functions },
];

/// Memory of one fuzzing process, in MiB.
const MEMORY: u32 = 2048;
/// Seconds for one input, by the clock: all checks are on, and the machine may be busy.
const PATIENCE: u32 = 60;
/// Objects that seeds are made of.
const OBJECTS: usize = 60;

/// Fuzzes every target, or those named, each for so many seconds (60).
///
/// # Errors
/// A target found something; the error names the file that holds the input.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let mut seconds = 60;
    let mut names = Vec::new();
    for argument in arguments {
        match argument.parse() {
            Ok(number) => seconds = number,
            Err(_) => names.push(argument.as_str()),
        }
    }
    if let Some(unknown) =
        names.iter().find(|name| TARGETS.iter().all(|target| target.name != **name))
    {
        let known: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        bail!("there is no target {unknown}; the targets are {}", known.join(", "));
    }
    let cargo_fuzz = if shell::has_program("cargo-fuzz") {
        PathBuf::from("cargo-fuzz")
    } else {
        toolchain::cargo_install("cargo-fuzz", "^0.13", &[], &[], &toolchain::tools()?)?
    };
    let folder = shell::root().join("target/fuzz");
    let objects = objects()?;
    let mut found = Vec::new();
    for target in TARGETS.iter().filter(|target| names.is_empty() || names.contains(&target.name)) {
        let corpus = folder.join("corpus").join(target.name);
        let artifacts = folder.join("artifacts").join(target.name);
        for path in [&corpus, &artifacts] {
            fs::create_dir_all(path)
                .with_context(|| format!("cannot create {}", path.display()))?;
        }
        let count = sow(target, &objects, &corpus)?;
        println!("{}: {count} seeds in {}", target.name, corpus.display());
        let result =
            shell::run(&mut fuzz_command(&cargo_fuzz, target, seconds, &corpus, &artifacts));
        if let Err(error) = result {
            println!("{}: {error:#}", target.name);
            found.push(format!("{} ({})", target.name, artifacts.display()));
        }
    }
    if !found.is_empty() {
        bail!("found something: {}", found.join(", "));
    }
    Ok(())
}

fn fuzz_command(
    cargo_fuzz: &Path,
    target: &Target,
    seconds: u32,
    corpus: &Path,
    artifacts: &Path,
) -> Command {
    let mut command = shell::command(cargo_fuzz);
    command
        .args(["run", "--fuzz-dir", "fuzz", "--target-dir", "target/fuzz/build", target.name])
        .arg(corpus)
        .arg("--")
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-rss_limit_mb={MEMORY}"))
        .arg(format!("-timeout={PATIENCE}"))
        .arg(format!("-max_len={}", target.longest))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .arg("-print_final_stats=1")
        .env("RUSTUP_TOOLCHAIN", "nightly")
        .env_remove("RUSTC")
        .env_remove("CARGO");
    command
}

/// Some objects of the shape factory.
fn objects() -> Result<Vec<Vec<u8>>> {
    let folder = shell::root().join("target/shapes/objects");
    if !folder.is_dir() {
        println!("no shapes in {}: `cargo xtask shapes` makes better seeds", folder.display());
        return Ok(Vec::new());
    }
    let mut paths: Vec<PathBuf> = fs::read_dir(&folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<std::io::Result<_>>()?;
    paths.retain(|path| path.extension().is_none_or(|ending| ending != "key"));
    paths.sort();
    let step = (paths.len() / OBJECTS).max(1);
    paths
        .iter()
        .step_by(step)
        .map(|path| fs::read(path).with_context(|| format!("cannot read {}", path.display())))
        .collect()
}

/// Writes the seeds of a target; returns how many there are.
fn sow(target: &Target, objects: &[Vec<u8>], corpus: &Path) -> Result<usize> {
    let mut seeds: Vec<Vec<u8>> = objects.iter().flat_map(|bytes| (target.seeds)(bytes)).collect();
    seeds.extend(regressions(target.name)?);
    seeds.retain(|seed| seed.len() <= target.longest);
    for (index, seed) in seeds.iter().enumerate() {
        fs::write(corpus.join(format!("seed-{index:04}")), seed)?;
    }
    Ok(seeds.len())
}

/// The cases in `fuzz/regressions` for a target: text, `#` lines and bytes in
/// hexadecimal.
fn regressions(target: &str) -> Result<Vec<Vec<u8>>> {
    let folder = shell::root().join("fuzz/regressions").join(target);
    let mut cases = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("no {}", folder.display()))? {
        let text = fs::read_to_string(entry?.path())?;
        let digits: Vec<u8> = text
            .lines()
            .filter(|line| !line.starts_with('#'))
            .flat_map(str::bytes)
            .filter(u8::is_ascii_hexdigit)
            .collect();
        let bytes = digits
            .chunks_exact(2)
            .map(|pair| Ok(u8::from_str_radix(std::str::from_utf8(pair)?, 16)?))
            .collect::<Result<_>>()?;
        cases.push(bytes);
    }
    Ok(cases)
}

/// The reproducer of an object, and the object itself where it is small.
fn whole_files(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut seeds = vec![bytes.to_vec()];
    let options = analyzer_core::Options::default();
    seeds.extend(analyzer_core::shrink::shrink(bytes, &options).map(|small| small.bytes));
    seeds
}

/// The code of every Python function.
fn functions(bytes: &[u8]) -> Vec<Vec<u8>> {
    named_code(bytes, |name| name.contains("Py")).into_iter().map(|(_, code)| code).collect()
}

/// The code of the functions that are read, behind the byte that chooses
/// instruction set and version.
fn entry_functions(bytes: &[u8]) -> Vec<Vec<u8>> {
    const READ: &[&str] = &[
        "PyGILState_GetThisThreadState",
        "PyGILState_Ensure",
        "_PyThreadState_GetCurrent",
        "PyThreadState_Get",
    ];
    named_code(bytes, |name| READ.contains(&name))
        .into_iter()
        .enumerate()
        .map(|(index, (is_arm, code))| {
            let choice = u8::from(is_arm) | (index as u8 % 8) << 1;
            [&[choice], &*code].concat()
        })
        .collect()
}

/// For the reproducer target: code as it is, files behind a byte with the
/// upper bit set.
fn files_and_functions(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut seeds = entry_functions(bytes);
    seeds.extend(whole_files(bytes).into_iter().map(|file| [&[0x80], &*file].concat()));
    seeds
}

/// Whether the file is for AArch64, and the code of the functions whose names
/// are wanted.
fn named_code(bytes: &[u8], wanted: impl Fn(&str) -> bool) -> Vec<(bool, Vec<u8>)> {
    let Ok(file) = object::File::parse(bytes) else { return Vec::new() };
    let is_arm = file.architecture() == Architecture::Aarch64;
    file.symbols()
        .chain(file.dynamic_symbols())
        .filter(|symbol| symbol.name().is_ok_and(&wanted))
        .filter_map(|symbol| {
            let section = file.section_by_index(symbol.section_index()?).ok()?;
            let code = section.data_range(symbol.address(), symbol.size()).ok()??;
            Some((is_arm, code.to_vec()))
        })
        .collect()
}
