//! One recording from its start to its end.

use std::{
    borrow::Cow,
    collections::HashMap,
    process::{Child, Command},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use agent_ebpf::counter::Counter;
use anyhow::{Context, Result, bail};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Resource, getrlimit, setrlimit},
};

use super::{Arguments, errors, progress::Progress};
use crate::{
    discover::process::Obstacle,
    process::{self, Pid},
    profile::{self, Process, Profile, Sample, Thread},
    sample::{
        collector::Collector,
        event::Event,
        kernel,
        processes::{Processes, monotonic},
        program::{OBJECT, Program},
    },
};

/// How often the ring buffer is looked at.
const TICK: Duration = Duration::from_millis(50);
/// How long a name may be on its way from another CPU.
const PATIENCE: Duration = Duration::from_millis(100);
/// How often `--all` looks for processes that nobody announced.
const SURVEY: Duration = Duration::from_secs(5);

/// What was recorded, and what was not.
#[derive(Debug)]
pub(super) struct Recording {
    pub(super) profile: Profile,
    /// Processes that could not be sampled: id and reason.
    pub(super) refused: Vec<(Pid, String)>,
    /// What the user should know.
    pub(super) notes: Vec<String>,
}

impl Recording {
    /// Whether no sample was lost and every process was sampled.
    pub(super) fn is_whole(&self) -> bool {
        self.refused.is_empty() && self.profile.lost() == 0
    }
}

/// Records as the arguments say.
pub(super) fn record(arguments: &Arguments) -> Result<Recording> {
    errors::check()?;
    if arguments.all {
        raise_descriptor_limit();
    }
    let ring_bytes = arguments.buffer << 20;
    let kernel = kernel::facts(ring_bytes / 4, arguments.all)?;
    let mut session = Session {
        program: Program::load(&object(arguments)?, &kernel, ring_bytes)?,
        collector: Collector::default(),
        processes: Processes::new(arguments.all),
        outdated: 0,
        unknown_events: 0,
    };
    session.run(arguments)
}

/// Every sampled process takes a descriptor, and the usual limit is 1024.
fn raise_descriptor_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // With the limit as it is, the names of some processes may be lost.
    let _ = setrlimit(Resource::Nofile, limit);
}

/// The program that was built in, or the one that was named.
fn object(arguments: &Arguments) -> Result<Cow<'static, [u8]>> {
    match &arguments.program {
        Some(path) => {
            let object = std::fs::read(path).with_context(|| path.display().to_string())?;
            Ok(Cow::Owned(object))
        }
        None if OBJECT.is_empty() => bail!(
            "this keyhole was built without its BPF program: run `cargo xtask ebpf` and build it again"
        ),
        None => Ok(Cow::Borrowed(OBJECT)),
    }
}

struct Session {
    program: Program,
    collector: Collector,
    processes: Processes,
    outdated: u64,
    unknown_events: u64,
}

