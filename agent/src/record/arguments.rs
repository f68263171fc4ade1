//! The arguments of `keyhole record`.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use agent_ebpf::status::{GilState, StackStatus, StateSource};
use anyhow::{Result, bail};
use clap::{Args, ValueEnum as _};

use crate::{
    output::{Format, Style},
    process::Pid,
    profile::{Profile, Sample},
    sample::program::Clock,
};

/// Sample the Python stacks of running processes.
///
/// Needs root (or CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE and CAP_CHECKPOINT_RESTORE).
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("whom").required(true).multiple(true))]
#[command(after_help = "\
Examples:
  keyhole record -p 4711 -d 10s -o profile.svg
  keyhole record -o profile.speedscope.json -- python3 app.py --port 8080
  keyhole record --all -d 1m --gil -o gil.pb.gz

Exit status: 0 all is well, 1 samples were lost or a process could not be sampled, 2 nothing was recorded.")]
pub(crate) struct Arguments {
    /// Process to sample, with the children it forks; may be repeated
    #[arg(short, long = "pid", value_name = "PID", group = "whom", value_delimiter = ',')]
    pub(crate) pid: Vec<Pid>,

    /// Sample every Python process of this machine (or of this PID namespace)
    #[arg(short, long, group = "whom", conflicts_with_all = ["pid", "command"])]
    pub(crate) all: bool,

    /// Command to run and to sample, with all its children
    #[arg(last = true, value_name = "COMMAND", group = "whom")]
    pub(crate) command: Vec<OsString>,

    /// Samples per second and CPU
    #[arg(short, long, default_value_t = 99, value_parser = clap::value_parser!(u64).range(1..=20_000))]
    pub(crate) rate: u64,

    /// How long to record, for instance 10s, 500ms or 2m; else until Ctrl-C or until the command ends
    #[arg(short, long, value_parser = duration)]
    pub(crate) duration: Option<Duration>,

    /// End after this many samples, if that is earlier
    #[arg(short = 'n', long, value_name = "NUMBER")]
    pub(crate) samples: Option<usize>,

    /// File to write; its extension chooses the format; may be repeated
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Vec<PathBuf>,

    /// Format, if not by the extension
    #[arg(short, long)]
    pub(crate) format: Option<Format>,

    /// Only samples of threads that hold the GIL
    #[arg(long)]
    pub(crate) gil: bool,

    /// Only samples of threads that run with the GIL released
    #[arg(long, conflicts_with = "gil")]
    pub(crate) released: bool,

    /// Also samples of threads without a Python stack
    #[arg(long)]
    pub(crate) native_threads: bool,

    /// Do not tell lines of one function apart
    #[arg(long)]
    pub(crate) functions: bool,

    /// Show files by module name (`json/decoder.py`) instead of by path
    #[arg(long)]
    pub(crate) modules: bool,

    /// Begin each stack with its process and thread
    #[arg(long)]
    pub(crate) threads: bool,

    /// What ticks: the kernel's clock, or hardware cycles where there are any
    #[arg(long, value_name = "CLOCK", default_value = "cpu-clock")]
    pub(crate) event: Clock,

    /// Use this BPF program (`cargo xtask ebpf`) instead of the one that was built in
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) program: Option<PathBuf>,

    /// Size of the buffer between kernel and keyhole, in MiB (a power of two)
    #[arg(long, value_name = "MIB", default_value_t = 8, value_parser = power_of_two)]
    pub(crate) buffer: u32,
}

impl Arguments {
    /// What to write, and where; `None` is standard output.
    ///
    /// # Errors
    /// An extension names no format.
    pub(crate) fn outputs(&self) -> Result<Vec<(Format, Option<&Path>)>> {
        if self.output.is_empty() {
            return Ok(vec![(self.format.unwrap_or(Format::Collapsed), None)]);
        }
        self.output.iter().map(|path| Ok((self.format_of(path)?, Some(path.as_path())))).collect()
    }

    fn format_of(&self, path: &Path) -> Result<Format> {
        if let Some(format) = self.format {
            return Ok(format);
        }
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        if let Some(format) = Format::of_file_name(&name) {
            return Ok(format);
        }
        let known: Vec<String> = Format::value_variants()
            .iter()
            .map(|format| format!("{} ({format})", format.extension()))
            .collect();
        bail!(
            "the extension of {} names no format; use --format or one of {}",
            path.display(),
            known.join(", ")
        )
    }

    /// How names are shown.
    pub(crate) fn style(&self, profile: &Profile) -> Style {
        Style {
            lines: !self.functions,
            modules: self.modules,
            processes: self.threads || profile.processes.len() > 1,
            threads: self.threads,
        }
    }

    /// The profile with the samples that were asked for.
    pub(crate) fn select(&self, profile: &Profile) -> Profile {
        let samples =
            profile.samples.iter().copied().filter(|sample| self.selects(sample)).collect();
        Profile { samples, ..profile.clone() }
    }

    fn selects(&self, sample: &Sample) -> bool {
        let states = &sample.states;
        // A current state that is not the owned one is this thread's only if it
        // was walked: before 3.12 it may be any thread's.
        let attached = states.source == StateSource::ATTACHED;
        let holds = match states.gil_state {
            GilState::THIS_THREAD => true,
            GilState::GLOBAL_CURRENT_THREAD | GilState::DISABLED => attached,
            _ => false,
        };
        let has_stack = states.stack_status != StackStatus::NO_STATE;
        (self.native_threads || has_stack)
            && (!self.gil || holds)
            && (!self.released || has_stack && !holds)
    }
}

/// A number with `ms`, `s` (or nothing), `m` or `h`.
fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|character: char| !character.is_ascii_digit() && character != '.');
    let (number, unit) = text.split_at(digits.unwrap_or(text.len()));
    let number: f64 = number.parse().map_err(|_| "expected a number such as 10s".to_owned())?;
    let seconds = match unit {
        "ms" => number / 1000.0,
        "" | "s" => number,
        "m" | "min" => number * 60.0,
        "h" => number * 3600.0,
        _ => return Err(format!("unknown unit {unit:?}; use ms, s, m or h")),
    };
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|duration| !duration.is_zero())
        .ok_or_else(|| "not a duration to record for".to_owned())
}

fn power_of_two(text: &str) -> Result<u32, String> {
    text.parse()
        .ok()
        .filter(|size: &u32| size.is_power_of_two() && *size <= 1024)
        .ok_or_else(|| "expected a power of two up to 1024".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        assert_eq!(duration("10s"), Ok(Duration::from_secs(10)));
        assert_eq!(duration("1.5"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        for wrong in ["", "s", "1d", "-1s", "0", "1e400s", "1..2s"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn buffers_are_powers_of_two() {
        assert_eq!(power_of_two("16"), Ok(16));
        assert!(power_of_two("3").is_err());
        assert!(power_of_two("0").is_err());
        assert!(power_of_two("2048").is_err());
    }
}
