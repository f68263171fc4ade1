//! What the user asked for and what came of it.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use analyzer_core::report::{Report, Status};
use leptos::prelude::*;

use crate::analysis::{Analyzer, Answer, Failure, Source, Task};
use crate::words;

/// Identifies an [`Entry`] for the life of the page.
pub(crate) type EntryId = u32;

/// Finished files kept beside the newest; older ones are forgotten.
const KEPT: usize = 400;

/// One file.
#[derive(Clone)]
pub(crate) struct Entry {
    /// Identity.
    pub(crate) id: EntryId,
    /// Name as the user knows it.
    pub(crate) name: String,
    /// How far it is.
    pub(crate) state: ArcRwSignal<State>,
}

/// How far a file is.
#[derive(Clone)]
pub(crate) enum State {
    /// Waits for those before it.
    Queued,
    /// Is being read: bytes so far, of how many.
    Reading(f64, f64),
    /// Is being analyzed.
    Analyzing,
    /// There is a report.
    Done(Arc<Analyzed>),
    /// There is none.
    Failed(Failure),
}

/// A report and how it came.
pub(crate) struct Analyzed {
    /// The report.
    pub(crate) report: Report,
    /// The same as the analyzer wrote it.
    pub(crate) json: String,
    /// Milliseconds from the drop to the report, of which reading, of which analysis;
    /// absent for a report that came with a link.
    pub(crate) times: Option<Times>,
}

/// Where the time went, in milliseconds.
#[derive(Clone, Copy)]
pub(crate) struct Times {
    pub(crate) total: f64,
    pub(crate) read: f64,
    pub(crate) analyze: f64,
}

/// What came in with one gesture.
pub(crate) struct Intake {
    /// Files to analyze, at least one unless `skipped` says why.
    pub(crate) files: Vec<(String, Source)>,
    /// Files of a directory or batch that are no ELF files.
    pub(crate) skipped: usize,
    /// `performance.now()` at the gesture.
    pub(crate) since: f64,
}

/// The state of the page; a handle that copies.
#[derive(Clone, Copy)]
pub(crate) struct Session {
    /// All files, newest gesture first.
    pub(crate) entries: RwSignal<Vec<Entry>>,
    /// The one shown.
    pub(crate) selected: RwSignal<Option<EntryId>>,
    /// The one it is compared with.
    pub(crate) compared: RwSignal<Option<EntryId>>,
    /// What a screen reader should say now.
    pub(crate) announcement: RwSignal<String>,
    /// What could not be done, until the next gesture.
    pub(crate) complaint: RwSignal<Option<String>>,
    /// Files of the last gesture that were passed over.
    pub(crate) skipped: RwSignal<usize>,
    work: StoredValue<Work, LocalStorage>,
}

struct Work {
    analyzer: Analyzer,
    sources: Vec<(EntryId, Source)>,
    queue: VecDeque<EntryId>,
    running: Option<EntryId>,
    next_id: EntryId,
    since: f64,
    /// The user chose an entry while the batch was running.
    chosen: bool,
}

impl Session {
    /// An empty session; starts the worker.
    pub(crate) fn start() -> Self {
        Self {
            entries: RwSignal::new(Vec::new()),
            selected: RwSignal::new(None),
            compared: RwSignal::new(None),
            announcement: RwSignal::new(String::new()),
            complaint: RwSignal::new(None),
            skipped: RwSignal::new(0),
            work: StoredValue::new_local(Work {
                analyzer: Analyzer::start(),
                sources: Vec::new(),
                queue: VecDeque::new(),
                running: None,
                next_id: 0,
                since: 0.0,
                chosen: false,
            }),
        }
    }

    /// The entry shown.
    pub(crate) fn current(&self) -> Option<Entry> {
        self.find(self.selected.get()?)
    }

    /// The report of an entry, once it is there. Tracks both.
    pub(crate) fn analyzed(&self, id: Option<EntryId>) -> Option<Arc<Analyzed>> {
        match self.find(id?)?.state.get() {
            State::Done(analyzed) => Some(analyzed),
            _ => None,
        }
    }

