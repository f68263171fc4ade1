//! The code: what each strategy looked at, instruction by instruction, and
//! the way of the value from where it appears to where it is consumed.

mod inspector;
mod row;

pub(super) use row::instruction_parts;

use std::sync::Arc;

use analyzer_core::report::{Step, StepRole, StrategyResult};
use leptos::ev::KeyboardEvent;
use leptos::prelude::*;
use web_sys::ScrollLogicalPosition;

use super::report::Spot;
use crate::browser;
use crate::lineage;
use crate::listing::{self, Stretch};
use crate::session::Analyzed;
use crate::words::strategy;

/// Element id of the row of a step.
pub(super) fn row_id(step: usize) -> String {
    format!("step-{step}")
}

/// What the rows and the inspector of one trace share.
#[derive(Clone, Copy)]
struct Pointing {
    /// The chosen step.
    step: RwSignal<usize>,
    /// The step whose value is pointed at, by mouse or focus.
    hovered: RwSignal<Option<usize>>,
    /// The steps behind it, itself included.
    lit: Memo<Vec<usize>>,
}

/// The section: one tab per strategy that read code.
#[component]
pub(super) fn Code(analyzed: Arc<Analyzed>) -> impl IntoView {
    let spot = expect_context::<Spot>();
    let tabs: Vec<usize> = (0..analyzed.report.strategies.len())
        .filter(|&index| !analyzed.report.strategies[index].trace.is_empty())
        .collect();
    let bytes = RwSignal::new(false);
    let whole = RwSignal::new(false);

    let order = tabs.clone();
    let turn = move |event: KeyboardEvent| {
        let at = order.iter().position(|&index| index == spot.strategy.get_untracked());
        let next = match (event.key().as_str(), at) {
            ("ArrowRight", Some(at)) => order.get(at + 1).or(order.first()),
            ("ArrowLeft", Some(at)) => order.get(at.wrapping_sub(1)).or(order.last()),
            ("Home", _) => order.first(),
            ("End", _) => order.last(),
            _ => None,
        };
        if let Some(&next) = next {
            event.prevent_default();
            spot.strategy.set(next);
            browser::go_to(&format!("tab-{next}"), ScrollLogicalPosition::Nearest);
        }
    };
    let strategies = Arc::clone(&analyzed);
    let tab = move |index: usize| {
        let result = &strategies.report.strategies[index];
        let (kind, function) = strategy::name(&result.name);
        let label = function.map_or(kind, ToOwned::to_owned);
        let number = result.route.and_then(|r| usize::try_from(r).ok());
        let chosen = move || spot.strategy.get() == index;
        let select = {
            let strategies = Arc::clone(&strategies);
            move |_| {
                spot.step.set(last_on_path(&strategies.report.strategies[index].trace));
                spot.strategy.set(index);
            }
        };
        view! {
            <button
                type="button"
                role="tab"
                id=format!("tab-{index}")
                aria-controls="trace"
                aria-selected=move || if chosen() { "true" } else { "false" }
                tabindex=move || if chosen() { "0" } else { "-1" }
                on:click=select
            >
                {match number {
                    Some(number) => view! { <span class="badge" data-route=number % 4 aria-hidden="true">{number + 1}</span> }.into_any(),
                    None => view! { <span class="dot none" aria-hidden="true">"○"</span> }.into_any(),
                }}
                <code>{label}</code>
            </button>
        }
    };
    let shown = Arc::clone(&analyzed);
    view! {
        <section id="code" tabindex="-1" aria-labelledby="code-title" class="code-section">
            <h2 id="code-title">"The code"</h2>
            <p class="lead">
                "The instructions each strategy followed. The line on the left is the way of the value into the call that consumes it; point at a value to see where it came from."
            </p>
            <div class="tabs" role="tablist" aria-label="Functions looked at" on:keydown=turn>
                {tabs.into_iter().map(tab).collect_view()}
            </div>
            <div class="panel" role="tabpanel" id="trace" aria-labelledby=move || format!("tab-{}", spot.strategy.get())>
                {move || {
                    let index = spot.strategy.get();
                    shown.report.strategies.get(index).map(|_| {
                        view! { <Trace analyzed=Arc::clone(&shown) strategy=index bytes whole/> }
                    })
                }}
            </div>
        </section>
    }
}

fn last_on_path(trace: &[Step]) -> usize {
    trace.iter().rposition(|step| step.on_path).unwrap_or(0)
}

