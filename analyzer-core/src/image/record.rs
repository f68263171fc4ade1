//! What was looked at in an image.

use alloc::{string::String, vec::Vec};
use core::cell::{Cell, RefCell};

use super::{
    Image, Range, Segment,
    symbol::{Symbol, Table},
};
use crate::{
    addr::VirtAddr,
    ordered::{Set, sort_by_key},
};

/// Ranges kept before touching ones are joined.
const MANY_RANGES: usize = 4096;

/// Everything an [`Image`] gave answers from since it was made
/// [`recording`](Image::recording): the file's own headers and names (what
/// takes no argument to ask for) left out.
///
/// Another image that holds these things, at the same addresses, gives the
/// same answers to the same questions.
#[derive(Clone, Debug, Default)]
pub struct Record {
    ranges: Vec<Range>,
    pub(crate) symbols: Set<(Table, u32)>,
    pub(crate) relocations: Set<VirtAddr>,
    pub(crate) sections: Set<String>,
    pub(crate) unwind: Set<Range>,
    pub(crate) types: Option<Set<MemberPath>>,
}

/// What debug information tells of a structure: its name, and the members
/// that lead from it to a place inside, each with its offset in bytes in the
/// structure it is a member of.
pub(crate) type MemberPath = (String, Vec<(String, u64)>);

impl Record {
    /// The addresses whose bytes were read, in order, none touching another.
    #[must_use]
    pub fn ranges(&self) -> Vec<Range> {
        joined(self.ranges.clone())
    }

    fn add(&mut self, range: Range) {
        match self.ranges.last_mut() {
            // Code is read from one address on: most reads continue the last.
            Some(last) if last.start <= range.start && range.start <= last.end => {
                last.end = last.end.max(range.end);
            }
            _ => self.ranges.push(range),
        }
        if self.ranges.len() >= MANY_RANGES {
            self.ranges = joined(core::mem::take(&mut self.ranges));
        }
    }
}

/// Where a recording image keeps its record.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    record: RefCell<Record>,
    is_paused: Cell<bool>,
}

fn joined(mut ranges: Vec<Range>) -> Vec<Range> {
    sort_by_key(&mut ranges, |range| (range.start.0, range.end.0));
    let mut joined: Vec<Range> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

impl<'d> Image<'d> {
    /// The same image, from now on keeping a [`Record`] of what is looked at.
    #[must_use]
    pub fn recording(self) -> Self {
        Self { recorder: Some(Recorder::default()), ..self }
    }

    /// What was looked at; `None` when the image is not recording.
    #[must_use]
    pub fn record(&self) -> Option<Record> {
        self.recorder.as_ref().map(|recorder| recorder.record.borrow().clone())
    }

    /// Runs `look` without noting what it looks at. For searches, which look
    /// at much and find little: what the answer depends on is for the caller
    /// to [`keep`](Image::keep), or to ask for again if the image
    /// [is recording](Image::is_recording).
    pub fn aside<T>(&self, look: impl FnOnce() -> T) -> T {
        let Some(recorder) = &self.recorder else { return look() };
        let before = recorder.is_paused.replace(true);
        let found = look();
        recorder.is_paused.set(before);
        found
    }

    /// Whether a [`Record`] is kept of what is looked at now.
    #[must_use]
    pub fn is_recording(&self) -> bool {
        self.recorder.as_ref().is_some_and(|recorder| !recorder.is_paused.get())
    }

    /// The bytes the file holds for a segment, to search in. What of them the
    /// answer depends on is for the caller to [`keep`](Image::keep).
    #[must_use]
    pub fn segment_bytes(&self, segment: &Segment) -> &'d [u8] {
        self.rest_from(segment.address)
    }

    /// Notes that an answer depends on the `len` bytes at `address`.
    pub fn keep(&self, address: VirtAddr, len: usize) {
        if len > 0 {
            self.note(|record| record.add(Range::new(address, len as u64)));
        }
    }

    /// Notes that there is debug information.
    #[cfg(feature = "dwarf")]
    pub(crate) fn keep_debug_information(&self) {
        self.note(|record| {
            record.types.get_or_insert_default();
        });
    }

    /// Notes what debug information tells of the structure `name`.
    #[cfg(feature = "dwarf")]
    pub(crate) fn keep_members(&self, name: &str, members: &[(&str, u64)]) {
        let members = members.iter().map(|&(name, offset)| (name.into(), offset)).collect();
        self.note(|record| {
            record.types.get_or_insert_default().insert((name.into(), members));
        });
    }

    pub(super) fn note(&self, add: impl FnOnce(&mut Record)) {
        if let Some(recorder) = &self.recorder
            && !recorder.is_paused.get()
        {
            add(&mut recorder.record.borrow_mut());
        }
    }

    pub(super) fn noted(&self, symbol: Symbol<'d>) -> Symbol<'d> {
        self.note_symbol(symbol.table, symbol.index);
        symbol
    }

    pub(super) fn note_symbol(&self, table: Table, index: u32) {
        self.note(|record| {
            record.symbols.insert((table, index));
        });
    }
}
