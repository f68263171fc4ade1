//! Samples as they come in: kept small, resolved later.

use std::{
    collections::{HashMap, HashSet},
    hash::{BuildHasher as _, RandomState},
    time::Instant,
};

use agent_ebpf::{
    event::{ENTRY_UNREADABLE, Entry, Sample},
    status::{GilState, PthreadIdMatch, StackStatus, StateSource, ThreadStateMatch},
};

use super::event::{Entries, Event};
use crate::symbolize::names::{Key, Names};

/// One sample.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    /// Nanoseconds of the kernel's monotonic clock.
    pub(crate) time: u64,
    /// Index in [`Collector::threads`].
    pub(crate) thread: u32,
    /// Index in [`Collector::stacks`].
    pub(crate) stack: u32,
    /// CPU.
    pub(crate) cpu: u32,
    /// What the sample says about its thread.
    pub(crate) states: States,
}

/// What a sample says about its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct States {
    pub(crate) thread_state_match: ThreadStateMatch,
    pub(crate) gil_state: GilState,
    pub(crate) pthread_id_match: PthreadIdMatch,
    pub(crate) stack_status: StackStatus,
    pub(crate) source: StateSource,
}

/// A thread that was sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Thread {
    /// The configuration of its process.
    pub(crate) incarnation: u64,
    /// Thread id in the agent's PID namespace.
    pub(crate) tid: u32,
}

/// A stack as it was sent, innermost entry first.
#[derive(Debug)]
pub(crate) struct Stack {
    /// The configuration of its process.
    pub(crate) incarnation: u64,
    /// Its entries.
    pub(crate) entries: Box<[Entry]>,
}

/// All that was sampled.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    pub(crate) samples: Vec<Taken>,
    pub(crate) threads: Vec<(Thread, String)>,
    pub(crate) stacks: Vec<Stack>,
    pub(crate) names: Names,
    thread_ids: HashMap<Thread, u32>,
    /// Stacks by their hash; those with the same hash are compared.
    stack_ids: HashMap<u64, Vec<u32>>,
    hasher: RandomState,
    /// Objects that samples named and nobody explained yet, and since when.
    unexplained: HashMap<Key, Instant>,
    /// Objects whose copy was incomplete, or that the program cannot copy.
    incomplete: HashSet<Key>,
    entries: Vec<Entry>,
}

impl Collector {
    /// Takes an event that is not a notice.
    pub(crate) fn take(&mut self, event: &Event<'_>, now: Instant) {
        match event {
            Event::Sample(sample, entries) => self.sample(sample, entries.clone(), now),
            Event::Code(code, parts) => {
                let key = Key::code(code.incarnation, code.address, code.print);
                self.unexplained.remove(&key);
                if !self.names.learn_code(code, *parts) {
                    self.incomplete.insert(key);
                }
            }
            Event::Class(class, name) => {
                let key = Key::class(class.incarnation, class.address, class.print);
                self.unexplained.remove(&key);
                if !self.names.learn_class(class, name) {
                    self.incomplete.insert(key);
                }
            }
            Event::Notice(_) => {}
        }
    }

    fn sample(&mut self, sample: &Sample, entries: Entries<'_>, now: Instant) {
        let thread = Thread { incarnation: sample.incarnation, tid: sample.tid };
        let next = self.threads.len() as u32;
        let thread = *self.thread_ids.entry(thread).or_insert_with(|| {
            self.threads.push((thread, comm(&sample.comm)));
            next
        });
        self.entries.clear();
        self.entries.extend(entries);
        let stack = self.stack(sample.incarnation, now);
        self.samples.push(Taken {
            time: sample.time,
            thread,
            stack,
            cpu: sample.cpu,
            states: States {
                thread_state_match: sample.thread_state_match,
                gil_state: sample.gil_state,
                pthread_id_match: sample.pthread_id_match,
                stack_status: sample.stack_status,
                source: sample.source,
            },
        });
    }

    /// The number of the stack in `self.entries`.
    fn stack(&mut self, incarnation: u64, now: Instant) -> u32 {
        let hash = self.hasher.hash_one((incarnation, &self.entries));
        let ids = self.stack_ids.entry(hash).or_default();
        for &id in &*ids {
            let known = &self.stacks[id as usize];
            if known.incarnation == incarnation && *known.entries == *self.entries {
                return id;
            }
        }
        let id = self.stacks.len() as u32;
        ids.push(id);
        for &entry in &self.entries {
            if let Some(key) = Key::of(incarnation, entry)
                && !self.names.knows(key)
                && !self.incomplete.contains(&key)
            {
                if entry.kind() == ENTRY_UNREADABLE {
                    self.incomplete.insert(key);
                } else {
                    self.unexplained.entry(key).or_insert(now);
                }
            }
        }
        self.stacks.push(Stack { incarnation, entries: self.entries.as_slice().into() });
        id
    }

    /// Objects that the program did not explain: copies that were incomplete or
    /// impossible, and what has waited for its copy since before `deadline`.
    pub(crate) fn due_for_reading(&mut self, deadline: Instant) -> Vec<Key> {
        let mut keys: Vec<Key> = self.incomplete.drain().collect();
        self.unexplained.retain(|key, since| {
            let waits = *since > deadline;
            if !waits {
                keys.push(*key);
            }
            waits
        });
        keys
    }
}

fn comm(comm: &[u8; 16]) -> String {
    let end = comm.iter().position(|&byte| byte == 0).unwrap_or(comm.len());
    String::from_utf8_lossy(&comm[..end]).into_owned()
}
