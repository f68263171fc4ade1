//! The live line on a terminal.

use std::{
    io::{IsTerminal as _, Write as _, stderr},
    time::{Duration, Instant},
};

/// How often it changes.
const INTERVAL: Duration = Duration::from_millis(250);

/// One line on standard error that is written again and again.
#[derive(Debug)]
pub(super) struct Progress {
    began: Instant,
    last: Option<Instant>,
    enabled: bool,
}

impl Progress {
    /// Shows nothing when standard error is no terminal.
    pub(super) fn new(began: Instant) -> Self {
        Self { began, last: None, enabled: stderr().is_terminal() }
    }

    /// Shows the counts, if it is time.
    pub(super) fn show(&mut self, now: Instant, counts: impl FnOnce() -> String) {
        if self.enabled && self.last.is_none_or(|last| now - last >= INTERVAL) {
            self.last = Some(now);
            let elapsed = (now - self.began).as_secs_f64();
            let _ = write!(stderr(), "\r\x1b[K{elapsed:6.1} s  {}  (Ctrl-C ends)", counts());
        }
    }

    /// Takes the line away.
    pub(super) fn clear(&self) {
        if self.last.is_some() {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }
}
