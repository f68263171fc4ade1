//! The findings in plain words, and what to do.

use analyzer_core::report::Diagnosis;

use super::prose::code_words;
use crate::dom::{View, el, html};
use crate::session::Analyzed;

/// All diagnoses of a report.
pub(super) fn diagnoses(analyzed: &Analyzed) -> View {
    html(
        r#"<section id="diagnoses" tabindex="-1" aria-labelledby="diagnoses-title"><h2 id="diagnoses-title">Diagnoses</h2></section>"#,
    )
    .child(el("ul", "diagnoses").children(analyzed.report.diagnoses.iter().map(diagnosis)))
}

fn diagnosis(diagnosis: &Diagnosis) -> View {
    el("li", "diagnosis")
        .child(el("h3", "").text(&diagnosis.title))
        .child(el("p", "").child(code_words(&diagnosis.detail)))
        .child(
            html(r#"<p class="remedy"><strong>What to do. </strong></p>"#)
                .child(code_words(&diagnosis.remedy)),
        )
        .child(el("p", "code-name").child(el("code", "").text(&diagnosis.code)))
}