    /// An entry, without following what becomes of it.
    pub(crate) fn find_untracked(&self, id: EntryId) -> Option<Entry> {
        self.entries.with_untracked(|entries| entries.iter().find(|e| e.id == id).cloned())
    }

    fn find(&self, id: EntryId) -> Option<Entry> {
        self.entries.with(|entries| entries.iter().find(|entry| entry.id == id).cloned())
    }

    /// Takes in what the user dropped. What an earlier gesture still had to
    /// do is cancelled, what it has done stays.
    pub(crate) fn take(&self, intake: Intake) {
        self.cancel();
        self.complaint.set(None);
        self.skipped.set(intake.skipped);
        let mut fresh = Vec::new();
        self.work.update_value(|work| {
            work.since = intake.since;
            work.chosen = false;
            for (name, source) in intake.files {
                let id = work.next_id;
                work.next_id = id.wrapping_add(1);
                work.sources.push((id, source));
                work.queue.push_back(id);
                fresh.push(Entry { id, name, state: ArcRwSignal::new(State::Queued) });
            }
        });
        let Some(first) = fresh.first() else { return };
        self.compared.set(None);
        self.selected.set(Some(first.id));
        self.add(fresh);
        self.pump();
    }

    /// Shows a report that came without its file.
    pub(crate) fn show(&self, analyzed: Arc<Analyzed>) {
        let mut id = 0;
        self.work.update_value(|work| {
            id = work.next_id;
            work.next_id = id.wrapping_add(1);
        });
        let name = match analyzed.report.file.path.as_str() {
            "" => "shared report".to_owned(),
            path => path.to_owned(),
        };
        self.announcement.set(wording::verdict(&analyzed.report).headline);
        let state = ArcRwSignal::new(State::Done(analyzed));
        self.add(vec![Entry { id, name, state }]);
        self.selected.set(Some(id));
    }

    /// Says that something could not be done, where nothing else shows it.
    pub(crate) fn complain(&self, message: String) {
        self.announcement.set(message.clone());
        self.complaint.set(Some(message));
    }

    fn add(&self, mut fresh: Vec<Entry>) {
        self.entries.update(|entries| {
            fresh.append(entries);
            *entries = fresh;
        });
        let dropped: Vec<EntryId> = self
            .entries
            .try_update(|entries| entries.drain(KEPT.min(entries.len())..).map(|e| e.id).collect())
            .unwrap_or_default();
        self.work.update_value(|work| {
            work.sources.retain(|(id, _)| !dropped.contains(id));
        });
    }

    /// Stops what is running and forgets what is waiting.
    pub(crate) fn cancel(&self) {
        self.work.update_value(|work| {
            work.analyzer.cancel();
            work.queue.clear();
            work.running = None;
        });
        self.entries.update(|entries| {
            entries.retain(|entry| {
                matches!(entry.state.get_untracked(), State::Done(_) | State::Failed(_))
            });
        });
        let gone = self.selected.get_untracked().is_some_and(|id| {
            self.entries.with_untracked(|entries| entries.iter().all(|entry| entry.id != id))
        });
        if gone {
            let first =
                self.entries.with_untracked(|entries| entries.first().map(|entry| entry.id));
            self.selected.set(first);
        }
    }

    /// Shows an entry because the user asked for it.
    pub(crate) fn choose(&self, id: EntryId) {
        self.work.update_value(|work| work.chosen = true);
        if self.compared.get_untracked() == Some(id) {
            self.compared.set(None);
        }
        self.selected.set(Some(id));
    }

    /// Asks for a reproducer of an entry.
    pub(crate) fn reproducer(
        &self,
        entry: &Entry,
        done: impl Fn(Result<Vec<u8>, Failure>) + 'static,
    ) {
        let (analyzer, Some(source)) = self.work_on(entry.id) else {
            done(Err(Failure {
                code: "no-file".into(),
                message: "This report came with a link, without its file.".into(),
            }));
            return;
        };
        analyzer.ask(
            Task::Reproducer,
            &source,
            &entry.name,
            Rc::new(move |answer| match answer {
                Answer::Reproducer(bytes) => done(Ok(bytes)),
                Answer::Failed(failure) => done(Err(failure)),
                _ => {}
            }),
        );
    }

