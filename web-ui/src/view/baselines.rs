//! Who would fail here: what simpler decoders make of this file.

use std::sync::Arc;

use leptos::prelude::*;

use super::report::Spot;
use super::verdict::code_words;
use crate::listing;
use crate::session::Analyzed;
use crate::words::strategy;

/// The baselines, each with the instruction at which it goes wrong.
#[component]
pub(super) fn Baselines(analyzed: Arc<Analyzed>) -> impl IntoView {
    let spot = expect_context::<Spot>();
    let report = &analyzed.report;
    let cards = report
        .baselines
        .iter()
        .map(|baseline| {
            let (glyph, word, tone) = strategy::baseline(baseline.outcome);
            let seen = baseline.at.and_then(|at| listing::find(report, at));
            let link = baseline.at.map(|at| match seen {
                Some((strategy, step)) => {
                    let text = report.strategies[strategy].trace[step].text.clone();
                    view! {
                        <button type="button" class="jump" on:click=move |_| spot.go(strategy, step)>
                            <span>"at "<code>{at.to_string()}</code></span>
                            <code class="ins">{text}</code>
                            <span class="go">"show in the code ↓"</span>
                        </button>
                    }
                    .into_any()
                }
                None => view! { <p class="quiet">"at "<code>{at.to_string()}</code></p> }.into_any(),
            });
            view! {
                <li class=format!("baseline {tone}")>
                    <h3>
                        <span class=format!("dot {tone}") aria-hidden="true">{glyph}</span>
                        {strategy::sentence(&baseline.name)}" "
                        <span class="quiet">{word}</span>
                    </h3>
                    {baseline.detail.clone().map(|text| view! { <p>{code_words(&text)}</p> })}
                    {baseline.value.map(|value| view! { <p class="quiet">"Its answer: "<code>{value.to_string()}</code></p> })}
                    {link}
                </li>
            }
        })
        .collect_view();
    view! {
        <section id="baselines" tabindex="-1" aria-labelledby="baselines-title">
            <h2 id="baselines-title">"Who would fail here"</h2>
            <p class="lead">{strategy::summary(&report.baselines)}</p>
            <ul class="cards">{cards}</ul>
        </section>
    }
}
