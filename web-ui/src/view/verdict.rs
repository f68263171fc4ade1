//! The verdict, the build, and how the routes are walked.

use analyzer_core::report::{Report, Route};

use super::list::{glyph, tone_class};
use crate::dom::{View, el, group, html};
use crate::session::Analyzed;
use crate::words::verdict::{self, Tone};
use crate::words::{self, walk};

/// The first thing read.
pub(super) fn verdict(analyzed: &Analyzed, name: &str) -> View {
    let report = &analyzed.report;
    let verdict = verdict::verdict(report);
    let routes = report.routes.iter().enumerate().map(|(index, r)| route(report, index, r));
    html(r#"<section class="verdict" id="verdict" tabindex="-1" aria-labelledby="verdict-title"></section>"#)
        .attr("data-status", words::status(report.status))
        .child(el("p", "file-name").child(el("code", "").text(name)))
        .child(
            el("div", "sentence")
                .child(seal(verdict.tone, verdict.word))
                .child(html(r#"<h2 id="verdict-title"></h2>"#).child(code_words(&verdict.headline))),
        )
        .child(el("p", "support").child(code_words(&verdict.support)))
        .child(
            html(r#"<ul class="build" aria-label="Build"></ul>"#)
                .children(words::build(report).iter().map(|part| el("li", "").text(part))),
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

fn route(report: &Report, index: usize, route: &Route) -> View {
    let (kind, _, strength) = words::route_parts(route);
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
                .text(&verdict::capital(kind))
                .child(
                    el("span", "quiet")
                        .text(&words::route_answer(route))
                        .text(" · ")
                        .text(words::strength(strength)),
                ),
        )
        .child(el("ol", "walk").children(walk::stations(report, route).into_iter().map(station)))
}

/// Sets names of the trade in monospace within running text.
pub(super) fn code_words(text: &str) -> View {
    let is_code = |word: &str| {
        let bare = word.trim_matches(|c: char| ".,;:()".contains(c));
        bare.starts_with("0x")
            || bare.starts_with("_Py")
            || bare.starts_with("PyGIL")
            || bare.starts_with("PyThread")
            || bare.starts_with("libpython")
            || bare.starts_with('&')
            || (bare.contains('_') && bare.len() > 3)
    };
    let mut parts = group();
    let mut plain = String::new();
    let mut words = text.split_inclusive(' ').peekable();
    while let Some(word) = words.next() {
        if !is_code(word) {
            plain.push_str(word);
            continue;
        }
        let mut code = word.to_owned();
        // `_PyRuntime + 0x60c` is one thing.
        while words.peek().is_some_and(|next| next.trim() == "+") {
            code.extend(words.next());
            code.extend(words.next());
        }
        let trimmed = code.trim_end();
        let bare = trimmed.trim_end_matches(|c: char| ".,;:)".contains(c));
        let head = bare.trim_start_matches('(');
        if head.len() < bare.len() {
            plain.push('(');
        }
        parts = parts.text(&plain).child(el("code", "").text(head));
        plain.clear();
        plain.push_str(&code[bare.len()..]);
    }
    parts.text(&plain)
}