    /// Whether the entry's file is at hand.
    pub(crate) fn has_file(&self, id: EntryId) -> bool {
        self.work_on(id).1.is_some()
    }

    /// The analyzer and an entry's file. Taken out, because an answer may come
    /// before the question returns.
    fn work_on(&self, id: EntryId) -> (Analyzer, Option<Source>) {
        self.work.with_value(|work| {
            let source = work.sources.iter().find(|(known, _)| *known == id);
            (work.analyzer.clone(), source.map(|(_, source)| source.clone()))
        })
    }

    /// Starts the next file, if none is running.
    fn pump(&self) {
        let session = *self;
        let mut next = None;
        self.work.update_value(|work| {
            if work.running.is_none() {
                work.running = work.queue.pop_front();
                next = work.running;
            }
        });
        let Some(entry) = next.and_then(|id| self.find_untracked(id)) else { return };
        entry.state.set(State::Reading(0.0, 0.0));
        let (analyzer, Some(source)) = self.work_on(entry.id) else { return };
        let heard = entry.clone();
        analyzer.ask(
            Task::Report,
            &source,
            &entry.name,
            Rc::new(move |answer| session.hear(&heard, answer)),
        );
    }

    fn hear(&self, entry: &Entry, answer: Answer) {
        match answer {
            Answer::Progress { done, total } => entry.state.set(State::Reading(done, total)),
            Answer::Analyzing => entry.state.set(State::Analyzing),
            Answer::Report { json, read_ms, analyze_ms } => {
                let total = words::now() - self.work.with_value(|work| work.since);
                let times = Times { total, read: read_ms, analyze: analyze_ms };
                self.settle(entry, read_report(json, Some(times)));
            }
            Answer::Failed(failure) => self.settle(entry, State::Failed(failure)),
            Answer::Reproducer(_) => {}
        }
    }

    fn settle(&self, entry: &Entry, state: State) {
        let rank = relevance(&state);
        if self.selected.get_untracked() == Some(entry.id) {
            self.announcement.set(match &state {
                State::Done(done) => wording::verdict(&done.report).headline,
                State::Failed(failure) => failure.message.clone(),
                _ => String::new(),
            });
        }
        entry.state.set(state);
        // In a batch, show the file that matters most.
        let better = self.current_relevance().is_none_or(|shown| rank > shown);
        if better && !self.work.with_value(|work| work.chosen) {
            self.selected.set(Some(entry.id));
        }
        self.work.update_value(|work| work.running = None);
        self.pump();
    }

    fn current_relevance(&self) -> Option<u8> {
        let entry = self.find_untracked(self.selected.get_untracked()?)?;
        Some(relevance(&entry.state.get_untracked()))
    }
}

/// Reads a report's JSON text.
pub(crate) fn read_report(json: String, times: Option<Times>) -> State {
    match crate::reading::report(&json) {
        Ok(report) => State::Done(Arc::new(Analyzed { report, json, times })),
        Err(error) => State::Failed(Failure {
            code: "report".into(),
            message: format!("The report cannot be read: {error}."),
        }),
    }
}

/// The most that [`relevance`] says.
pub(crate) const MOST_RELEVANT: u8 = 6;

/// How much a user who gave many files wants to see this one.
pub(crate) fn relevance(state: &State) -> u8 {
    match state {
        State::Queued | State::Reading(..) | State::Analyzing => 0,
        State::Failed(_) => 2,
        State::Done(done) => match done.report.status {
            Status::Conflict | Status::Unresolved => MOST_RELEVANT,
            Status::Resolved => 5,
            Status::Launcher => 4,
            Status::Unsupported | Status::Damaged => 3,
            Status::NotPython if done.report.libc.is_some() => 3,
            Status::NotPython | Status::NotElf => 1,
        },
    }
}
