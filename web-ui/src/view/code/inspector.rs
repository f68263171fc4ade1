//! The chosen step in words: what it does, what it changed, and the way its
//! value took.

use analyzer_core::report::Step;
use leptos::prelude::*;
use wording::terms::capital;

use super::Trace;
use super::row::instruction_parts;
use crate::dom::{View, el, group, html};
use crate::lineage;
use crate::view::prose::code_words;
use crate::words::{instruction, value};

/// The panel beside the listing.
pub(super) fn inspector(trace: Trace) -> View {
    html(r#"<aside class="inspector" aria-label="The chosen instruction"></aside>"#)
        .slot(move || inspected(&trace, trace.shown.get()))
}

fn inspected(trace: &Trace, index: usize) -> View {
    let Some(step) = trace.steps().get(index) else { return group() };
    let offset = trace.rows.get(index).map_or(0, |row| row.offset);
    let function = step.function.as_deref().unwrap_or("unnamed code");
    let mut panel = group()
        .child(
            el("p", "where")
                .child(el("code", "").text(function))
                .text(" ")
                .child(el("span", "quiet").text(&format!("+{offset:#x} · {}", step.address))),
        )
        .child(el("p", "big").child(el("code", "ins").child(instruction_parts(&step.text))));
    if let Some(text) = instruction::meaning(&step.text) {
        panel.push(el("p", "").text(&capital(text)).text("."));
    }
    for baseline in &trace.analyzed.report.baselines {
        if let Some(text) = baseline.detail.as_ref().filter(|_| baseline.at == Some(step.address)) {
            panel.push(el("p", "flagged").child(code_words(text)));
        }
    }
    if !step.effects.is_empty() {
        panel.push(el("h3", "").text("What changed"));
        panel.push(el("ul", "changed").children(step.effects.iter().map(|effect| {
            let base = value::base(&effect.value);
            el("li", "")
                .child(el("code", "").text(&effect.place))
                .text(" = ")
                .child(el("code", "holds").class(base.class()).text(&effect.value))
                .child(el("span", "quiet").text(base.words()))
        })));
    }
    let way = lineage::ancestry(trace.steps(), index);
    if way.len() > 1 {
        panel.push(el("h3", "").text("Where it came from"));
        panel.push(el("ol", "history").children(way.into_iter().filter_map(|at| {
            let class = if at == index { "here" } else { "" };
            Some(el("li", class).child(origin(trace, at, trace.steps().get(at)?)))
        })));
    }
    panel
}

/// A step that the value came by.
fn origin(trace: &Trace, at: usize, step: &Step) -> View {
    let held = step.effects.iter().find(|e| value::base(&e.value) != value::Base::Unknown);
    let (spot, strategy) = (trace.spot, trace.strategy);
    html(r#"<button type="button"></button>"#)
        .child(el("code", "ins").child(instruction_parts(&step.text)))
        .child(held.map(|e| el("span", "held").text(&e.place).text(" = ").text(&e.value)))
        .on("click", move |_| spot.go(strategy, at))
}
