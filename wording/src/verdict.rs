//! The verdict in one sentence, and how sure it is in a second; the build.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use analyzer_core::report::{Flavour, Outcome, Report, Route, Status, Strength};

use crate::terms::{self, capital, count};
use crate::{Tone, route};

/// What is said first.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// How good the news is.
    pub tone: Tone,
    /// One word, or two.
    pub word: &'static str,
    /// One sentence.
    pub headline: String,
    /// How sure, or what to do: a sentence, or nothing.
    pub support: String,
}

/// Puts the report's outcome in words.
#[must_use]
pub fn verdict(report: &Report) -> Verdict {
    let say = |tone, word, headline: &str, support: &str| Verdict {
        tone,
        word,
        headline: headline.to_owned(),
        support: support.to_owned(),
    };
    // The first diagnosis says it best, where there is one.
    let diagnosed = |tone, word, otherwise| match report.diagnoses.first() {
        Some(first) => say(tone, word, &first.detail, &first.remedy),
        None => say(tone, word, otherwise, ""),
    };
    match report.status {
        Status::Resolved => match report.routes.first() {
            Some(route) => resolved(report, route),
            None => say(Tone::Good, "Resolved", "The thread state can be reached.", ""),
        },
        Status::Conflict => say(
            Tone::Bad,
            "Conflict",
            "The strategies disagree about where the thread state is found.",
            "Do not rely on one of the answers; the strategies below show each with its evidence.",
        ),
        Status::Unresolved => say(
            Tone::Bad,
            "Unresolved",
            "This is a Python, and no way to its thread states was found.",
            "The strategies say why each came back empty; the diagnoses say what to do.",
        ),
        Status::Launcher => say(
            Tone::Mixed,
            "Launcher",
            "Only a launcher: the interpreter is in a library it links to.",
            &launched(report),
        ),
        Status::NotPython if report.libc.is_some() => say(
            Tone::Neutral,
            "C library",
            "A C library: it says how a thread finds its own data.",
            "A profiler needs this beside the Python's own route.",
        ),
        Status::NotPython => {
            diagnosed(Tone::Neutral, "Not Python", "An ELF file without a Python runtime in it.")
        }
        Status::Unsupported => {
            diagnosed(Tone::Mixed, "Unsupported", "This kind of file is not supported.")
        }
        Status::NotElf => diagnosed(Tone::Neutral, "Not ELF", "This is not an ELF file."),
        Status::Damaged => {
            diagnosed(Tone::Bad, "Damaged", "The ELF file is cut off or contradicts itself.")
        }
    }
}

/// What to look at instead of a launcher.
fn launched(report: &Report) -> String {
    let library = report
        .image
        .as_ref()
        .and_then(|image| image.needed.iter().find(|name| name.starts_with("libpython")));
    match library {
        Some(name) => {
            format!("Look at {name} instead; the dynamic linker finds it when this starts.")
        }
        None => "The diagnoses say where to find it.".to_owned(),
    }
}

fn resolved(report: &Report, route: &Route) -> Verdict {
    let answer = route::answer(route);
    let headline = match route {
        Route::PthreadKey { .. } => format!("The pthread key lies at {answer}."),
        Route::ThreadLocal { model, .. } => {
            let model = terms::model(*model);
            format!("A thread-local variable holds the thread state: {model}, {answer}.")
        }
        Route::Global { .. } => {
            format!("A global pointer at {answer} leads to the thread that holds the GIL.")
        }
    };
    let agreeing = report
        .strategies
        .iter()
        .filter(|s| s.outcome == Outcome::Route && s.route == Some(0))
        .count();
    let strength = route::strength(route);
    let support = match strength {
        Strength::Corroborated => format!(
            "{} independent strategies agree; nothing contradicts them.",
            capital(&count(agreeing))
        ),
        Strength::Single => "One strategy found it and no other confirms it.".to_owned(),
        Strength::Contested => "Another strategy found something else.".to_owned(),
    };
    let (_, tone) = terms::strength(strength);
    Verdict { tone, word: "Resolved", headline, support }
}

/// What the file is: `CPython 3.12.1`, `x86-64 shared library`, `glibc`,
/// `stripped`, `30.4 MB`.
#[must_use]
pub fn build(report: &Report) -> Vec<String> {
    let mut parts = Vec::new();
    if let Some(python) = &report.python {
        let version = python.version.as_deref().unwrap_or("of unknown version");
        parts.push(format!("CPython {version}"));
        if python.flavour != Flavour::Release {
            parts.push(terms::flavour(python.flavour).to_owned());
        }
    }
    if let Some(image) = &report.image {
        parts.push(format!("{} {}", terms::arch(image.arch), terms::kind(image.kind)));
        parts.extend(image.libc.map(|libc| terms::libc(libc).to_owned()));
        parts.push(if image.stripped { "stripped" } else { "with symbol table" }.to_owned());
        if !image.section_headers {
            parts.push("without section headers".to_owned());
        }
    }
    parts.push(terms::size(report.file.size));
    parts
}
