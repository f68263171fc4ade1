//! One report, section by section.

use std::sync::Arc;

use leptos::prelude::*;
use web_sys::ScrollLogicalPosition;

use super::{baselines, code, diagnoses, facts, strategies, take, verdict};
use crate::browser;
use crate::dom::{View, el, html};
use crate::session::{Analyzed, Entry, Session};

/// Which instruction is looked at: the strategy and the step of its trace.
#[derive(Clone, Copy)]
pub(super) struct Spot {
    /// Index in the report's strategies.
    pub(super) strategy: RwSignal<usize>,
    /// Index in its trace.
    pub(super) step: RwSignal<usize>,
}

impl Spot {
    /// Shows an instruction and puts the focus on it.
    pub(super) fn go(self, strategy: usize, step: usize) {
        self.turn(strategy);
        self.step.set(step);
        // The row exists once the listing of that strategy is rendered.
        code::focus(step, ScrollLogicalPosition::Center);
    }

    /// Shows a strategy's trace, unless it is shown.
    pub(super) fn turn(self, strategy: usize) {
        if self.strategy.get_untracked() != strategy {
            self.strategy.set(strategy);
        }
    }
}

/// Everything about one file.
pub(super) fn report(session: Session, entry: &Entry, analyzed: &Arc<Analyzed>) -> View {
    let report = &analyzed.report;
    let first = report
        .strategies
        .iter()
        .position(|s| s.trace.iter().any(|step| step.on_path))
        .or_else(|| report.strategies.iter().position(|s| !s.trace.is_empty()));
    let step =
        first.and_then(|s| report.strategies.get(s)).map_or(0, |s| code::last_on_path(&s.trace));
    let spot = Spot { strategy: RwSignal::new(first.unwrap_or(0)), step: RwSignal::new(step) };

    let mut contents = el("ol", "");
    let mut sections = el("div", "sections");
    let mut add = |id: &'static str, title: &str, section: View| {
        let button = html(r#"<button type="button"></button>"#)
            .text(title)
            .on("click", move |_| browser::go_to(id, ScrollLogicalPosition::Start));
        contents.push(el("li", "").child(button));
        sections.push(section);
    };
    add("verdict", "Verdict", verdict::verdict(analyzed, &entry.name));
    if !report.baselines.is_empty() {
        add("baselines", "Who would fail here", baselines::baselines(analyzed, spot));
    }
    if !report.strategies.is_empty() {
        add("strategies", "Strategies", strategies::strategies(analyzed, spot));
    }
    if first.is_some() {
        add("code", "The code", code::code(analyzed, spot));
    }
    if !report.diagnoses.is_empty() {
        add("diagnoses", "Diagnoses", diagnoses::diagnoses(analyzed));
    }
    add("take", "Take it with you", take::take(session, entry, analyzed));
    if report.image.is_some() {
        add("facts", "All facts", facts::facts_section(analyzed));
    }
    el("div", "report")
        .child(html(r#"<nav class="contents" aria-label="Sections"></nav>"#).child(contents))
        .child(sections)
}
