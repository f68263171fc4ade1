//! A report in words: what its terms are called, its verdict and its facts in
//! sentences, and all of it as Markdown.
//!
//! Whatever shows reports to people says the same with it; how that looks is
//! theirs. Nothing here works anything out: a fact that is told is in the
//! report. Text of a report comes out of files that may be hostile: who shows a
//! sentence at a terminal passes it through [`plain()`]; listings and Markdown
//! have been through it.

#![no_std]

extern crate alloc;

pub mod facts;
pub mod listing;
mod markdown;
mod plain;
pub mod route;
pub mod terms;
mod verdict;
pub mod walk;

pub use markdown::{Contents, Traces, markdown};
pub use plain::plain;
pub use verdict::{Verdict, build, verdict};

/// How good some news is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// An answer, and what agrees with it.
    Good,
    /// An answer that stands alone, or a file that leads on to another.
    Mixed,
    /// What is wrong or missing.
    Bad,
    /// Nothing was to be expected.
    Neutral,
}
