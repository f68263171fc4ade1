//! Who would fail here: what simpler decoders make of this file.

use analyzer_core::report::{BaselineResult, Report};
use wording::terms;

use super::list::tone_class;
use super::prose::code_words;
use super::report::Spot;
use crate::dom::{View, el, html};
use crate::listing;
use crate::session::Analyzed;
use crate::words::strategy;

/// The baselines, each with the instruction at which it goes wrong.
pub(super) fn baselines(analyzed: &Analyzed, spot: Spot) -> View {
    let report = &analyzed.report;
    html(
        r#"<section id="baselines" tabindex="-1" aria-labelledby="baselines-title"><h2 id="baselines-title">Who would fail here</h2></section>"#,
    )
    .child(el("p", "lead").text(&strategy::summary(&report.baselines)))
    .child(el("ul", "cards").children(report.baselines.iter().map(|b| card(report, b, spot))))
}

fn card(report: &Report, baseline: &BaselineResult, spot: Spot) -> View {
    let (glyph, word) = strategy::baseline(baseline.outcome);
    let tone = tone_class(terms::baseline(baseline.outcome).1);
    el("li", "baseline")
        .class(tone)
        .child(
            el("h3", "")
                .child(super::dot(tone, glyph))
                .text(&strategy::sentence(&baseline.name))
                .text(" ")
                .child(el("span", "quiet").text(word)),
        )
        .child(baseline.detail.as_ref().map(|text| el("p", "").child(code_words(text))))
        .child(baseline.value.map(|value| {
            el("p", "quiet").text("Its answer: ").child(el("code", "").text(&value.to_string()))
        }))
        .child(baseline.at.map(|at| {
            let address = el("code", "").text(&at.to_string());
            match listing::find(report, at) {
                Some((strategy, step)) => html(r#"<button type="button" class="jump"></button>"#)
                    .child(el("span", "").text("at ").child(address))
                    .child(el("code", "ins").text(&report.strategies[strategy].trace[step].text))
                    .child(html(r#"<span class="go">show in the code ↓</span>"#))
                    .on("click", move |_| spot.go(strategy, step)),
                None => el("p", "quiet").text("at ").child(address),
            }
        }))
}
