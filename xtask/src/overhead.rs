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
/// Clock ticks a second (`USER_HZ` of the Linux ABI on both architectures).
const TICKS: f64 = 100.0;

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
    println!("depth  samples  program ns/sample  keyhole us/sample (997 Hz)  keyhole CPU (99 Hz)");
    for depth in DEPTHS {
        let (samples, program, keyhole) = sampled("997", depth, 6)?;
        let (_, _, at_99) = sampled("99", depth, 6)?;
        println!(
            "{depth:>5}  {samples:>7}  {:>17.0}  {:>26.1}  {:>18.3} %",
            program,
            keyhole / samples.max(1) as f64 * 1e6,
            at_99 / 5.0 * 100.0,
        );
    }
    Ok(())
}

/// Samples, nanoseconds of the program per sample, seconds of `keyhole`, all
/// over the last five seconds of a recording.
fn sampled(rate: &str, depth: &str, seconds: u64) -> Result<(u64, f64, f64)> {
    let workload = Workload::start(&["deep.py", depth])?;
    let mut keyhole = shell::command(keyhole())
        .args(["record", "--format", "summary", "-r", rate, "-d", &format!("{seconds}s"), "-p"])
        .arg(workload.0.id().to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    sleep(Duration::from_millis(900));
    let (first, began) = (statistics(keyhole.id())?, cpu_seconds(keyhole.id())?);
    sleep(Duration::from_millis(1000 * (seconds - 1) - 100));
    let (last, ended) = (statistics(keyhole.id())?, cpu_seconds(keyhole.id())?);
    keyhole.wait()?;
    // The workload takes one CPU; ticks on the others find no configured process
    // and cost about a tenth of a microsecond each.
    let rate: u64 = rate.parse()?;
    let (runs, time) = (last.0 - first.0, last.1 - first.1);
    let samples = (rate * (seconds - 1)).min(runs);
    let elsewhere = (runs.saturating_sub(samples) * 100).min(time);
    Ok((samples, (time - elsewhere) as f64 / samples.max(1) as f64, ended - began))
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

/// User and system time of a process: the 14th and 15th field of `stat`.
fn cpu_seconds(pid: u32) -> Result<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let (_, fields) = text.rsplit_once(") ").context("no stat")?;
    let ticks: f64 =
        fields.split(' ').skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum();
    Ok(ticks / TICKS)
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

/// A workload of the sampling tests; killed when dropped.
struct Workload(Child);

impl Workload {
    fn start(arguments: &[&str]) -> Result<Self> {
        let folder = shell::root().join("agent/tests/record/workloads");
        let mut child = shell::command("python3")
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
