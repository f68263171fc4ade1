//! Two files side by side, differences marked.

use std::sync::Arc;

use analyzer_core::report::{Outcome, Report, StrategyResult};
use leptos::prelude::*;

use super::code::instruction_parts;
use super::facts;
use super::list::{glyph, tone_class};
use super::verdict::code_words;
use crate::compare::{Pair, align};
use crate::session::{Analyzed, Session};
use crate::words::{self, strategy};

/// The comparison of two reports.
#[component]
pub(super) fn Comparison(left: Arc<Analyzed>, right: Arc<Analyzed>) -> impl IntoView {
    let session = expect_context::<Session>();
    let (l, r) = (&left.report, &right.report);
    let lines = lines(l, r);
    let differing = lines.iter().filter(|line| line.differs()).count();
    let only = RwSignal::new(false);
    let rows = lines
        .into_iter()
        .map(|line| {
            let differs = line.differs();
            view! {
                <tr class:differs=differs class:gone=move || only.get() && !differs>
                    <th scope="row">
                        {differs.then(|| view! { <span class="dot mixed" aria-hidden="true">"≠"</span><span class="visually-hidden">"Different: "</span> })}
                        {line.name}
                    </th>
                    <td>{cell(line.left)}</td>
                    <td>{cell(line.right)}</td>
                </tr>
            }
        })
        .collect_view();
    let listings =
        common_functions(l, r).into_iter().map(|(a, b)| view_listings(a, b)).collect_view();
    view! {
        <section class="comparison" id="verdict" tabindex="-1" aria-labelledby="verdict-title">
            <div class="sentence">
                <h2 id="verdict-title">"Two files side by side"</h2>
                <button type="button" class="button" on:click=move |_| session.compared.set(None)>"Back to one file"</button>
            </div>
            <p class="lead">{differing}" differences in what is known of them."</p>
            <label class="check">
                <input type="checkbox" prop:checked=move || only.get() on:change=move |_| only.update(|o| *o = !*o)/>
                "Differences only"
            </label>
            <div class="scroll" tabindex="0" role="group" aria-label="Comparison">
                <table class="compare">
                    <thead>
                        <tr><td></td><th scope="col">{heading(l)}</th><th scope="col">{heading(r)}</th></tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        </section>
        {listings}
    }
}

fn heading(report: &Report) -> impl IntoView + use<> {
    let verdict = words::verdict::verdict(report);
    view! {
        <span class=format!("seal {}", tone_class(verdict.tone))>
            <span aria-hidden="true">{glyph(verdict.tone)}</span>{verdict.word}
        </span>
        <code>{report.file.path.clone()}</code>
    }
}

/// One line of the comparison.
struct Line {
    name: String,
    left: Option<String>,
    right: Option<String>,
}

impl Line {
    fn differs(&self) -> bool {
        self.left != self.right
    }
}

fn cell(text: Option<String>) -> impl IntoView {
    match text {
        Some(text) => code_words(&text).into_any(),
        None => view! { <span class="quiet">"–"</span> }.into_any(),
    }
}

