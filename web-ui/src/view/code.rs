//! The code: what each strategy looked at, instruction by instruction, and
//! the way of the value from where it appears to where it is consumed.

mod inspector;
mod row;

pub(super) use row::instruction_parts;

use std::sync::Arc;

use analyzer_core::report::{Step, StepRole};
use leptos::prelude::*;
use web_sys::{Event, ScrollLogicalPosition};

use super::report::Spot;
use super::{badge, check, dot, keys};
use crate::browser;
use crate::dom::{View, el, group, html, reached_by_tab, says, set, toggle};
use crate::lineage;
use crate::listing::{self, Row, Stretch};
use crate::session::Analyzed;
use crate::words::strategy;

/// Element id of the row of a step.
fn row_id(step: usize) -> String {
    format!("step-{step}")
}

/// Puts the focus on the row of a step, once it is there.
pub(super) fn focus(step: usize, block: ScrollLogicalPosition) {
    request_animation_frame(move || browser::go_to(&row_id(step), block));
}

/// The step at which the path ends.
pub(super) fn last_on_path(trace: &[Step]) -> usize {
    trace.iter().rposition(|step| step.on_path).unwrap_or(0)
}

/// One trace, and what its rows and its inspector share.
#[derive(Clone)]
struct Trace {
    analyzed: Arc<Analyzed>,
    /// Index in the report's strategies.
    strategy: usize,
    rows: Arc<Vec<Row>>,
    spot: Spot,
    /// The step whose value is pointed at, by mouse or focus.
    hovered: RwSignal<Option<usize>>,
    /// The step that is pointed at, or the chosen one.
    shown: Memo<usize>,
    /// The steps behind it, itself included.
    lit: Memo<Vec<usize>>,
}

impl Trace {
    fn steps(&self) -> &[Step] {
        &self.analyzed.report.strategies[self.strategy].trace
    }
}

