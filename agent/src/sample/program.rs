//! Loading the program and attaching it.

use std::os::fd::{AsFd, BorrowedFd};

use agent_ebpf::{counter::Counter, kernel::Kernel, target::Target};
use anyhow::{Context, Result};
use aya::{
    Ebpf, EbpfLoader, Pod,
    maps::{HashMap, MapData, PerCpuArray, ProgramArray, RingBuf},
    programs::{
        PerfEvent, RawTracePoint,
        perf_event::{HardwareEvent, PerfEventConfig, PerfEventScope, SamplePolicy, SoftwareEvent},
    },
    util::online_cpus,
};

use super::event::Event;

/// The object file, embedded by the build script when `cargo xtask ebpf` has made it.
pub(crate) const OBJECT: &[u8] = aya::include_bytes_aligned!(env!("KEYHOLE_BPF_OBJECT"));

/// The values of the programs' array, as in the program's `maps.rs`.
const TAIL_CALLED: [&str; 2] = ["walk", "copy"];

/// The boundary types as aya wants them.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Shared<T>(T);
// SAFETY: plain data without padding, checked where they are defined.
unsafe impl Pod for Shared<Kernel> {}
// SAFETY: as above.
unsafe impl Pod for Shared<Target> {}

/// The loaded program.
pub(crate) struct Program {
    ebpf: Ebpf,
    targets: HashMap<MapData, u32, Shared<Target>>,
    followed: HashMap<MapData, u32, u32>,
    counters: PerCpuArray<MapData, u64>,
    events: RingBuf<MapData>,
    /// Emptied by the kernel when its last descriptor is closed.
    _calls: ProgramArray<MapData>,
}

/// What makes the program run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Clock {
    /// The kernel's CPU clock
    #[value(name = "cpu-clock")]
    Software,
    /// Hardware cycles
    #[value(name = "cycles")]
    Cycles,
}

impl Program {
    /// Loads all programs; none runs yet.
    ///
    /// # Errors
    /// Says what is missing: privileges, or a kernel feature (with the verifier's log).
    pub(crate) fn load(object: &[u8], kernel: &Kernel, ring_bytes: u32) -> Result<Self> {
        let shared = Shared(*kernel);
        let mut ebpf = EbpfLoader::new()
            .btf(None)
            .override_global("KERNEL", &shared, true)
            .map_max_entries("EVENTS", ring_bytes)
            .load(object)
            .context("the BPF program's maps cannot be made (its ring buffer needs Linux 5.8)")?;
        for name in ["sample", "walk", "copy"] {
            let program: &mut PerfEvent = typed(&mut ebpf, name)?;
            program.load().with_context(|| format!("the kernel refuses the program `{name}`"))?;
        }
        for name in ["fork", "exec", "exit"] {
            let program: &mut RawTracePoint = typed(&mut ebpf, name)?;
            program.load().with_context(|| format!("the kernel refuses the program `{name}`"))?;
        }
        let mut programs: ProgramArray<MapData> = map(&mut ebpf, "PROGRAMS")?;
        for (index, name) in TAIL_CALLED.into_iter().enumerate() {
            let program: &mut PerfEvent = typed(&mut ebpf, name)?;
            let fd = program.fd()?.try_clone()?;
            programs.set(u32::try_from(index)?, &fd, 0)?;
        }
        Ok(Self {
            targets: map(&mut ebpf, "TARGETS")?,
            followed: map(&mut ebpf, "FOLLOWED")?,
            counters: map(&mut ebpf, "COUNTERS")?,
            events: map(&mut ebpf, "EVENTS")?,
            _calls: programs,
            ebpf,
        })
    }

    /// Begins to hear of forks, execs and exits.
    pub(crate) fn follow_processes(&mut self) -> Result<()> {
        for name in ["fork", "exec", "exit"] {
            let tracepoint = format!("sched_process_{name}");
            let program: &mut RawTracePoint = typed(&mut self.ebpf, name)?;
            program
                .attach(&tracepoint)
                .with_context(|| format!("the tracepoint {tracepoint} is not to be had"))?;
        }
        Ok(())
    }