/// One trace: the listing and the inspector.
#[component]
fn Trace(
    analyzed: Arc<Analyzed>,
    strategy: usize,
    bytes: RwSignal<bool>,
    whole: RwSignal<bool>,
) -> impl IntoView {
    let spot = expect_context::<Spot>();
    let result = &analyzed.report.strategies[strategy];
    let hovered = RwSignal::new(None::<usize>);
    let behind = Arc::clone(&analyzed);
    let lit = Memo::new(move |_| {
        let step = hovered.get().unwrap_or_else(|| spot.step.get());
        lineage::ancestry(&behind.report.strategies[strategy].trace, step)
    });
    let pointing = Pointing { step: spot.step, hovered, lit };
    provide_context(pointing);

    let marked: Vec<usize> = analyzed
        .report
        .baselines
        .iter()
        .filter_map(|b| result.trace.iter().position(|s| Some(s.address) == b.at))
        .collect();
    let stretches = listing::stretches(&result.trace, &marked);
    let folds = stretches.iter().any(|s| matches!(s, Stretch::Folded(_)));
    let rows = Arc::new(listing::rows(&result.trace));
    let listing = {
        let analyzed = Arc::clone(&analyzed);
        let rows = Arc::clone(&rows);
        move |range: std::ops::Range<usize>| {
            rows.get(range)
                .unwrap_or_default()
                .iter()
                .map(|row| view! { <row::Row analyzed=Arc::clone(&analyzed) strategy row=row.clone()/> })
                .collect_view()
        }
    };
    let body = move || {
        stretches
            .iter()
            .cloned()
            .map(|stretch| match stretch {
                Stretch::Shown(range) => listing(range).into_any(),
                Stretch::Folded(range) => {
                    // A step that is gone to unfolds where it lies.
                    let inside = range.clone();
                    let open = RwSignal::new(inside.contains(&spot.step.get_untracked()));
                    let listing = listing.clone();
                    let count = range.len();
                    view! {
                        {move || if open.get() || whole.get() || range.contains(&spot.step.get()) {
                            listing(range.clone()).into_any()
                        } else {
                            view! {
                                <li class="fold">
                                    <button type="button" on:click=move |_| open.set(true)>
                                        <span aria-hidden="true">"⋯ "</span>
                                        {count}" instructions off the path"
                                    </button>
                                </li>
                            }
                            .into_any()
                        }}
                    }
                    .into_any()
                }
            })
            .collect_view()
    };
    let keys = {
        let analyzed = Arc::clone(&analyzed);
        move |event: KeyboardEvent| {
            step_keys(&event, &analyzed.report.strategies[strategy], spot);
        }
    };
    view! {
        <div class="options">
            {folds.then(|| view! {
                <label class="check">
                    <input type="checkbox" prop:checked=move || whole.get() on:change=move |_| whole.update(|w| *w = !*w)/>
                    "Every instruction"
                </label>
            })}
            <label class="check">
                <input type="checkbox" prop:checked=move || bytes.get() on:change=move |_| bytes.update(|b| *b = !*b)/>
                "Bytes"
            </label>
            <StepButtons analyzed=Arc::clone(&analyzed) strategy/>
        </div>
        <div class="trace">
            <ol class="listing" class:bytes=move || bytes.get() role="list" on:keydown=keys>{body}</ol>
            <inspector::Inspector analyzed strategy rows/>
        </div>
    }
}

/// Previous, next, sink, for those who point.
#[component]
fn StepButtons(analyzed: Arc<Analyzed>, strategy: usize) -> impl IntoView {
    let spot = expect_context::<Spot>();
    let go = move |way: Way| {
        let analyzed = Arc::clone(&analyzed);
        move |_| {
            let trace = &analyzed.report.strategies[strategy].trace;
            if let Some(step) = way.from(spot.step.get_untracked(), trace) {
                spot.go(strategy, step);
            }
        }
    };
    view! {
        <div class="steps" role="group" aria-label="Steps of the path">
            <button type="button" class="button" on:click=go(Way::PreviousOnPath)>"← Previous step"</button>
            <button type="button" class="button" on:click=go(Way::NextOnPath)>"Next step →"</button>
            <button type="button" class="button" on:click=go(Way::Sink)>"To the sink"</button>
        </div>
    }
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

fn step_keys(event: &KeyboardEvent, result: &StrategyResult, spot: Spot) {
    if event.ctrl_key() || event.meta_key() || event.alt_key() {
        return;
    }
    let way = match event.key().as_str() {
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
    if let Some(step) = way.from(spot.step.get_untracked(), &result.trace) {
        spot.step.set(step);
        request_animation_frame(move || {
            browser::go_to(&row_id(step), ScrollLogicalPosition::Nearest);
        });
    }
}