/// The section: one tab per strategy that read code.
pub(super) fn code(analyzed: &Arc<Analyzed>, spot: Spot) -> View {
    let order: Vec<usize> = (0..analyzed.report.strategies.len())
        .filter(|&index| !analyzed.report.strategies[index].trace.is_empty())
        .collect();
    let tabs = html(r#"<div class="tabs" role="tablist" aria-label="Functions looked at"></div>"#)
        .children(order.iter().map(|&index| tab(analyzed, index, spot)));
    let turn = move |event: &Event| {
        let Some(at) = order.iter().position(|&index| index == spot.strategy.get_untracked())
        else {
            return;
        };
        let next = match keys::key(event).as_str() {
            "ArrowRight" => order.get(at + 1).or(order.first()),
            "ArrowLeft" => order.get(at.wrapping_sub(1)).or(order.last()),
            "Home" => order.first(),
            "End" => order.last(),
            _ => None,
        };
        if let Some(&next) = next {
            event.prevent_default();
            spot.turn(next);
            browser::go_to(&format!("tab-{next}"), ScrollLogicalPosition::Nearest);
        }
    };
    let (bytes, whole) = (RwSignal::new(false), RwSignal::new(false));
    let analyzed = Arc::clone(analyzed);
    html(concat!(
        r#"<section id="code" tabindex="-1" aria-labelledby="code-title" class="code-section"><h2 id="code-title">The code</h2><p class="lead">"#,
        "The instructions each strategy followed. The line on the left is the way of the value into the call that consumes it; point at a value to see where it came from.</p></section>"
    ))
    .child(tabs.on("keydown", turn))
    .child(
        html(r#"<div class="panel" role="tabpanel" id="trace"></div>"#)
            .watch(move |panel| {
                set(panel, "aria-labelledby", &format!("tab-{}", spot.strategy.get()));
            })
            .slot(move || trace(&analyzed, spot, bytes, whole)),
    )
}

fn tab(analyzed: &Arc<Analyzed>, index: usize, spot: Spot) -> View {
    let result = &analyzed.report.strategies[index];
    let (kind, function) = strategy::name(&result.name);
    let number = result.route.and_then(|r| usize::try_from(r).ok());
    let last = last_on_path(&result.trace);
    html(r#"<button type="button" role="tab" aria-controls="trace"></button>"#)
        .attr("id", &format!("tab-{index}"))
        .watch(move |tab| {
            let chosen = spot.strategy.get() == index;
            says(tab, "aria-selected", chosen);
            reached_by_tab(tab, chosen);
        })
        .on("click", move |_| {
            spot.step.set(last);
            spot.turn(index);
        })
        .child(match number {
            Some(number) => {
                badge(number).attr("aria-hidden", "true").text(&(number + 1).to_string())
            }
            None => dot("none", "○"),
        })
        .child(el("code", "").text(function.unwrap_or(&kind)))
}

/// One trace: the listing and the inspector.
fn trace(
    analyzed: &Arc<Analyzed>,
    spot: Spot,
    bytes: RwSignal<bool>,
    whole: RwSignal<bool>,
) -> View {
    let strategy = spot.strategy.get();
    let Some(result) = analyzed.report.strategies.get(strategy) else { return group() };
    let hovered = RwSignal::new(None::<usize>);
    let shown = Memo::new(move |_| hovered.get().unwrap_or_else(|| spot.step.get()));
    let behind = Arc::clone(analyzed);
    let lit = Memo::new(move |_| {
        lineage::ancestry(&behind.report.strategies[strategy].trace, shown.get())
    });
    let trace = Trace {
        analyzed: Arc::clone(analyzed),
        strategy,
        rows: Arc::new(listing::rows(&result.trace)),
        spot,
        hovered,
        shown,
        lit,
    };

    let marked: Vec<usize> = analyzed
        .report
        .baselines
        .iter()
        .filter_map(|b| result.trace.iter().position(|s| Some(s.address) == b.at))
        .collect();
    let stretches = listing::stretches(&result.trace, &marked);
    let folds = stretches.iter().any(|s| matches!(s, Stretch::Folded(_)));
    let keys = {
        let trace = trace.clone();
        move |event: &Event| step_keys(event, &trace)
    };
    let mut list = html(r#"<ol class="listing" role="list"></ol>"#)
        .watch(move |list| toggle(list, "bytes", bytes.get()))
        .on("keydown", keys);
    for stretch in stretches {
        list = match stretch {
            Stretch::Shown(range) => list.child(row::rows(&trace, range)),
            Stretch::Folded(range) => fold(list, &trace, range, whole),
        };
    }
    group()
        .child(
            el("div", "options")
                .child(folds.then(|| check(whole, "Every instruction")))
                .child(check(bytes, "Bytes"))
                .child(step_buttons(&trace)),
        )
        .child(el("div", "trace").child(list).child(inspector::inspector(trace)))
}

/// Instructions off the path, folded until asked for.
fn fold(list: View, trace: &Trace, range: std::ops::Range<usize>, whole: RwSignal<bool>) -> View {
    // A step that is gone to unfolds where it lies.
    let step = trace.spot.step;
    let open = RwSignal::new(range.contains(&step.get_untracked()));
    let inside = range.clone();
    let unfolded = Memo::new(move |_| open.get() || whole.get() || inside.contains(&step.get()));
    let trace = trace.clone();
    list.slot(move || {
        if unfolded.get() {
            return row::rows(&trace, range.clone());
        }
        el("li", "fold").child(
            html(r#"<button type="button"><span aria-hidden="true">⋯ </span></button>"#)
                .text(&range.len().to_string())
                .text(" instructions off the path")
                .on("click", move |_| open.set(true)),
        )
    })
}

/// Previous, next, sink, for those who point.
fn step_buttons(trace: &Trace) -> View {
    let button = |(way, words): (Way, &str)| {
        let trace = trace.clone();
        html(r#"<button type="button" class="button"></button>"#).text(words).on(
            "click",
            move |_| {
                let spot = trace.spot;
                if let Some(step) = way.from(spot.step.get_untracked(), trace.steps()) {
                    spot.go(trace.strategy, step);
                }
            },
        )
    };
    html(r#"<div class="steps" role="group" aria-label="Steps of the path"></div>"#).children(
        [
            (Way::PreviousOnPath, "← Previous step"),
            (Way::NextOnPath, "Next step →"),
            (Way::Sink, "To the sink"),
        ]
        .map(button),
    )
}

/// A way to move through a trace.
#[derive(Clone, Copy)]
enum Way {
    Next,
    Previous,
    NextOnPath,
    PreviousOnPath,
    Sink,
    First,
    Last,
}

impl Way {
    /// Where one comes from `step`; nothing at the end.
    fn from(self, step: usize, trace: &[Step]) -> Option<usize> {
        let last = trace.len().checked_sub(1)?;
        match self {
            Way::Next => (step < last).then(|| step + 1),
            Way::Previous => step.checked_sub(1),
            Way::NextOnPath => (step + 1..trace.len()).find(|&i| trace[i].on_path),
            Way::PreviousOnPath => (0..step).rev().find(|&i| trace[i].on_path),
            Way::Sink => {
                let sink = |&i: &usize| trace[i].role == Some(StepRole::Sink);
                // From one sink to the next, and round again.
                (step + 1..trace.len()).find(sink).or_else(|| (0..trace.len()).find(sink))
            }
            Way::First => Some(0),
            Way::Last => Some(last),
        }
    }
}

fn step_keys(event: &Event, trace: &Trace) {
    let Some(key) = keys::plain(event) else { return };
    let way = match key.as_str() {
        "ArrowDown" | "j" => Way::Next,
        "ArrowUp" | "k" => Way::Previous,
        "n" => Way::NextOnPath,
        "p" => Way::PreviousOnPath,
        "s" => Way::Sink,
        "Home" => Way::First,
        "End" => Way::Last,
        _ => return,
    };
    event.prevent_default();
    let step = trace.spot.step;
    if let Some(next) = way.from(step.get_untracked(), trace.steps()) {
        step.set(next);
        focus(next, ScrollLogicalPosition::Nearest);
    }
}
