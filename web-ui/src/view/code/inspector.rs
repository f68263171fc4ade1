//! The chosen step in words: what it does, what it changed, and the way its
//! value took.

use std::sync::Arc;

use leptos::prelude::*;

use super::Pointing;
use super::row::instruction_parts;
use crate::lineage;
use crate::listing::Row;
use crate::session::Analyzed;
use crate::view::report::Spot;
use crate::view::verdict::code_words;
use crate::words::verdict::capital;
use crate::words::{instruction, value};

/// The panel beside the listing.
#[component]
pub(super) fn Inspector(
    analyzed: Arc<Analyzed>,
    strategy: usize,
    rows: Arc<Vec<Row>>,
) -> impl IntoView {
    let pointing = expect_context::<Pointing>();
    let spot = expect_context::<Spot>();
    let body = move || {
        let index = pointing.hovered.get().unwrap_or_else(|| pointing.step.get());
        let trace = &analyzed.report.strategies[strategy].trace;
        let step = trace.get(index)?;
        let offset = rows.get(index).map_or(0, |row| row.offset);
        let function = step.function.clone().unwrap_or_else(|| "unnamed code".to_owned());
        let way: Vec<usize> = lineage::ancestry(trace, index);
        let changed = step
            .effects
            .iter()
            .map(|effect| {
                let base = value::base(&effect.value);
                view! {
                    <li>
                        <code>{effect.place.clone()}</code>" = "
                        <code class=format!("holds {}", base.class())>{effect.value.clone()}</code>
                        <span class="quiet">{base.words()}</span>
                    </li>
                }
            })
            .collect_view();
        let history = (way.len() > 1).then(|| {
            let items = way
                .iter()
                .filter_map(|&at| trace.get(at).map(|step| (at, step)))
                .map(|(at, origin)| {
                    let held = origin
                        .effects
                        .iter()
                        .find(|e| value::base(&e.value) != value::Base::Unknown)
                        .map(|e| format!("{} = {}", e.place, e.value));
                    view! {
                        <li class:here=at == index>
                            <button type="button" on:click=move |_| spot.go(strategy, at)>
                                <code class="ins">{instruction_parts(&origin.text)}</code>
                                {held.map(|held| view! { <span class="held">{held}</span> })}
                            </button>
                        </li>
                    }
                })
                .collect_view();
            view! { <h3>"Where it came from"</h3><ol class="history">{items}</ol> }
        });
        let failing = analyzed
            .report
            .baselines
            .iter()
            .filter(|b| b.at == Some(step.address))
            .filter_map(|b| b.detail.clone())
            .map(|text| view! { <p class="flagged">{code_words(&text)}</p> })
            .collect_view();
        Some(view! {
            <p class="where"><code>{function}</code>" "<span class="quiet">{format!("+{offset:#x} · {}", step.address)}</span></p>
            <p class="big"><code class="ins">{instruction_parts(&step.text)}</code></p>
            {instruction::meaning(&step.text).map(|text| view! { <p>{capital(text)}"."</p> })}
            {failing}
            {(!step.effects.is_empty()).then(|| view! { <h3>"What changed"</h3><ul class="changed">{changed}</ul> })}
            {history}
        })
    };
    view! { <aside class="inspector" aria-label="The chosen instruction">{body}</aside> }
}
