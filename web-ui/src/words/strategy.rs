//! Strategies and baselines by name.

use analyzer_core::report::{BaselineOutcome, BaselineResult};
use wording::terms::{capital, count};

/// A strategy's name in two parts: its kind, and the function it reads.
pub(crate) fn name(name: &str) -> (String, Option<&str>) {
    let (kind, function) =
        name.split_once(':').map_or((name, None), |(kind, function)| (kind, Some(function)));
    let kind = match kind {
        "dataflow" => "Code of",
        "dwarf" => "Debug information on",
        other => return (sentence(other), function),
    };
    (kind.to_owned(), function)
}

/// `known-offset` as `Known offset`.
pub(crate) fn sentence(name: &str) -> String {
    capital(&name.replace(['-', '_'], " "))
}

/// Glyph and words for how a baseline ends.
pub(crate) fn baseline(outcome: BaselineOutcome) -> (&'static str, &'static str) {
    match outcome {
        BaselineOutcome::Right => ("✓", "gets it right"),
        BaselineOutcome::Wrong => ("≠", "answers wrongly"),
        BaselineOutcome::Fails => ("✕", "finds nothing"),
        BaselineOutcome::Unverified => ("?", "answers, unverified"),
        BaselineOutcome::NotApplicable => ("–", "does not apply"),
    }
}

/// How many baselines fail, in a sentence.
pub(crate) fn summary(baselines: &[BaselineResult]) -> String {
    let applicable =
        baselines.iter().filter(|b| b.outcome != BaselineOutcome::NotApplicable).count();
    let failing = baselines
        .iter()
        .filter(|b| matches!(b.outcome, BaselineOutcome::Fails | BaselineOutcome::Wrong))
        .count();
    match (failing, applicable) {
        (_, 0) => "No simpler decoder applies to this file.".to_owned(),
        (0, 1) => "The simpler decoder gets this file right.".to_owned(),
        (0, _) => "Every simpler decoder gets this file right.".to_owned(),
        (failing, applicable) if failing == applicable => {
            "No simpler decoder gets this file right.".to_owned()
        }
        (failing, applicable) => format!(
            "{} of {} simpler decoders would lose this build's Python frames.",
            capital(&count(failing)),
            count(applicable)
        ),
    }
}
