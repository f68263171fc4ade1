//! The strategies as a table.

use analyzer_core::report::{Outcome, Report, StrategyResult};
use wording::route;
use wording::terms;

use super::prose::code_words;
use super::report::Spot;
use super::{aloud, badge, dot};
use crate::dom::{View, el, group, html};
use crate::session::Analyzed;
use crate::words::strategy;

/// Each strategy with its answer or its reason.
pub(super) fn strategies(analyzed: &Analyzed, spot: Spot) -> View {
    let report = &analyzed.report;
    let (mut found, mut count, mut others) = (0, 0, 0_usize);
    let (mut applying, mut aside) = (el("tbody", ""), el("tbody", ""));
    for (index, result) in report.strategies.iter().enumerate() {
        let row = row(report, index, result, spot);
        if result.outcome == Outcome::NotApplicable {
            others += 1;
            aside.push(row);
        } else {
            count += 1;
            found += u32::from(result.outcome == Outcome::Route);
            applying.push(row);
        }
    }
    html(
        r#"<section id="strategies" tabindex="-1" aria-labelledby="strategies-title"><h2 id="strategies-title">Strategies</h2></section>"#,
    )
    .child(el("p", "lead").text(&format!(
        "{found} of {count} strategies that apply found a route. Each looked on its own."
    )))
    .child(table(applying, "Table of strategies"))
    .child((others > 0).then(|| {
        let others = terms::capital(&terms::count(others));
        el("details", "aside")
            .child(el("summary", "").text(&others).text(" more do not apply to this file"))
            .child(table(aside, "Table of strategies that do not apply"))
    }))
}

fn table(rows: View, label: &str) -> View {
    let table = html(concat!(
        r#"<table class="strategies"><thead><tr><th scope="col">Strategy</th><th scope="col">Route</th>"#,
        r#"<th scope="col">Answer</th><th scope="col">What it rests on, or why it found nothing</th></tr></thead></table>"#
    ));
    super::scroll(label).child(table.child(rows))
}

fn row(report: &Report, index: usize, result: &StrategyResult, spot: Spot) -> View {
    let (kind, function) = strategy::name(&result.name);
    let number = result.route.and_then(|route| usize::try_from(route).ok());
    let route = number.and_then(|number| report.routes.get(number));
    let step = super::code::last_on_path(&result.trace);
    let badge = match (result.outcome, number) {
        (Outcome::Route, Some(number)) => {
            badge(number).child(aloud("Route ")).text(&(number + 1).to_string())
        }
        (Outcome::Route, None) => el("span", "dot good").text("✓"),
        (Outcome::None, _) => group().child(dot("none", "○")).child(aloud("none")),
        (Outcome::NotApplicable, _) => {
            group().child(dot("neutral", "–")).child(aloud("does not apply"))
        }
    };
    let answer = match (route, &result.reason) {
        (Some(route), _) => el("code", "").text(&route::answer(route)),
        (None, Some(reason)) => el("span", "reason").text(reason),
        (None, None) => el("span", "quiet").text("–"),
    };
    let code = (!result.trace.is_empty()).then(|| {
        html(r#"<button type="button" class="link">code</button>"#)
            .child(aloud(" of ").text(&result.name))
            .text(" ↓")
            .on("click", move |_| spot.go(index, step))
    });
    el("tr", "")
        .child(
            html(r#"<th scope="row"></th>"#)
                .text(&kind)
                .text(" ")
                .child(function.map(|name| el("code", "").text(name)))
                .child(code),
        )
        .child(el("td", "").child(badge))
        .child(el("td", "").child(answer))
        .child(el("td", "").child(result.detail.as_deref().map(code_words)))
}
