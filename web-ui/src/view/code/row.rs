//! One instruction of the listing.

use std::ops::Range;

use analyzer_core::report::{Step, StepRole};
use leptos::prelude::*;
use web_sys::Element;
use wording::terms;

use super::Trace;
use crate::dom::{View, el, group, html, reached_by_tab, says, toggle};
use crate::listing::{self, Lane};
use crate::session::Analyzed;
use crate::view::list::tone_class;
use crate::view::{aloud, hidden};
use crate::words::{instruction, strategy, value};

/// The rows of a range.
pub(super) fn rows(trace: &Trace, range: Range<usize>) -> View {
    let rows = trace.rows.get(range).unwrap_or_default();
    group().children(rows.iter().map(|placed| row(trace, placed)))
}

/// A row: arrows, path, address, instruction, what changed, remarks.
fn row(trace: &Trace, placed: &listing::Row) -> View {
    let index = placed.index;
    let step = &trace.steps()[index];
    let spot = trace.spot;
    let lit = trace.lit;
    let remarks = remarks(&trace.analyzed, step);
    let depth = step.depth.min(6);
    let mut class = String::from("row");
    for (name, holds) in [
        (" path", step.on_path),
        (" sink", step.role == Some(StepRole::Sink)),
        (" jumped", placed.jumped && !placed.enters),
        (" failing", !remarks.is_empty()),
    ] {
        if holds {
            class.push_str(name);
        }
    }
    let function = step.function.as_ref().filter(|_| placed.enters).map(|name| {
        el("li", "function")
            .style("--depth", &depth.to_string())
            .child(el("span", "quiet").text(if depth == 0 { "in" } else { "called" }))
            .text(" ")
            .child(el("code", "").text(name))
    });
    let mut lanes = el("span", "lanes").attr("aria-hidden", "true");
    for &lane in &placed.lanes {
        lanes.push(el("i", lane_class(lane)));
    }
    let choose = move |_: &web_sys::Event| spot.step.set(index);
    let at = html(r#"<button type="button" class="at"></button>"#)
        .attr("id", &super::row_id(index))
        .child(el("span", "address").text(&step.address.to_string()))
        .child(el("span", "offset").text(&format!("+{:#x}", placed.offset)))
        .on("click", choose)
        .on("focus", choose);
    let mut stops: Vec<Element> = vec![at.element()];
    let values = values(trace, step, index, &mut stops);
    let row = el("li", &class)
        .style("--depth", &depth.to_string())
        .child(lanes)
        .child(
            el("span", "thread")
                .attr("aria-hidden", "true")
                .child(el("i", lane_class(placed.thread))),
        )
        .child(at)
        .child(el("span", "raw").text(&spaced(&step.bytes)))
        .child(el("code", "ins").child(instruction_parts(&step.text)))
        .child(values)
        .child(el("span", "remarks").child(role(step)).children(remarks))
        .watch(move |row| {
            let chosen = spot.step.get() == index;
            toggle(row, "chosen", chosen);
            says(&stops[0], "aria-pressed", chosen);
            for stop in &stops {
                reached_by_tab(stop, chosen);
            }
        })
        .watch(move |row| toggle(row, "lit", lit.with(|lit| lit.contains(&index))));
    group().child(function).child(row)
}

fn lane_class(lane: Lane) -> &'static str {
    match lane {
        Lane::Empty => "empty",
        Lane::Starts => "starts",
        Lane::Passes => "passes",
        Lane::Ends => "ends",
        Lane::Stop => "stop",
    }
}

/// `488b05` as `48 8b 05`.
fn spaced(bytes: &str) -> String {
    let mut text = String::with_capacity(bytes.len() * 3 / 2);
    for (index, digit) in bytes.chars().enumerate() {
        if index > 0 && index % 2 == 0 {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// The instruction's text, coloured.
pub(in crate::view) fn instruction_parts(text: &str) -> View {
    let parts = instruction::parts(text).into_iter();
    group().children(parts.map(|(part, word)| el("span", part.class()).text(word)))
}

/// What the step changed, each a button that lights its origin; the buttons
/// are added to `stops`.
fn values(trace: &Trace, step: &Step, index: usize, stops: &mut Vec<Element>) -> View {
    let (hovered, chosen) = (trace.hovered, trace.spot.step);
    let mut values = el("span", "values");
    let mut lost: Vec<&str> = Vec::new();
    for effect in &step.effects {
        let base = value::base(&effect.value);
        if base == value::Base::Unknown {
            lost.push(&effect.place);
            continue;
        }
        let mut chip = html(r#"<button type="button" class="value"></button>"#)
            .class(base.class())
            .child(el("span", "place").text(&effect.place))
            .child(hidden(" = ").class("becomes"))
            .child(aloud(" becomes "))
            .child(el("span", "holds").text(&effect.value))
            .on("click", move |_| chosen.set(index));
        for (event, points) in
            [("pointerenter", true), ("focus", true), ("pointerleave", false), ("blur", false)]
        {
            chip = chip.on(event, move |_| hovered.set(points.then_some(index)));
        }
        stops.push(chip.element());
        values.push(chip);
    }
    let lost = match lost.as_slice() {
        [] => return values,
        [place] => format!("{place} unknown"),
        [first, .., last] if lost.len() > 3 => format!("{first} … {last} unknown"),
        places => format!("{} unknown", places.join(", ")),
    };
    values.child(el("span", "lost").text(&lost))
}

/// What the step is for the analysis.
fn role(step: &Step) -> Option<View> {
    let (glyph, words) = match step.role? {
        StepRole::Branch => ("⇄ ", "both ways followed"),
        StepRole::FollowedCall => ("↳ ", "call followed"),
        StepRole::SkippedCall => ("↷ ", "call stepped over"),
        StepRole::Sink => ("◉ ", "the answer is consumed here"),
        StepRole::Return => ("↩ ", "returns"),
    };
    Some(el("span", "role").child(hidden(glyph)).text(words))
}

/// The baselines that go wrong at this step.
fn remarks(analyzed: &Analyzed, step: &Step) -> Vec<View> {
    let here = analyzed.report.baselines.iter().filter(|b| b.at == Some(step.address));
    here.map(|baseline| {
        let (glyph, word) = strategy::baseline(baseline.outcome);
        let tone = tone_class(terms::baseline(baseline.outcome).1);
        el("span", "flag")
            .class(tone)
            .child(hidden(glyph).text(" "))
            .text(&strategy::sentence(&baseline.name))
            .text(" ")
            .text(word)
            .text(" here")
    })
    .collect()
}
