//! The verdict in one sentence, and how sure it is in a second.

use analyzer_core::report::{Outcome, Report, Route, Status, Strength};

use super::{count, place, route_parts};

/// How good the news is; decides colour and glyph, never alone.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Mixed,
    Bad,
    Neutral,
}

/// What the page says first.
pub(crate) struct Verdict {
    pub(crate) tone: Tone,
    /// One word for the seal.
    pub(crate) word: &'static str,
    /// One sentence.
    pub(crate) headline: String,
    /// How sure, or what to do.
    pub(crate) support: String,
}

/// Puts the report's outcome in words.
pub(crate) fn verdict(report: &Report) -> Verdict {
    let (tone, word, headline, support) = match report.status {
        Status::Resolved => match report.routes.first() {
            Some(route) => resolved(report, route),
            None => (Tone::Good, "Resolved", "Resolved.".to_owned(), String::new()),
        },
        Status::Conflict => (
            Tone::Bad,
            "Conflict",
            "The strategies disagree about where the thread state is found.".to_owned(),
            "Do not rely on one of the answers; the strategies below show each with its evidence."
                .to_owned(),
        ),
        Status::Unresolved => (
            Tone::Bad,
            "Unresolved",
            "This is a Python, and no way to its thread states was found.".to_owned(),
            "The strategies say why each came back empty; the diagnoses say what to do.".to_owned(),
        ),
        Status::Launcher => launcher(report),
        Status::NotPython if report.libc.is_some() => (
            Tone::Neutral,
            "C library",
            "A C library: it says how a thread finds its own data.".to_owned(),
            "A profiler needs this beside the Python's own route.".to_owned(),
        ),
        Status::NotPython => plain(
            Tone::Neutral,
            "Not Python",
            report,
            "An ELF file without a Python runtime in it.",
        ),
        Status::Unsupported => {
            plain(Tone::Mixed, "Unsupported", report, "This kind of file is not supported.")
        }
        Status::NotElf => plain(Tone::Neutral, "Not ELF", report, "This is not an ELF file."),
        Status::Damaged => {
            plain(Tone::Bad, "Damaged", report, "The ELF file is cut off or contradicts itself.")
        }
    };
    Verdict { tone, word, headline, support }
}

type Parts = (Tone, &'static str, String, String);

/// The first diagnosis says it best, where there is one.
fn plain(tone: Tone, word: &'static str, report: &Report, otherwise: &str) -> Parts {
    match report.diagnoses.first() {
        Some(first) => {
            let title = first.title.trim_end_matches('.');
            (tone, word, format!("{title}."), first.remedy.clone())
        }
        None => (tone, word, otherwise.to_owned(), String::new()),
    }
}

fn launcher(report: &Report) -> Parts {
    let library = report
        .image
        .as_ref()
        .and_then(|image| image.needed.iter().find(|name| name.starts_with("libpython")).cloned());
    let support = match library {
        Some(name) => format!("Drop {name} instead; the dynamic linker finds it when this starts."),
        None => "The diagnoses say where to find it.".to_owned(),
    };
    (
        Tone::Mixed,
        "Launcher",
        "Only a launcher: the interpreter is in a library it links to.".to_owned(),
        support,
    )
}

fn resolved(report: &Report, route: &Route) -> Parts {
    let headline = match route {
        Route::PthreadKey { key_address, runtime_offset, .. } => {
            format!("The pthread key lies at {}.", place(*key_address, *runtime_offset))
        }
        Route::ThreadLocal { .. } => {
            "A thread-local variable holds the thread state; its place is known.".to_owned()
        }
        Route::Global { address, runtime_offset, .. } => format!(
            "A global pointer at {} leads to the thread that holds the GIL.",
            place(*address, *runtime_offset)
        ),
    };
    let (_, _, strength) = route_parts(route);
    let agreeing = report
        .strategies
        .iter()
        .filter(|s| s.outcome == Outcome::Route && s.route == Some(0))
        .count();
    let (tone, support) = match strength {
        Strength::Corroborated => (
            Tone::Good,
            format!(
                "{} independent strategies agree; nothing contradicts them.",
                capital(&count(agreeing))
            ),
        ),
        Strength::Single => {
            (Tone::Mixed, "One strategy found it and no other confirms it.".to_owned())
        }
        Strength::Contested => (Tone::Bad, "Another strategy found something else.".to_owned()),
    };
    (tone, "Resolved", headline, support)
}

/// The text with its first letter in upper case; the page's words begin with
/// letters of ASCII.
pub(crate) fn capital(text: &str) -> String {
    let mut text = text.to_owned();
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text
}
