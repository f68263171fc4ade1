//! One instruction of the listing.

use std::sync::Arc;

use analyzer_core::report::{Step, StepRole};
use leptos::prelude::*;

use super::Pointing;
use crate::listing::{self, Lane};
use crate::session::Analyzed;
use crate::words::{instruction, strategy, value};

/// A row: arrows, path, address, instruction, what changed, remarks.
#[component]
pub(super) fn Row(analyzed: Arc<Analyzed>, strategy: usize, row: listing::Row) -> impl IntoView {
    let pointing = expect_context::<Pointing>();
    let step = &analyzed.report.strategies[strategy].trace[row.index];
    let index = row.index;
    let chosen = move || pointing.step.get() == index;
    let lit = move || pointing.lit.with(|lit| lit.contains(&index));
    let remarks = remarks(&analyzed, step);
    let function = row.enters.then(|| step.function.clone()).flatten();
    let depth = step.depth.min(6);
    let class = {
        let mut class = String::from("row");
        for (name, holds) in [
            ("path", step.on_path),
            ("sink", step.role == Some(StepRole::Sink)),
            ("jumped", row.jumped && !row.enters),
            ("failing", !remarks.is_empty()),
        ] {
            if holds {
                class.push(' ');
                class.push_str(name);
            }
        }
        class
    };
    view! {
        {function.map(|name| view! {
            <li class="function" style:--depth=depth.to_string()>
                <span class="quiet">{if depth == 0 { "in" } else { "called" }}</span>" "<code>{name}</code>
            </li>
        })}
        <li class=class class:chosen=chosen class:lit=lit style:--depth=depth.to_string()>
            <span class="lanes" aria-hidden="true">
                {row.lanes.iter().map(|lane| view! { <i class=lane_class(*lane)></i> }).collect_view()}
            </span>
            <span class="thread" aria-hidden="true"><i class=lane_class(row.thread)></i></span>
            <button
                type="button"
                id=super::row_id(index)
                class="at"
                aria-pressed=move || if chosen() { "true" } else { "false" }
                tabindex=move || if chosen() { "0" } else { "-1" }
                on:click=move |_| pointing.step.set(index)
                on:focus=move |_| pointing.step.set(index)
            >
                <span class="address">{step.address.to_string()}</span>
                <span class="offset">{format!("+{:#x}", row.offset)}</span>
            </button>
            <span class="raw">{spaced(&step.bytes)}</span>
            <code class="ins">{instruction_parts(&step.text)}</code>
            <span class="values">{values(step, index, pointing)}</span>
            <span class="remarks">{role(step)}{remarks}</span>
        </li>
    }
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
pub(in crate::view) fn instruction_parts(text: &str) -> impl IntoView + use<> {
    instruction::parts(text)
        .into_iter()
        .map(|(part, word)| view! { <span class=part.class()>{word.to_owned()}</span> })
        .collect_view()
}

/// What the step changed, each a button that lights its origin.
fn values(step: &Step, index: usize, pointing: Pointing) -> impl IntoView + use<> {
    let known = step.effects.iter().filter(|e| value::base(&e.value) != value::Base::Unknown);
    let lost: Vec<&str> = step
        .effects
        .iter()
        .filter(|e| value::base(&e.value) == value::Base::Unknown)
        .map(|e| e.place.as_str())
        .collect();
    let chips = known
        .map(|effect| {
            let base = value::base(&effect.value);
            view! {
                <button
                    type="button"
                    class=format!("value {}", base.class())
                    tabindex=move || if pointing.step.get() == index { "0" } else { "-1" }
                    on:pointerenter=move |_| pointing.hovered.set(Some(index))
                    on:pointerleave=move |_| pointing.hovered.set(None)
                    on:focus=move |_| pointing.hovered.set(Some(index))
                    on:blur=move |_| pointing.hovered.set(None)
                    on:click=move |_| pointing.step.set(index)
                >
                    <span class="place">{effect.place.clone()}</span>
                    <span class="becomes" aria-hidden="true">" = "</span>
                    <span class="visually-hidden">" becomes "</span>
                    <span class="holds">{effect.value.clone()}</span>
                </button>
            }
        })
        .collect_view();
    let lost = match lost.as_slice() {
        [] => None,
        [place] => Some(format!("{place} unknown")),
        [first, .., last] if lost.len() > 3 => Some(format!("{first} … {last} unknown")),
        places => Some(format!("{} unknown", places.join(", "))),
    };
    view! { {chips} {lost.map(|text| view! { <span class="lost">{text}</span> })} }
}

/// What the step is for the analysis.
fn role(step: &Step) -> Option<impl IntoView + use<>> {
    let (glyph, words) = match step.role? {
        StepRole::Branch => ("⇄", "both ways followed"),
        StepRole::FollowedCall => ("↳", "call followed"),
        StepRole::SkippedCall => ("↷", "call stepped over"),
        StepRole::Sink => ("◉", "the answer is consumed here"),
        StepRole::Return => ("↩", "returns"),
    };
    Some(view! { <span class="role"><span aria-hidden="true">{glyph}" "</span>{words}</span> })
}

/// The baselines that go wrong at this step.
fn remarks(analyzed: &Analyzed, step: &Step) -> Vec<AnyView> {
    analyzed
        .report
        .baselines
        .iter()
        .filter(|baseline| baseline.at == Some(step.address))
        .map(|baseline| {
            let (glyph, word, tone) = strategy::baseline(baseline.outcome);
            view! {
                <span class=format!("flag {tone}")>
                    <span aria-hidden="true">{glyph}" "</span>
                    {strategy::sentence(&baseline.name)}" "{word}" here"
                </span>
            }
            .into_any()
        })
        .collect()
}
