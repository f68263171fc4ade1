//! Every other fact of the report, for who wants it.

use std::sync::Arc;

use analyzer_core::report::{GilFacts, LayoutFacts, Report, ThreadData};
use leptos::prelude::*;
use wasm_bindgen::JsValue;

use crate::dom::{View, el, html};
use crate::session::Analyzed;
use crate::words;

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
pub(super) fn facts(report: &Report) -> Vec<(&'static str, String)> {
    let mut facts = vec![("Size", format!("{} bytes", report.file.size))];
    let mut add = |name, value: Option<String>| facts.extend(value.map(|value| (name, value)));
    add("Build id", report.file.build_id.clone());
    add("Reproducer", report.file.reproducer.then(|| "yes, cut from a larger file".to_owned()));
    if let Some(image) = &report.image {
        add("Architecture", Some(words::arch(image.arch).to_owned()));
        add("Kind", Some(words::kind(image.kind).to_owned()));
        add("soname", image.soname.clone());
        add("C library", image.libc.map(|libc| words::libc(libc).to_owned()));
        add("Needs", (!image.needed.is_empty()).then(|| image.needed.join(", ")));
        add("Interpreter", image.interpreter.clone());
        add("Debug file", image.debug_link.clone());
        add("Symbol table", Some(if image.stripped { "stripped" } else { "present" }.to_owned()));
        add("Section headers", (!image.section_headers).then(|| "none".to_owned()));
        add(
            "TLS segment",
            image.tls.map(|tls| {
                format!("{} bytes at {}, aligned to {}", tls.memory_size, tls.address, tls.align)
            }),
        );
    }
    if let Some(python) = &report.python {
        add("Version", python.version.clone());
        add("Version read from", {
            let sources = python.version_sources.iter();
            let sources: Vec<_> = sources.map(|s| format!("{}: {}", s.source, s.value)).collect();
            (!sources.is_empty()).then(|| sources.join("; "))
        });
        let evidence = &python.flavour_evidence;
        let flavour = words::flavour(python.flavour);
        add(
            "Flavour",
            Some(if evidence.is_empty() {
                flavour.to_owned()
            } else {
                format!("{flavour} ({})", evidence.join("; "))
            }),
        );
    }
    if let Some(runtime) = &report.runtime {
        let size = runtime.size.map_or_else(String::new, |size| format!(", {size} bytes"));
        add("_PyRuntime", Some(format!("{}{size}", runtime.address)));
    }
    add("GIL", report.gil.as_ref().map(gil));
    for range in &report.eval_loop {
        add(
            "Evaluation loop",
            Some(format!("{} – {} ({}, by {})", range.start, range.end, range.part, range.source)),
        );
    }
    if let Some(libc) = &report.libc {
        add("C library version", libc.version.clone());
        add("Thread data", libc.thread_data.as_ref().map(thread_data));
    }
    facts
}

fn gil(gil: &GilFacts) -> String {
    match gil {
        GilFacts::Statics { locked, last_holder } => {
            let text = |address: &Option<analyzer_core::addr::VirtAddr>| {
                address.map_or_else(|| "not known".to_owned(), |a| a.to_string())
            };
            format!("statics: locked {}, last holder {}", text(locked), text(last_holder))
        }
        GilFacts::Runtime { locked, last_holder } => {
            format!("in _PyRuntime: locked {locked}, last holder {last_holder}")
        }
        GilFacts::Interpreter { gil_pointer, locked, last_holder, optional } => format!(
            "per interpreter: pointer at {gil_pointer:#x}, locked +{locked:#x}, last holder +{last_holder:#x}{}",
            if *optional { "; off unless asked for" } else { "" }
        ),
    }
}

fn thread_data(data: &ThreadData) -> String {
    match data {
        ThreadData::TwoLevel { first_block, blocks, block_keys, slot_size, value_offset } => {
            format!(
                "first block at thread pointer {}, pointers to blocks of {block_keys} keys at {}, slots of {slot_size} bytes, value at +{value_offset:#x}",
                words::signed(*first_block),
                words::signed(*blocks)
            )
        }
        ThreadData::Array { pointer } => {
            format!("one array, its pointer at thread pointer {}", words::signed(*pointer))
        }
    }
}
