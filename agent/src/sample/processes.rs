//! The processes of a recording: which are sampled, which may become so, and
//! which cannot.

use std::{
    collections::{HashMap, HashSet},
    rc::Rc,
    time::{Duration, Instant},
};

use agent_ebpf::{
    event::{EXEC, EXIT, FORK, Notice},
    target::{Objects, Target},
};
use analyzer_core::layout::walk::{LineTable, walk_rules};
use anyhow::Result;

use super::{program::Program, target::Configuration};
use crate::{
    discover::{
        build::{Build, Builds},
        memory::{Memory, ReadMemory},
        process::{self, Obstacle, Resolved},
    },
    process::Pid,
    symbolize::{
        fallback,
        names::{Function, Key, Names},
    },
};

/// A process running one program, as long as its configuration holds.
#[derive(Debug)]
pub(crate) struct Incarnation {
    /// Process id in the agent's PID namespace.
    pub(crate) pid: Pid,
    /// The process's name.
    pub(crate) name: String,
    /// Python's version.
    pub(crate) version: String,
    /// The image with the runtime.
    build: Rc<Build>,
    /// Its run-time address minus its link-time address.
    bias: u64,
    /// How lines are encoded.
    pub(crate) line_table: LineTable,
    target: Target,
    /// Absent when a forked child had ended before it could be opened.
    memory: Option<Memory>,
    /// When it was looked at, on the kernel's monotonic clock.
    looked_at: u64,
    /// When it ended or was replaced, on the kernel's monotonic clock.
    ended: Option<u64>,
}

/// A process that is looked at again and again.
#[derive(Debug)]
struct Watch {
    next: Instant,
    pause: Duration,
    asked_for: bool,
    /// Why it could not be sampled when it was last looked at.
    obstacle: Option<Obstacle>,
}

impl Watch {
    fn from(next: Instant, pause: Duration, asked_for: bool) -> Self {
        Self { next, pause, asked_for, obstacle: None }
    }
}

/// First pause before a process is looked at again.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);
/// Longest pause for a process that was asked for.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// Longest pause for any other process.
const LONGEST_PAUSE_UNASKED: Duration = Duration::from_secs(5);

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    /// The program tells of every process, so none has to be followed by name.
    all: bool,
    builds: Builds,
    incarnations: HashMap<u64, Incarnation>,
    watched: HashMap<Pid, Watch>,
    /// Processes that were asked for and cannot be sampled, with the reason.
    pub(crate) refused: Vec<(Pid, Obstacle)>,
    reported: HashSet<Pid>,
    /// What the user should know.
    pub(crate) notes: Vec<String>,
    last: u64,
}

impl Processes {
    /// None yet. `all` if the program tells of every process.
    pub(crate) fn new(all: bool) -> Self {
        Self { all, ..Self::default() }
    }

    /// Samples a process, or watches it until it can be sampled. `asked_for`
    /// if the user named it or its ancestor.
    ///
    /// # Errors
    /// The program's maps are full.
    pub(crate) fn add(&mut self, pid: Pid, asked_for: bool, program: &mut Program) -> Result<()> {
        if !self.all {
            program.follow(pid)?;
        }
        self.watched.insert(pid, Watch::from(Instant::now(), SHORTEST_PAUSE, asked_for));
        self.look(pid, program)
    }

    /// Looks again at processes whose time has come.
    ///
    /// # Errors
    /// The program's maps are full.
    pub(crate) fn look_again(&mut self, now: Instant, program: &mut Program) -> Result<()> {
        let due: Vec<Pid> = self
            .watched
            .iter()
            .filter(|(_, watch)| watch.next <= now)
            .map(|(&pid, _)| pid)
            .collect();
        due.into_iter().try_for_each(|pid| self.look(pid, program))
    }

    /// When a process has to be looked at again.
    pub(crate) fn next_look(&self) -> Option<Instant> {
        self.watched.values().map(|watch| watch.next).min()
    }

    /// Marks a process as asked for: the command that was started.
    ///
    /// # Errors
    /// The program's maps are full.
    pub(crate) fn ask_for(&mut self, pid: Pid, program: &mut Program) -> Result<()> {
        if let Some(watch) = self.watched.get_mut(&pid) {
            watch.asked_for = true;
        } else if !self.has_seen(pid) {
            self.add(pid, true, program)?;
        }
        Ok(())
    }

