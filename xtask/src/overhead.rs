//! `cargo xtask overhead`: what sampling costs, for `ARCHITECTURE.md`.
//!
//! Nanoseconds of the kernel's program per sample by the kernel's own
//! statistics (`kernel.bpf_stats_enabled`), CPU time of `keyhole` per sample,
//! and how much slower the sampled program gets, by runs in pairs.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::PathBuf,
    process::{Child, Stdio},
    thread::sleep,
    time::Duration,
};

use anyhow::{Context, Result, bail};

use crate::{
    ebpf,
    shell::{self, cargo},
    toolchain,
};

/// Where the switch for the kernel's statistics is.
const STATISTICS: &str = "/proc/sys/kernel/bpf_stats_enabled";
/// Stack depths to measure.
const DEPTHS: [&str; 4] = ["10", "30", "100", "500"];
/// Pairs of runs for the slow-down.
const PAIRS: usize = 10;

/// Measures and prints.
///
/// # Errors
/// Nothing can be measured here, or a run fails.
pub(crate) fn run(_: &[String]) -> Result<()> {
    if !toolchain::is_root() {
        bail!("measuring needs root");
    }
    ebpf::build()?;
    shell::run(cargo().args(["build", "--release", "--package", "agent", "--bin", "keyhole"]))?;
    let before = fs::read_to_string(STATISTICS).context("no statistics of BPF programs")?;
    fs::write(STATISTICS, "1")?;
    let measured = costs();
    fs::write(STATISTICS, before.trim())?;
    measured?;
    slow_down()
}

fn costs() -> Result<()> {
    let idle = unconfigured()?;
    println!("a tick in a process that is not sampled: {idle:.0} ns");
    println!("depth  samples  program ns/sample  keyhole us/sample (997 Hz)  keyhole CPU (99 Hz)");
    for depth in DEPTHS {
        let (samples, program, keyhole) = sampled("997", depth, 6, idle)?;
        let (_, _, at_99) = sampled("99", depth, 6, idle)?;
        println!(
            "{depth:>5}  {samples:>7}  {:>17.0}  {:>26.1}  {:>18.3} %",
            program,
            keyhole / samples as f64 * 1e6,
            at_99 / 5.0 * 100.0,
        );
    }
    Ok(())
}

/// Samples, nanoseconds of the program per sample, seconds of `keyhole`, all
/// over the last five seconds of a recording.
fn sampled(rate: &str, depth: &str, seconds: u64, idle: f64) -> Result<(u64, f64, f64)> {
    let workload = Workload::start("python3", &["deep.py", depth])?;
    let mut keyhole = record(rate, seconds, workload.0.id())?;
    sleep(Duration::from_millis(900));
    let now = || -> Result<_> {
        let (own, workload) = (cpu_seconds(keyhole.id())?, cpu_seconds(workload.0.id())?);
        Ok((statistics(keyhole.id())?, own, workload))
    };
    let (first, began, workload_began) = now()?;
    sleep(Duration::from_millis(1000 * (seconds - 1) - 100));
    let (last, ended, workload_ended) = now()?;
    keyhole.wait()?;
    // Only ticks while the workload ran took a sample.
    let rate: f64 = rate.parse()?;
    let (runs, time) = (last.0 - first.0, last.1 - first.1);
    let samples = ((rate * (workload_ended - workload_began)) as u64).clamp(1, runs.max(1));
    let elsewhere = runs.saturating_sub(samples) as f64 * idle;
    Ok((samples, (time as f64 - elsewhere) / samples as f64, ended - began))
}

/// Nanoseconds of the program when it finds no configured process.
fn unconfigured() -> Result<f64> {
    let workload = Workload::start("sh", &["-c", "echo ready; while :; do :; done"])?;
    let mut keyhole = record("997", 4, workload.0.id())?;
    sleep(Duration::from_millis(3500));
    let (runs, time) = statistics(keyhole.id())?;
    keyhole.wait()?;
    Ok(time as f64 / runs.max(1) as f64)
}

/// Starts a recording of a process.
fn record(rate: &str, seconds: u64, pid: u32) -> Result<Child> {
    let duration = format!("{seconds}s");
    Ok(shell::command(keyhole())
        .args(["record", "--format", "summary", "-r", rate, "-d", &duration, "-p"])
        .arg(pid.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?)
}

/// Runs and nanoseconds of the program that ran most.
fn statistics(pid: u32) -> Result<(u64, u64)> {
    let mut most = (0, 0);
    for entry in fs::read_dir(format!("/proc/{pid}/fdinfo"))? {
        let text = fs::read_to_string(entry?.path()).unwrap_or_default();
        let number = |name: &str| -> Option<u64> {
            text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
        };
        // 7: BPF_PROG_TYPE_PERF_EVENT, include/uapi/linux/bpf.h.
        if number("prog_type:") == Some(7)
            && let (Some(time), Some(runs)) = (number("run_time_ns:"), number("run_cnt:"))
            && runs > most.0
        {
            most = (runs, time);
        }
    }
    Ok(most)
}

/// Time that a process's threads have run: the first field of `schedstat`, in nanoseconds.
fn cpu_seconds(pid: u32) -> Result<f64> {
    let mut nanoseconds = 0.0;
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        let text = fs::read_to_string(thread?.path().join("schedstat"))?;
        let field = text.split(' ').next().context("no schedstat")?;
        nanoseconds += field.parse::<f64>()?;
    }
    Ok(nanoseconds / 1e9)
}

/// CPU time of the same work with and without sampling at 99 Hz.
fn slow_down() -> Result<()> {
    let work = "import time\n\
        def f(n):\n    return sum(i * i for i in range(n)) if n else 0\n\
        b = time.process_time()\n\
        for _ in range(60): f(20000)\n\
        print(time.process_time() - b)";
    let mut differences = Vec::new();
    for _ in 0..PAIRS {
        let alone: f64 =
            shell::output(shell::command("python3").args(["-c", work]))?.trim().parse()?;
        let output = shell::command(keyhole())
            .args(["record", "-o"])
            .arg(shell::scratch()?.join("overhead.folded"))
            .args(["--", "python3", "-c", work])
            .stderr(Stdio::null())
            .output()?;
        let sampled: f64 = String::from_utf8_lossy(&output.stdout).trim().parse()?;
        differences.push((sampled / alone - 1.0) * 100.0);
    }
    differences.sort_by(f64::total_cmp);
    let median = differences[PAIRS / 2];
    println!(
        "slow-down at 99 Hz: {median:+.2} % (median of {PAIRS} pairs, from {:+.2} % to {:+.2} %)",
        differences[0],
        differences[PAIRS - 1]
    );
    Ok(())
}

fn keyhole() -> PathBuf {
    shell::root().join("target/release/keyhole")
}

/// A program, for instance a workload of the sampling tests; killed when dropped.
struct Workload(Child);

impl Workload {
    /// Starts it and waits for its first line.
    fn start(program: &str, arguments: &[&str]) -> Result<Self> {
        let folder = shell::root().join("agent/tests/record/workloads");
        let mut child = shell::command(program)
            .current_dir(folder)
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("its output")?).read_line(&mut line)?;
        Ok(Self(child))
    }
}

impl Drop for Workload {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
