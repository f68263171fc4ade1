//! One report, section by section.

use std::sync::Arc;

use leptos::prelude::*;
use web_sys::ScrollLogicalPosition;

use super::{baselines, code, diagnoses, facts, strategies, take, verdict};
use crate::browser;
use crate::session::{Analyzed, Entry};

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
        self.strategy.set(strategy);
        self.step.set(step);
        // The row exists once the listing of that strategy is rendered.
        request_animation_frame(move || {
            browser::go_to(&code::row_id(step), ScrollLogicalPosition::Center);
        });
    }
}

/// Everything about one file.
#[component]
pub(super) fn ReportView(entry: Entry, analyzed: Arc<Analyzed>) -> impl IntoView {
    let report = &analyzed.report;
    let first = report
        .strategies
        .iter()
        .position(|s| s.trace.iter().any(|step| step.on_path))
        .or_else(|| report.strategies.iter().position(|s| !s.trace.is_empty()));
    let step = first
        .and_then(|s| report.strategies.get(s))
        .and_then(|s| s.trace.iter().rposition(|step| step.on_path))
        .unwrap_or(0);
    let spot = Spot { strategy: RwSignal::new(first.unwrap_or(0)), step: RwSignal::new(step) };
    provide_context(spot);

    let mut sections = vec![("verdict", "Verdict")];
    let python = !report.strategies.is_empty();
    if !report.baselines.is_empty() {
        sections.push(("baselines", "Who would fail here"));
    }
    if python {
        sections.push(("strategies", "Strategies"));
    }
    if first.is_some() {
        sections.push(("code", "The code"));
    }
    if !report.diagnoses.is_empty() {
        sections.push(("diagnoses", "Diagnoses"));
    }
    sections.push(("take", "Take it with you"));
    if report.image.is_some() {
        sections.push(("facts", "All facts"));
    }
    let has = |id: &str| sections.iter().any(|(known, _)| *known == id);
    let (baselines, strategies, code, diagnoses, facts) =
        (has("baselines"), has("strategies"), has("code"), has("diagnoses"), has("facts"));
    view! {
        <div class="report">
            <nav class="contents" aria-label="Sections">
                <ol>
                    {sections
                        .iter()
                        .map(|&(id, title)| view! {
                            <li><button type="button" on:click=move |_| browser::go_to(id, ScrollLogicalPosition::Start)>{title}</button></li>
                        })
                        .collect_view()}
                </ol>
            </nav>
            <div class="sections">
                <verdict::Verdict analyzed=Arc::clone(&analyzed) name=entry.name.clone()/>
                {baselines.then(|| view! { <baselines::Baselines analyzed=Arc::clone(&analyzed)/> })}
                {strategies.then(|| view! { <strategies::Strategies analyzed=Arc::clone(&analyzed)/> })}
                {code.then(|| view! { <code::Code analyzed=Arc::clone(&analyzed)/> })}
                {diagnoses.then(|| view! { <diagnoses::Diagnoses analyzed=Arc::clone(&analyzed)/> })}
                <take::Take analyzed=Arc::clone(&analyzed) entry/>
                {facts.then(|| view! { <facts::Facts analyzed/> })}
            </div>
        </div>
    }
}
