//! Every other fact of the report, for who wants it.

use std::sync::Arc;

use analyzer_core::report::{LayoutFacts, Report};
use leptos::prelude::*;
use wasm_bindgen::JsValue;
use wording::facts::{self, Fact};

use crate::dom::{View, el, html};
use crate::session::Analyzed;

/// The build's facts, the layout, the raw report.
pub(super) fn facts_section(analyzed: &Arc<Analyzed>) -> View {
    let report = &analyzed.report;
    let fact = |(name, value): (&str, String)| {
        el("div", "").child(el("dt", "").text(name)).child(el("dd", "").text(&value))
    };
    let raw = RwSignal::new(false);
    let json = Arc::clone(analyzed);
    html(r#"<section id="facts" tabindex="-1" aria-labelledby="facts-title"><h2 id="facts-title">All facts</h2></section>"#)
        .child(el("dl", "facts").children(facts(report).into_iter().map(fact)))
        .child(report.layout.as_ref().map(members))
        .child(
            html("<details><summary>The report as JSON</summary></details>")
                .on("toggle", move |_| raw.set(true))
                .child(html(r#"<pre class="raw-json" tabindex="0"></pre>"#).live_text(
                    move || if raw.get() { pretty(&json.json) } else { String::new() },
                )),
        )
}

fn members(layout: &LayoutFacts) -> View {
    let count = layout.members.len();
    let rows = layout.members.iter().map(|m| {
        el("tr", "")
            .child(el("td", "").child(el("code", "").text(&m.structure)))
            .child(el("td", "").child(el("code", "").text(&m.member)))
            .child(el("td", "number").text(&m.offset.to_string()))
    });
    let table = html(
        r#"<table><thead><tr><th scope="col">Structure</th><th scope="col">Member</th><th scope="col">Offset</th></tr></thead></table>"#,
    );
    el("details", "")
        .child(el("summary", "").text(&format!("Offsets a frame walker needs ({count})")))
        .child(layout.note.as_ref().map(|text| el("p", "").text(text)))
        .child(table.child(el("tbody", "").children(rows)))
}

/// The text with line breaks. A number that JavaScript cannot hold, which only
/// a damaged file has, loses bits here; the download has it exact.
fn pretty(json: &str) -> String {
    let indented = || {
        let report = js_sys::JSON::parse(json).ok()?;
        js_sys::JSON::stringify_with_replacer_and_space(&report, &JsValue::NULL, &2.into()).ok()
    };
    indented().map_or_else(|| json.to_owned(), String::from)
}

/// Name and value of each fact that is there.
pub(super) fn facts(report: &Report) -> Vec<Fact> {
    let mut facts = facts::of_file(report);
    facts.extend(facts::of_contents(report));
    facts
}