fn lines(left: &Report, right: &Report) -> Vec<Line> {
    let of = |report: &Report| {
        let mut lines: Vec<(String, String)> =
            vec![("Verdict".to_owned(), words::verdict::verdict(report).headline)];
        for (index, route) in report.routes.iter().enumerate() {
            let (kind, _, strength) = words::route_parts(route);
            lines.push((
                format!("Route {}", index + 1),
                format!("{kind}, {}, {}", words::route_answer(route), words::strength(strength)),
            ));
        }
        lines
            .extend(facts::facts(report).into_iter().map(|(name, value)| (name.to_owned(), value)));
        for baseline in &report.baselines {
            let (_, word, _) = strategy::baseline(baseline.outcome);
            let detail = baseline.detail.as_deref().map_or_else(String::new, |d| format!(": {d}"));
            lines.push((strategy::sentence(&baseline.name), format!("{word}{detail}")));
        }
        for result in &report.strategies {
            let answer = result
                .route
                .and_then(|route| report.routes.get(usize::try_from(route).ok()?))
                .map(words::route_answer);
            let text = match (result.outcome, answer) {
                (Outcome::Route, Some(answer)) => answer,
                (Outcome::Route, None) => "a route".to_owned(),
                (Outcome::None, _) => result.reason.clone().unwrap_or_else(|| "nothing".to_owned()),
                (Outcome::NotApplicable, _) => "does not apply".to_owned(),
            };
            let (kind, function) = strategy::name(&result.name);
            let name = function.map_or(kind.clone(), |function| format!("{kind} {function}"));
            lines.push((name, text));
        }
        for diagnosis in &report.diagnoses {
            lines.push((format!("Diagnosis {}", diagnosis.code), diagnosis.title.clone()));
        }
        lines
    };
    let (left, right) = (of(left), of(right));
    let names =
        |lines: &[(String, String)]| lines.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    align(&names(&left), &names(&right))
        .into_iter()
        .map(|pair| match pair {
            Pair::Same(i, j) => Line {
                name: left[i].0.clone(),
                left: Some(left[i].1.clone()),
                right: Some(right[j].1.clone()),
            },
            Pair::Left(i) => {
                Line { name: left[i].0.clone(), left: Some(left[i].1.clone()), right: None }
            }
            Pair::Right(j) => {
                Line { name: right[j].0.clone(), left: None, right: Some(right[j].1.clone()) }
            }
        })
        .collect()
}

/// Strategies of the same name that read code in both.
fn common_functions<'a>(
    left: &'a Report,
    right: &'a Report,
) -> Vec<(&'a StrategyResult, &'a StrategyResult)> {
    left.strategies
        .iter()
        .filter(|a| !a.trace.is_empty())
        .filter_map(|a| {
            let b = right.strategies.iter().find(|b| b.name == a.name && !b.trace.is_empty())?;
            Some((a, b))
        })
        .collect()
}

fn view_listings(left: &StrategyResult, right: &StrategyResult) -> impl IntoView + use<> {
    let texts = |result: &StrategyResult| {
        result.trace.iter().map(|step| step.text.clone()).collect::<Vec<_>>()
    };
    let pairs = align(&texts(left), &texts(right));
    let same = pairs.iter().all(|pair| matches!(pair, Pair::Same(..)));
    let rows = pairs
        .into_iter()
        .map(|pair| {
            let (class, a, b) = match pair {
                Pair::Same(i, j) => ("same", left.trace.get(i), right.trace.get(j)),
                Pair::Left(i) => ("left", left.trace.get(i), None),
                Pair::Right(j) => ("right", None, right.trace.get(j)),
            };
            let side = |step: Option<&analyzer_core::report::Step>| {
                step.map(|step| {
                    let path = step.on_path;
                    view! { <code class="ins" class:path=path>{instruction_parts(&step.text)}</code> }
                })
            };
            let mark = match class {
                "left" => "left only",
                "right" => "right only",
                _ => "",
            };
            view! {
                <tr class=class>
                    <td>{side(a)}</td>
                    <td class="mark"><span class="visually-hidden">{mark}</span></td>
                    <td>{side(b)}</td>
                </tr>
            }
        })
        .collect_view();
    let (_, function) = strategy::name(&left.name);
    let name = function.unwrap_or(&left.name).to_owned();
    view! {
        <section class="comparison">
            <details open=!same>
                <summary><h3><code>{name}</code>{same.then_some(" · the same instructions")}</h3></summary>
                <div class="scroll" tabindex="0" role="group" aria-label="Two listings">
                    <table class="listings">
                        <thead class="visually-hidden"><tr><th scope="col">"Left"</th><th scope="col">"Difference"</th><th scope="col">"Right"</th></tr></thead>
                        <tbody>{rows}</tbody>
                    </table>
                </div>
            </details>
        </section>
    }
}
