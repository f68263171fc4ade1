//! The strategies as a table.

use std::sync::Arc;

use analyzer_core::report::{Outcome, Report, StrategyResult};
use leptos::prelude::*;

use super::report::Spot;
use super::verdict::code_words;
use crate::session::Analyzed;
use crate::words::{self, strategy};

/// Each strategy with its answer or its reason.
#[component]
pub(super) fn Strategies(analyzed: Arc<Analyzed>) -> impl IntoView {
    let report = &analyzed.report;
    let found = report.strategies.iter().filter(|s| s.outcome == Outcome::Route).count();
    let (applying, aside): (Vec<_>, Vec<_>) = report
        .strategies
        .iter()
        .enumerate()
        .partition(|(_, s)| s.outcome != Outcome::NotApplicable);
    let count = applying.len();
    let row = |(index, result): (usize, &StrategyResult)| view_row(report, index, result);
    let rows = applying.into_iter().map(row).collect_view();
    let others = aside.len();
    let aside = aside.into_iter().map(row).collect_view();
    view! {
        <section id="strategies" tabindex="-1" aria-labelledby="strategies-title">
            <h2 id="strategies-title">"Strategies"</h2>
            <p class="lead">{found}" of "{count}" strategies that apply found a route. Each looked on its own."</p>
            {table(rows, "Table of strategies")}
            {(others > 0).then(|| view! {
                <details class="aside">
                    <summary>{words::verdict::capital(&words::count(others))}" more do not apply to this file"</summary>
                    {table(aside, "Table of strategies that do not apply")}
                </details>
            })}
        </section>
    }
}

fn table(rows: impl IntoView + 'static, label: &'static str) -> impl IntoView {
    view! {
        <div class="scroll" tabindex="0" role="group" aria-label=label>
            <table class="strategies">
                <thead>
                    <tr>
                        <th scope="col">"Strategy"</th>
                        <th scope="col">"Route"</th>
                        <th scope="col">"Answer"</th>
                        <th scope="col">"What it rests on, or why it found nothing"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
}

fn view_row(report: &Report, index: usize, result: &StrategyResult) -> impl IntoView + use<> {
    let spot = expect_context::<Spot>();
    let (kind, function) = strategy::name(&result.name);
    let number = result.route.and_then(|route| usize::try_from(route).ok());
    let route = number.and_then(|number| report.routes.get(number));
    let step = result.trace.iter().rposition(|s| s.on_path).unwrap_or(0);
    let badge = match (result.outcome, number) {
        (Outcome::Route, Some(number)) => view! {
            <span class="badge" data-route=number % 4><span class="visually-hidden">"Route "</span>{number + 1}</span>
        }
        .into_any(),
        (Outcome::Route, None) => view! { <span class="dot good">"✓"</span> }.into_any(),
        (Outcome::None, _) => view! {
            <span class="dot none" aria-hidden="true">"○"</span><span class="visually-hidden">"none"</span>
        }
        .into_any(),
        (Outcome::NotApplicable, _) => view! {
            <span class="dot neutral" aria-hidden="true">"–"</span><span class="visually-hidden">"does not apply"</span>
        }
        .into_any(),
    };
    let answer = match (route, &result.reason) {
        (Some(route), _) => view! { <code>{words::route_answer(route)}</code> }.into_any(),
        (None, Some(reason)) => view! { <span class="reason">{reason.clone()}</span> }.into_any(),
        (None, None) => view! { <span class="quiet">"–"</span> }.into_any(),
    };
    view! {
        <tr>
            <th scope="row">
                {kind}" "{function.map(|name| view! { <code>{name.to_owned()}</code> })}
                {(!result.trace.is_empty()).then(|| view! {
                    <button type="button" class="link" on:click=move |_| spot.go(index, step)>
                        "code"<span class="visually-hidden">" of "{result.name.clone()}</span>" ↓"
                    </button>
                })}
            </th>
            <td>{badge}</td>
            <td>{answer}</td>
            <td>{result.detail.as_deref().map(code_words)}</td>
        </tr>
    }
}
