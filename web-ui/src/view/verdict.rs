//! The verdict, the build, and how the routes are walked.

use analyzer_core::report::{Report, Route};
use wording::{Tone, route, terms, walk};

use super::list::{glyph, tone_class};
use super::prose::code_words;
use crate::dom::{View, el, html};
use crate::session::Analyzed;
use crate::words;

/// The first thing read.
pub(super) fn verdict(analyzed: &Analyzed, name: &str) -> View {
    let report = &analyzed.report;
    let verdict = wording::verdict(report);
    let routes = report.routes.iter().enumerate().map(|(index, r)| way(report, index, r));
    html(r#"<section class="verdict" id="verdict" tabindex="-1" aria-labelledby="verdict-title"></section>"#)
        .attr("data-status", terms::status(report.status))
        .child(el("p", "file-name").child(el("code", "").text(name)))
        .child(
            el("div", "sentence")
                .child(seal(verdict.tone, verdict.word))
                .child(html(r#"<h2 id="verdict-title"></h2>"#).child(code_words(&verdict.headline))),
        )
        .child(el("p", "support").child(code_words(&verdict.support)))
        .child(
            html(r#"<ul class="build" aria-label="Build"></ul>"#)
                .children(wording::build(report).iter().map(|part| el("li", "").text(part))),
        )
        .child((!report.routes.is_empty()).then(|| {
            html(r#"<ol class="routes" aria-label="Routes"></ol>"#).children(routes)
        }))
        .child(report.preference.as_ref().map(|text| el("p", "preference").text(text)))
        .child(analyzed.times.map(|times| {
            el("p", "timing").text(&format!(
                "{} ms from drop to verdict: {} ms reading, {} ms analysis",
                words::milliseconds(times.total),
                words::milliseconds(times.read),
                words::milliseconds(times.analyze)
            ))
        }))
}

/// The verdict's word with its glyph.
pub(super) fn seal(tone: Tone, word: &str) -> View {
    el("span", "seal").class(tone_class(tone)).child(super::hidden(glyph(tone))).text(word)
}

/// A route, and how it is walked.
fn way(report: &Report, index: usize, route: &Route) -> View {
    let station = |station: walk::Station| {
        el("li", "")
            .child(el("span", "when").text(station.when))
            .child(el("strong", "").text(&station.title))
            .child(el("code", "").text(&station.place))
            .child(el("p", "").text(&station.words))
    };
    el("li", "route")
        .child(
            el("h3", "")
                .child(super::badge(index).text(&(index + 1).to_string()))
                .text(&terms::capital(route::kind(route)))
                .child(
                    el("span", "quiet")
                        .text(&route::answer(route))
                        .text(" · ")
                        .text(terms::strength(route::strength(route)).0),
                ),
        )
        .child(el("ol", "walk").children(walk::stations(report, route).into_iter().map(station)))
}
