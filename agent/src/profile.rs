//! A finished recording: what every output is written from.

use std::{collections::HashMap, rc::Rc, time::SystemTime};

use agent_ebpf::{
    counter::Counter,
    event::{ENTRY_CLASS, Entry, NO_INSTRUCTION},
};

use crate::{
    sample::{
        collector::{Collector, States},
        processes::Processes,
    },
    symbolize::names::Key,
};

/// One recording.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    /// Samples per second and CPU.
    pub(crate) rate: u64,
    /// When the recording began.
    pub(crate) began: SystemTime,
    /// Its length in nanoseconds.
    pub(crate) length: u64,
    /// Processes, in the order of their first sample.
    pub(crate) processes: Vec<Process>,
    /// Threads, in the order of their first sample.
    pub(crate) threads: Vec<Thread>,
    /// Every different frame once.
    pub(crate) frames: Vec<Frame>,
    /// Every different stack once.
    pub(crate) stacks: Vec<Stack>,
    /// The samples, in the order of time.
    pub(crate) samples: Vec<Sample>,
    /// The program's counters.
    pub(crate) counters: Vec<(Counter, u64)>,
    /// Frames without a name, over all samples.
    pub(crate) symbols_lost: u64,
    /// Samples of programs that had been replaced already.
    pub(crate) outdated: u64,
}

impl Profile {
    /// One of the program's counters.
    pub(crate) fn counter(&self, counter: Counter) -> u64 {
        self.counters.iter().find(|(known, _)| *known == counter).map_or(0, |&(_, value)| value)
    }

    /// Samples that were taken and did not arrive.
    pub(crate) fn lost(&self) -> u64 {
        self.counter(Counter::SampleRingFull) + self.counter(Counter::WalkCallFailed)
    }
}

/// A process running one program.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    /// Process id.
    pub(crate) pid: u32,
    /// Name.
    pub(crate) name: String,
    /// Python's version.
    pub(crate) version: String,
    /// The image with the runtime.
    pub(crate) path: String,
}

/// A thread.
#[derive(Clone, Debug)]
pub(crate) struct Thread {
    /// Index in [`Profile::processes`].
    pub(crate) process: usize,
    /// Thread id.
    pub(crate) tid: u32,
    /// Name.
    pub(crate) name: String,
}

/// A frame.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Frame {
    /// The function as users write it: qualified, or with its class.
    pub(crate) name: Rc<str>,
    /// The file as Python names it.
    pub(crate) file: Rc<str>,
    /// The line that ran; zero when it is not known.
    pub(crate) line: u32,
    /// The line of the function's definition; zero when it is not known.
    pub(crate) first_line: u32,
}

/// A stack.
#[derive(Clone, Debug)]
pub(crate) struct Stack {
    /// Indices in [`Profile::frames`], outermost first.
    pub(crate) frames: Vec<u32>,
    /// For each frame whether it was entered from native code (from 3.11 on).
    pub(crate) entered_from_native: Vec<bool>,
}

/// A sample.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// Nanoseconds since the recording began.
    pub(crate) time: u64,
    /// Index in [`Profile::threads`].
    pub(crate) thread: usize,
    /// Index in [`Profile::stacks`].
    pub(crate) stack: usize,
    /// CPU.
    pub(crate) cpu: u32,
    /// What it says about its thread.
    pub(crate) states: States,
}

/// Names and lines for everything that was collected.
pub(crate) fn resolve(collector: &Collector, processes: &Processes) -> Resolved {
    let mut resolver = Resolver { collector, processes, frames: Vec::new(), ids: HashMap::new() };
    let mut lost = Vec::with_capacity(collector.stacks.len());
    let mut stacks = Vec::with_capacity(collector.stacks.len());
    for stack in &collector.stacks {
        let (resolved, nameless) = resolver.stack(stack.incarnation, &stack.entries);
        stacks.push(resolved);
        lost.push(nameless);
    }
    Resolved { frames: resolver.frames, stacks, lost }
}

/// What [`resolve`] makes.
#[derive(Debug)]
pub(crate) struct Resolved {
    pub(crate) frames: Vec<Frame>,
    pub(crate) stacks: Vec<Stack>,
    /// For each stack its frames without a name.
    pub(crate) lost: Vec<u64>,
}

struct Resolver<'a> {
    collector: &'a Collector,
    processes: &'a Processes,
    frames: Vec<Frame>,
    ids: HashMap<Frame, u32>,
}

impl Resolver<'_> {
    fn stack(&mut self, incarnation: u64, entries: &[Entry]) -> (Stack, u64) {
        let mut stack = Stack { frames: Vec::new(), entered_from_native: Vec::new() };
        let mut lost = 0;
        let mut entries = entries.iter().peekable();
        while let Some(&entry) = entries.next() {
            let class = entries
                .next_if(|next| next.kind() == ENTRY_CLASS)
                .and_then(|class| Key::of(incarnation, *class))
                .and_then(|key| self.collector.names.class(key));
            let frame = self.frame(incarnation, entry, class.map(|name| &**name));
            lost += u64::from(frame.is_none());
            let frame = frame.unwrap_or_else(|| Frame {
                name: format!("<code at {:#x}>", entry.address()).into(),
                file: "".into(),
                line: 0,
                first_line: 0,
            });
            let next = self.frames.len() as u32;
            let id = *self.ids.entry(frame).or_insert_with_key(|frame| {
                self.frames.push(frame.clone());
                next
            });
            stack.frames.push(id);
            stack.entered_from_native.push(entry.entered_from_native());
        }
        stack.frames.reverse();
        stack.entered_from_native.reverse();
        (stack, lost)
    }

    fn frame(&self, incarnation: u64, entry: Entry, class: Option<&str>) -> Option<Frame> {
        let function = self.collector.names.function(Key::of(incarnation, entry)?)?;
        let line = if entry.instruction == NO_INSTRUCTION {
            None
        } else {
            let format = self.processes.incarnation(incarnation)?.line_table;
            function.line(format, entry.instruction)
        };
        let name = match class {
            Some(class) => format!("{class}.{}", function.name).into(),
            None => Rc::clone(&function.name),
        };
        Some(Frame {
            name,
            file: Rc::clone(&function.file),
            line: line.unwrap_or(0),
            first_line: function.first_line,
        })
    }
}
