//! The findings in plain words, and what to do.

use std::sync::Arc;

use leptos::prelude::*;

use super::verdict::code_words;
use crate::session::Analyzed;

/// All diagnoses of a report.
#[component]
pub(super) fn Diagnoses(analyzed: Arc<Analyzed>) -> impl IntoView {
    let items = analyzed
        .report
        .diagnoses
        .iter()
        .map(|diagnosis| view! {
            <li class="diagnosis">
                <h3>{diagnosis.title.clone()}</h3>
                <p>{code_words(&diagnosis.detail)}</p>
                <p class="remedy"><strong>"What to do. "</strong>{code_words(&diagnosis.remedy)}</p>
                <p class="code-name"><code>{diagnosis.code.clone()}</code></p>
            </li>
        })
        .collect_view();
    view! {
        <section id="diagnoses" tabindex="-1" aria-labelledby="diagnoses-title">
            <h2 id="diagnoses-title">"Diagnoses"</h2>
            <ul class="diagnoses">{items}</ul>
        </section>
    }
}
