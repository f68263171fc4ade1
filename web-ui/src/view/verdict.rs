//! The verdict, the build, and how the routes are walked.

use std::sync::Arc;

use leptos::prelude::*;

use super::list::{glyph, tone_class};
use crate::session::Analyzed;
use crate::words::{self, walk};

/// The first thing read.
#[component]
pub(super) fn Verdict(analyzed: Arc<Analyzed>, name: String) -> impl IntoView {
    let report = &analyzed.report;
    let verdict = words::verdict::verdict(report);
    let tone = tone_class(verdict.tone);
    let build = words::build(report);
    let routes = report
        .routes
        .iter()
        .enumerate()
        .map(|(index, route)| {
            let (kind, _, strength) = words::route_parts(route);
            let stations = walk::stations(report, route);
            view! {
                <li class="route">
                    <h3>
                        <span class="badge" data-route=index % 4>{index + 1}</span>
                        {words::verdict::capital(kind)}
                        <span class="quiet">{words::route_answer(route)}" · "{words::strength(strength)}</span>
                    </h3>
                    <ol class="walk">
                        {stations
                            .into_iter()
                            .map(|station| view! {
                                <li>
                                    <span class="when">{station.when}</span>
                                    <strong>{station.title}</strong>
                                    <code>{station.place}</code>
                                    <p>{station.words}</p>
                                </li>
                            })
                            .collect_view()}
                    </ol>
                </li>
            }
        })
        .collect_view();
    let timing = analyzed.times.map(|times| {
        format!(
            "{} ms from drop to verdict: {} ms reading, {} ms analysis",
            words::milliseconds(times.total),
            words::milliseconds(times.read),
            words::milliseconds(times.analyze)
        )
    });
    view! {
        <section class="verdict" id="verdict" tabindex="-1" aria-labelledby="verdict-title" data-status=words::status(report.status)>
            <p class="file-name"><code>{name}</code></p>
            <div class="sentence">
                <span class=format!("seal {tone}")><span aria-hidden="true">{glyph(verdict.tone)}</span>{verdict.word}</span>
                <h2 id="verdict-title">{code_words(&verdict.headline)}</h2>
            </div>
            <p class="support">{code_words(&verdict.support)}</p>
            <ul class="build" aria-label="Build">
                {build.into_iter().map(|part| view! { <li>{part}</li> }).collect_view()}
            </ul>
            {(!report.routes.is_empty()).then(|| view! { <ol class="routes" aria-label="Routes">{routes}</ol> })}
            {report.preference.clone().map(|text| view! { <p class="preference">{text}</p> })}
            {timing.map(|text| view! { <p class="timing">{text}</p> })}
        </section>
    }
}

/// Sets names of the trade in monospace within running text.
pub(super) fn code_words(text: &str) -> impl IntoView + use<> {
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
    let mut parts: Vec<AnyView> = Vec::new();
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
        let tail = code[bare.len()..].to_owned();
        let head = bare.trim_start_matches('(');
        if head.len() < bare.len() {
            plain.push('(');
        }
        parts.push(std::mem::take(&mut plain).into_any());
        parts.push(view! { <code>{head.to_owned()}</code> }.into_any());
        plain.push_str(&tail);
    }
    parts.push(plain.into_any());
    parts
}