impl Session {
    fn run(&mut self, arguments: &Arguments) -> Result<Recording> {
        let interrupted = Arc::new(AtomicBool::new(false));
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            // The second one ends us at once.
            signal_hook::flag::register_conditional_shutdown(signal, 2, Arc::clone(&interrupted))?;
            signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
        }
        self.program.follow_processes()?;
        for &pid in &arguments.pid {
            self.processes.add(pid, true, &mut self.program)?;
        }
        self.give_up_if_hopeless(arguments)?;
        if arguments.all {
            self.survey()?;
        }
        self.program.start(arguments.rate, arguments.event)?;
        let (began, began_wall, began_monotonic) = (Instant::now(), SystemTime::now(), monotonic());
        let mut child = self.spawn(arguments)?;
        let command = child.as_ref().map(Child::id);
        let mut progress = Progress::new(began);
        let mut next_survey = began + SURVEY;
        while !interrupted.load(Ordering::Relaxed) {
            let now = Instant::now();
            if arguments.duration.is_some_and(|duration| now - began >= duration)
                || arguments.samples.is_some_and(|number| self.collector.samples.len() >= number)
                || has_ended(&mut child)?
                || self.nobody_left(arguments)
            {
                break;
            }
            if arguments.all && now >= next_survey {
                next_survey = now + SURVEY;
                self.survey()?;
            }
            self.wait(now, arguments.duration.map(|duration| began + duration))?;
            self.turn(Instant::now())?;
            progress.show(Instant::now(), || {
                let lost = self.program.counter(Counter::SampleRingFull);
                format!(
                    "{} samples  {} processes  {lost} lost",
                    self.collector.samples.len(),
                    self.processes.sampled(),
                )
            });
        }
        self.program.stop()?;
        let length = monotonic().saturating_sub(began_monotonic);
        self.turn(Instant::now() + PATIENCE)?;
        progress.clear();
        let frame =
            Frame { rate: arguments.rate, began: began_wall, began_monotonic, length, command };
        Ok(self.finish(&frame))
    }

    /// Ends before anything is recorded when no process that was named can be sampled.
    fn give_up_if_hopeless(&mut self, arguments: &Arguments) -> Result<()> {
        if !arguments.command.is_empty() || arguments.pid.is_empty() {
            return Ok(());
        }
        if self.processes.refused.len() == arguments.pid.len() {
            let reasons: Vec<String> = self
                .processes
                .refused
                .iter()
                .map(|(pid, obstacle)| format!("process {pid}: {obstacle}"))
                .collect();
            bail!("{}", reasons.join("\n"));
        }
        Ok(())
    }

    fn survey(&mut self) -> Result<()> {
        for pid in process::all()? {
            if pid != std::process::id() && !self.processes.has_seen(pid) {
                self.processes.add(pid, false, &mut self.program)?;
            }
        }
        Ok(())
    }

    /// Starts the command. It inherits from us that we want to hear of it.
    fn spawn(&mut self, arguments: &Arguments) -> Result<Option<Child>> {
        let Some((program, rest)) = arguments.command.split_first() else { return Ok(None) };
        let own = std::process::id();
        self.program.follow(own)?;
        let child = Command::new(program)
            .args(rest)
            .spawn()
            .with_context(|| format!("{} cannot be started", program.display()))?;
        self.program.unfollow(own);
        self.processes.ask_for(child.id(), &mut self.program)?;
        Ok(Some(child))
    }

    fn nobody_left(&self, arguments: &Arguments) -> bool {
        !arguments.all
            && arguments.command.is_empty()
            && arguments.pid.iter().all(|pid| std::fs::metadata(format!("/proc/{pid}")).is_err())
    }

    /// Waits for the program's attention, for the next look at a process, or for a tick.
    fn wait(&self, now: Instant, end: Option<Instant>) -> Result<()> {
        let until = [Some(now + TICK), self.processes.next_look(), end];
        let until = until.into_iter().flatten().min().unwrap_or(now);
        let timeout = until.saturating_duration_since(now);
        let timeout = Timespec::try_from(timeout).unwrap_or(Timespec { tv_sec: 0, tv_nsec: 0 });
        let readiness = self.program.readiness();
        match poll(&mut [PollFd::new(&readiness, PollFlags::IN)], Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes what has come in.
    fn turn(&mut self, now: Instant) -> Result<()> {
        let Self { program, collector, processes, unknown_events, .. } = self;
        let mut notices = Vec::new();
        program.drain(|event| match event {
            Some(Event::Notice(notice)) => notices.push(notice),
            Some(event) => collector.take(&event, now),
            None => *unknown_events += 1,
        });
        for notice in notices {
            processes.notice(&notice, program)?;
        }
        processes.look_again(now, program)?;
        let deadline = now.checked_sub(PATIENCE).unwrap_or(now);
        for key in collector.due_for_reading(deadline) {
            processes.explain(key, &mut collector.names);
        }
        Ok(())
    }

    fn finish(&mut self, frame: &Frame) -> Recording {
        let resolved = profile::resolve(&self.collector, &self.processes);
        let mut processes: Vec<Process> = Vec::new();
        let mut by_incarnation: HashMap<u64, usize> = HashMap::new();
        let mut threads = Vec::with_capacity(self.collector.threads.len());
        for (thread, name) in &self.collector.threads {
            let next = processes.len();
            let process = *by_incarnation.entry(thread.incarnation).or_insert_with(|| {
                processes.push(self.processes.incarnation(thread.incarnation).map_or_else(
                    || Process {
                        pid: thread.tid,
                        name: name.clone(),
                        version: String::new(),
                        path: String::new(),
                    },
                    |known| Process {
                        pid: known.pid,
                        name: known.name.clone(),
                        version: known.version.clone(),
                        path: known.path().to_owned(),
                    },
                ));
                next
            });
            threads.push(Thread { process, tid: thread.tid, name: name.clone() });
        }
        let mut samples = Vec::with_capacity(self.collector.samples.len());
        let mut symbols_lost = 0;
        for taken in &self.collector.samples {
            let (thread, _) = &self.collector.threads[taken.thread as usize];
            if !self.processes.holds_at(thread.incarnation, taken.time) {
                self.outdated += 1;
                continue;
            }
            symbols_lost += resolved.lost[taken.stack as usize];
            samples.push(Sample {
                time: taken.time.saturating_sub(frame.began_monotonic),
                thread: taken.thread as usize,
                stack: taken.stack as usize,
                cpu: taken.cpu,
                states: taken.states,
            });
        }
        samples.sort_by_key(|sample| sample.time);
        let counters =
            Counter::ALL.iter().map(|&counter| (counter, self.program.counter(counter))).collect();
        self.processes.give_up_waiting();
        // A command may be a wrapper of the Python that was meant.
        let wraps = |pid: Pid, obstacle: &Obstacle| {
            frame.command == Some(pid) && matches!(obstacle, Obstacle::NotPython | Obstacle::Gone)
        };
        let mut refused: Vec<(Pid, String)> = self
            .processes
            .refused
            .iter()
            .filter(|(pid, obstacle)| !wraps(*pid, obstacle))
            .map(|(pid, obstacle)| (*pid, obstacle.to_string()))
            .collect();
        if let Some(command) = frame.command
            && self.processes.sampled() == 0
            && refused.is_empty()
        {
            refused.push((command, "neither it nor a child of it ran a Python".to_owned()));
        }
        Recording {
            profile: Profile {
                rate: frame.rate,
                began: frame.began,
                length: frame.length,
                processes,
                threads,
                frames: resolved.frames,
                stacks: resolved.stacks,
                samples,
                counters,
                symbols_lost,
                outdated: self.outdated,
            },
            refused,
            notes: std::mem::take(&mut self.processes.notes),
        }
    }
}

/// The bounds of a recording.
struct Frame {
    rate: u64,
    began: SystemTime,
    began_monotonic: u64,
    length: u64,
    /// The command that was run.
    command: Option<Pid>,
}

fn has_ended(child: &mut Option<Child>) -> Result<bool> {
    Ok(match child {
        Some(child) => child.try_wait()?.is_some(),
        None => false,
    })
}
