//! Two files side by side, differences marked.

use analyzer_core::report::{Outcome, Report, Step, StrategyResult};
use leptos::prelude::*;
use wording::{route, terms};

use super::code::instruction_parts;
use super::prose::code_words;
use super::verdict::seal;
use super::{aloud, check, dot, facts, scroll};
use crate::compare::{Pair, align};
use crate::dom::{View, el, group, html};
use crate::session::{Analyzed, Session};
use crate::words::strategy;

/// The comparison of two reports.
pub(super) fn comparison(session: Session, left: &Analyzed, right: &Analyzed) -> View {
    let (l, r) = (&left.report, &right.report);
    let lines = lines(l, r);
    let differing = lines.iter().filter(|line| line.differs()).count();
    let only = RwSignal::new(false);
    let back = html(r#"<button type="button" class="button">Back to one file</button>"#)
        .on("click", move |_| session.compared.set(None));
    let heads = html(r#"<tr><td></td></tr>"#).child(heading(l)).child(heading(r));
    let table = el("table", "compare")
        .child(el("thead", "").child(heads))
        .child(el("tbody", "").children(lines.iter().map(|line| row(line, only))));
    let listings = common_functions(l, r).into_iter().map(|(a, b)| listings(a, b));
    group()
        .child(
            html(r#"<section class="comparison" id="verdict" tabindex="-1" aria-labelledby="verdict-title"></section>"#)
                .child(
                    html(r#"<div class="sentence"><h2 id="verdict-title">Two files side by side</h2></div>"#)
                        .child(back),
                )
                .child(
                    el("p", "lead")
                        .text(&differing.to_string())
                        .text(" differences in what is known of them."),
                )
                .child(check(only, "Differences only"))
                .child(scroll("Comparison").child(table)),
        )
        .children(listings)
}

fn row(line: &Line, only: RwSignal<bool>) -> View {
    let mut name = html(r#"<th scope="row"></th>"#);
    if line.differs() {
        name = name.child(dot("mixed", "≠")).child(aloud("Different: "));
    }
    let row = el("tr", if line.differs() { "differs" } else { "" })
        .child(name.text(&line.name))
        .child(cell(line.left.as_deref()))
        .child(cell(line.right.as_deref()));
    if line.differs() { row } else { row.class_while("gone", move || only.get()) }
}

fn heading(report: &Report) -> View {
    let verdict = wording::verdict(report);
    html(r#"<th scope="col"></th>"#)
        .child(seal(verdict.tone, verdict.word))
        .child(el("code", "").text(&report.file.path))
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

fn cell(text: Option<&str>) -> View {
    el("td", "").child(match text {
        Some(text) => code_words(text),
        None => el("span", "quiet").text("–"),
    })
}

fn lines(left: &Report, right: &Report) -> Vec<Line> {
    let of = |report: &Report| {
        let mut lines: Vec<(String, String)> =
            vec![("Verdict".to_owned(), wording::verdict(report).headline)];
        for (index, route) in report.routes.iter().enumerate() {
            let (strength, _) = terms::strength(route::strength(route));
            lines.push((
                format!("Route {}", index + 1),
                format!("{}, {}, {strength}", route::kind(route), route::answer(route)),
            ));
        }
        lines
            .extend(facts::facts(report).into_iter().map(|(name, value)| (name.to_owned(), value)));
        for baseline in &report.baselines {
            let (_, word) = strategy::baseline(baseline.outcome);
            let detail = baseline.detail.as_deref().map_or_else(String::new, |d| format!(": {d}"));
            lines.push((strategy::sentence(&baseline.name), format!("{word}{detail}")));
        }
        for result in &report.strategies {
            let answer = result
                .route
                .and_then(|route| report.routes.get(usize::try_from(route).ok()?))
                .map(route::answer);
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

fn listings(left: &StrategyResult, right: &StrategyResult) -> View {
    let texts = |result: &StrategyResult| {
        result.trace.iter().map(|step| step.text.clone()).collect::<Vec<_>>()
    };
    let pairs = align(&texts(left), &texts(right));
    let same = pairs.iter().all(|pair| matches!(pair, Pair::Same(..)));
    let side = |step: Option<&Step>| {
        el("td", "").child(step.map(|step| {
            let class = if step.on_path { "ins path" } else { "ins" };
            el("code", class).child(instruction_parts(&step.text))
        }))
    };
    let rows = pairs.into_iter().map(|pair| {
        let (class, mark, a, b) = match pair {
            Pair::Same(i, j) => ("same", "", left.trace.get(i), right.trace.get(j)),
            Pair::Left(i) => ("left", "left only", left.trace.get(i), None),
            Pair::Right(j) => ("right", "right only", None, right.trace.get(j)),
        };
        el("tr", class).child(side(a)).child(el("td", "mark").child(aloud(mark))).child(side(b))
    });
    let (_, function) = strategy::name(&left.name);
    let name = el("h3", "")
        .child(el("code", "").text(function.unwrap_or(&left.name)))
        .text(if same { " · the same instructions" } else { "" });
    let table = html(concat!(
        r#"<table class="listings"><thead class="visually-hidden"><tr><th scope="col">Left</th>"#,
        r#"<th scope="col">Difference</th><th scope="col">Right</th></tr></thead></table>"#
    ));
    let details = html(if same { "<details></details>" } else { "<details open></details>" });
    el("section", "comparison").child(
        details
            .child(el("summary", "").child(name))
            .child(scroll("Two listings").child(table.child(el("tbody", "").children(rows)))),
    )
}