    /// Whether a process is or was sampled, watched or refused.
    pub(crate) fn has_seen(&self, pid: Pid) -> bool {
        self.watched.contains_key(&pid)
            || self.reported.contains(&pid)
            || self.incarnations.values().any(|known| known.pid == pid && known.ended.is_none())
    }

    fn look(&mut self, pid: Pid, program: &mut Program) -> Result<()> {
        let looked_at = monotonic();
        match process::resolve(pid, &mut self.builds) {
            Ok(resolved) => {
                if resolved.configuration.provisional {
                    self.look_later(pid, None);
                } else {
                    self.watched.remove(&pid);
                }
                self.start(pid, resolved, looked_at, program)
            }
            Err(obstacle) if obstacle.may_pass() => {
                self.look_later(pid, Some(obstacle));
                Ok(())
            }
            Err(obstacle) => {
                program.unfollow(pid);
                if let Some(mut watch) = self.watched.remove(&pid) {
                    // That it is gone is not why it was not sampled until then.
                    let gone = matches!(obstacle, Obstacle::Gone);
                    if !gone || watch.obstacle.is_none() {
                        watch.obstacle = Some(obstacle);
                    }
                    self.give_up(pid, watch);
                }
                Ok(())
            }
        }
    }

    fn look_later(&mut self, pid: Pid, obstacle: Option<Obstacle>) {
        if let Some(watch) = self.watched.get_mut(&pid) {
            watch.obstacle = obstacle;
            watch.next = Instant::now() + watch.pause;
            let longest = if watch.asked_for { LONGEST_PAUSE } else { LONGEST_PAUSE_UNASKED };
            // It is noticed at the latest when it has run half as long again.
            watch.pause = (watch.pause * 3 / 2).min(longest);
        }
    }

    fn start(
        &mut self,
        pid: Pid,
        resolved: Resolved,
        looked_at: u64,
        program: &mut Program,
    ) -> Result<()> {
        let Configuration { mut target, .. } = resolved.configuration;
        if let Some(current) = program.incarnation(pid)
            && let Some(known) = self.incarnations.get_mut(&current)
        {
            // A better configuration of the same program.
            target.incarnation = current;
            known.target = target;
            return program.configure(pid, &target);
        }
        self.last += 1;
        target.incarnation = self.last;
        let report = &resolved.build.report;
        let python = report.python.as_ref();
        let version = python.and_then(|python| python.version.clone()).unwrap_or_default();
        let rules = python.and_then(|python| walk_rules(version.parse().ok()?, python.flavour));
        if !resolved.others.is_empty() {
            let others: Vec<String> = resolved
                .others
                .iter()
                .map(|(path, bias)| format!("{path} (loaded at {bias:#x})"))
                .collect();
            self.notes.push(format!(
                "process {pid} has several Python runtimes; sampled is {} (loaded at {:#x}), not {}",
                report.file.path,
                resolved.bias,
                others.join(", "),
            ));
        }
        self.incarnations.insert(
            self.last,
            Incarnation {
                pid,
                name: crate::process::name(pid).unwrap_or_default(),
                version,
                build: Rc::clone(&resolved.build),
                bias: resolved.bias,
                line_table: rules.map_or(LineTable::Locations, |rules| rules.line_table),
                target,
                memory: Some(resolved.memory),
                looked_at,
                ended: None,
            },
        );
        if let Err(error) = program.configure(pid, &target) {
            self.refused.push((pid, Obstacle::Failed(format!("{error:#}"))));
        }
        Ok(())
    }