    /// Begins to sample on every CPU, `rate` times a second. Returns what ticks.
    pub(crate) fn start(&mut self, rate: u64, clock: Clock) -> Result<()> {
        let event = match clock {
            Clock::Software => PerfEventConfig::Software(SoftwareEvent::CpuClock),
            Clock::Cycles => PerfEventConfig::Hardware(HardwareEvent::CpuCycles),
        };
        let program: &mut PerfEvent = typed(&mut self.ebpf, "sample")?;
        for cpu in online_cpus().map_err(|(path, error)| anyhow::anyhow!("{path}: {error}"))? {
            program
                .attach(
                    event,
                    PerfEventScope::AllProcessesOneCpu { cpu },
                    SamplePolicy::Frequency(rate),
                    false,
                )
                .with_context(|| match clock {
                    Clock::Software => format!("no perf event on CPU {cpu}"),
                    Clock::Cycles => format!(
                        "CPU {cpu} has no hardware cycles to count, as in many virtual machines; \
                         leave --event out"
                    ),
                })?;
        }
        Ok(())
    }

    /// Stops sampling; what is in the ring buffer stays there.
    pub(crate) fn stop(&mut self) -> Result<()> {
        let program: &mut PerfEvent = typed(&mut self.ebpf, "sample")?;
        program.unload()?;
        Ok(())
    }

    /// Samples the process from now on.
    pub(crate) fn configure(&mut self, pid: u32, target: &Target) -> Result<()> {
        self.targets.insert(pid, Shared(*target), 0).context("no more processes can be configured")
    }

    /// Samples the process no longer. One that is not configured is left alone.
    pub(crate) fn forget(&mut self, pid: u32) {
        let _ = self.targets.remove(&pid);
    }

    /// The incarnation under which a process is configured now.
    pub(crate) fn incarnation(&self, pid: u32) -> Option<u64> {
        self.targets.get(&pid, 0).ok().map(|target| target.0.incarnation)
    }

    /// Wants to hear of the process's forks and execs.
    pub(crate) fn follow(&mut self, pid: u32) -> Result<()> {
        self.followed.insert(pid, 1, 0).context("no more processes can be followed")
    }

    /// No longer wants to.
    pub(crate) fn unfollow(&mut self, pid: u32) {
        let _ = self.followed.remove(&pid);
    }

    /// Takes the events that are waiting.
    pub(crate) fn drain(&mut self, mut take: impl FnMut(Option<Event<'_>>)) {
        while let Some(item) = self.events.next() {
            take(Event::parse(&item));
        }
    }

    /// Readable when the program wants attention.
    pub(crate) fn readiness(&self) -> BorrowedFd<'_> {
        self.events.as_fd()
    }

    /// A counter's sum over all CPUs.
    pub(crate) fn counter(&self, counter: Counter) -> u64 {
        self.counters.get(&(counter as u32), 0).map_or(0, |values| values.iter().sum())
    }
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Program").finish_non_exhaustive()
    }
}

fn typed<'a, P>(ebpf: &'a mut Ebpf, name: &str) -> Result<&'a mut P>
where
    &'a mut P: TryFrom<&'a mut aya::programs::Program, Error = aya::programs::ProgramError>,
{
    let program = ebpf.program_mut(name).with_context(|| format!("no program `{name}`"))?;
    Ok(program.try_into()?)
}

fn map<M>(ebpf: &mut Ebpf, name: &str) -> Result<M>
where
    M: TryFrom<aya::maps::Map, Error = aya::maps::MapError>,
{
    let map = ebpf.take_map(name).with_context(|| format!("no map `{name}`"))?;
    Ok(map.try_into()?)
}