    /// Acts on a notice.
    ///
    /// # Errors
    /// The program's maps are full.
    pub(crate) fn notice(&mut self, notice: &Notice, program: &mut Program) -> Result<()> {
        let pid = notice.pid;
        match notice.kind {
            FORK => {
                if let Some(parent) = self.incarnations.get(&notice.parent_incarnation)
                    && notice.incarnation != 0
                {
                    let child = Incarnation {
                        pid,
                        name: parent.name.clone(),
                        version: parent.version.clone(),
                        build: Rc::clone(&parent.build),
                        bias: parent.bias,
                        line_table: parent.line_table,
                        target: parent.target,
                        memory: Memory::of(pid).ok(),
                        looked_at: notice.time,
                        ended: None,
                    };
                    self.incarnations.insert(notice.incarnation, child);
                    if !self.watched.contains_key(&notice.parent) {
                        return Ok(());
                    }
                    // What it inherited was provisional.
                }
                // It will hardly change by itself: its exec is what matters.
                let watch = Watch::from(Instant::now() + LONGEST_PAUSE, LONGEST_PAUSE, false);
                self.watched.entry(pid).or_insert(watch);
                Ok(())
            }
            EXEC => {
                self.end(notice.incarnation, notice.time);
                if let Some(current) = program.incarnation(pid) {
                    let known = self.incarnations.get(&current);
                    if known.is_some_and(|known| known.looked_at > notice.time) {
                        return Ok(());
                    }
                    // Configured for the program that was being replaced.
                    self.end(current, notice.time);
                    program.forget(pid);
                }
                let asked_for = self.watched.get(&pid).is_some_and(|watch| watch.asked_for);
                self.add(pid, asked_for, program)
            }
            EXIT => {
                if std::fs::metadata(format!("/proc/{pid}/task/{pid}")).is_err()
                    || only_its_leader_is_left(pid)
                {
                    self.end(notice.incarnation, notice.time);
                    if let Some(watch) = self.watched.remove(&pid) {
                        self.give_up(pid, watch);
                    }
                    program.forget(pid);
                    program.unfollow(pid);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn end(&mut self, incarnation: u64, time: u64) {
        if let Some(incarnation) = self.incarnations.get_mut(&incarnation) {
            incarnation.ended = Some(time);
        }
    }

    /// An incarnation that was configured.
    pub(crate) fn incarnation(&self, incarnation: u64) -> Option<&Incarnation> {
        self.incarnations.get(&incarnation)
    }

    /// Whether a sample of this incarnation at this time can be right.
    pub(crate) fn holds_at(&self, incarnation: u64, time: u64) -> bool {
        self.incarnations
            .get(&incarnation)
            .is_none_or(|incarnation| incarnation.ended.is_none_or(|ended| time <= ended))
    }

    /// How many processes were or are sampled.
    pub(crate) fn sampled(&self) -> usize {
        self.incarnations.len()
    }

    /// Gives up every process that is still waited for.
    pub(crate) fn give_up_waiting(&mut self) {
        for (pid, watch) in std::mem::take(&mut self.watched) {
            self.give_up(pid, watch);
        }
    }

    /// Notes a process that was waited for in vain: one that was asked for, or
    /// one that is a Python.
    fn give_up(&mut self, pid: Pid, watch: Watch) {
        let Some(obstacle) = watch.obstacle else { return };
        let python = matches!(obstacle, Obstacle::Refused { .. });
        let sampled = self.incarnations.values().any(|known| known.pid == pid);
        if (watch.asked_for || python) && !sampled && self.reported.insert(pid) {
            self.refused.push((pid, obstacle));
        }
    }

    /// Reads an object from its process's memory, or from the image's file
    /// where the process is gone. Nothing is learnt if neither has it.
    pub(crate) fn explain(&self, key: Key, names: &mut Names) {
        let Some(incarnation) = self.incarnations.get(&key.incarnation) else { return };
        let objects = &incarnation.target.objects;
        if let Some(memory) = &incarnation.memory
            && learn(memory, objects, key, names)
        {
            return;
        }
        if let Some(data) = incarnation.build.static_data(incarnation.bias) {
            learn(&data, objects, key, names);
        }
    }
}

impl Incarnation {
    /// Path of the image with the runtime.
    pub(crate) fn path(&self) -> &str {
        &self.build.report.file.path
    }
}

/// Whether the object could be read.
fn learn(memory: &dyn ReadMemory, objects: &Objects, key: Key, names: &mut Names) -> bool {
    if key.is_class {
        let Some(name) = fallback::class(memory, objects, key.address) else { return false };
        names.correct_class(key, &name);
        return true;
    }
    let print = (key.print != 0).then_some(key.print);
    let Some(parts) = fallback::code(memory, objects, key.address, print) else { return false };
    let (name, file) = (names.text(&parts.name), names.text(&parts.file));
    let size = parts.lines.len() as u64;
    names.correct(key, Function::new(name, file, parts.first_line, &parts.lines, size));
    true
}

/// Nanoseconds of the clock that the program's events use.
pub(crate) fn monotonic() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    (now.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(now.tv_nsec as u64)
}

/// A process whose first thread has ended is gone when no other is left.
fn only_its_leader_is_left(pid: Pid) -> bool {
    std::fs::read_dir(format!("/proc/{pid}/task")).map_or(true, |threads| threads.count() <= 1)
}
