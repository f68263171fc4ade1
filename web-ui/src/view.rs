//! What is on the page, in the order a person needs it.

mod baselines;
mod code;
mod comparison;
mod diagnoses;
mod drop;
mod facts;
mod header;
mod help;
mod keys;
mod list;
mod report;
mod strategies;
mod take;
mod verdict;

use leptos::prelude::*;

use crate::session::{Session, State};
use crate::share;

/// The whole page.
#[component]
pub(crate) fn App() -> impl IntoView {
    let session = Session::start();
    provide_context(session);
    let help_open = RwSignal::new(false);
    keys::listen(session, help_open);
    open_link(session);

    let announcement = session.announcement;
    let whole = move || session.current().map(|entry| view! { <Shown entry/> });
    view! {
        <header::Header help_open/>
        <main id="main" tabindex="-1">
            <drop::DropZone/>
            <list::FileList/>
            {whole}
        </main>
        <footer class="foot">
            <p>
                "Keyhole " {env!("CARGO_PKG_VERSION")}
                " · runs in this page, sends nothing · press "<kbd>"?"</kbd>" for the keys"
            </p>
        </footer>
        <div class="visually-hidden" role="status" aria-live="polite">{move || announcement.get()}</div>
        <help::Help open=help_open/>
    }
}

/// The selected entry, whatever its state.
#[component]
fn Shown(entry: crate::session::Entry) -> impl IntoView {
    let session = expect_context::<Session>();
    let name = entry.name.clone();
    let state = entry.state.clone();
    // The report is built once, not at every step of the progress.
    let stage = Memo::new(move |_| match state.get() {
        State::Queued | State::Reading(..) | State::Analyzing => 0_u8,
        State::Done(_) => 1,
        State::Failed(_) => 2,
    });
    let state = entry.state.clone();
    move || {
        // Read, not only tracked: a memo that nobody reads follows nothing.
        stage.get();
        match state.get_untracked() {
            State::Done(analyzed) => {
                let compared = session.analyzed(session.compared.get());
                match compared {
                    Some(other) => view! {
                        <comparison::Comparison left=analyzed right=other/>
                    }
                    .into_any(),
                    None => view! {
                        <report::ReportView entry=entry.clone() analyzed/>
                    }
                    .into_any(),
                }
            }
            State::Failed(failure) => view! {
                <section class="card failure" role="alert">
                    <h2>"No report for "{name.clone()}</h2>
                    <p>{failure.message.clone()}</p>
                    <p class="quiet">{remedy(&failure.code)}</p>
                </section>
            }
            .into_any(),
            _ => view! { <drop::Progress name=name.clone() state=state.clone()/> }.into_any(),
        }
    }
}

/// What to try, per failure code.
fn remedy(code: &str) -> &'static str {
    match code {
        "too-large" => {
            "No libpython is that large. Give the library itself, not an archive or image that holds it."
        }
        "out-of-memory" => "Close other tabs, or use the command line: keyhole inspect FILE.",
        "unreadable" => "The file may have changed or moved since it was chosen. Choose it again.",
        "panic" | "trap" => {
            "This is a bug in Keyhole. The analyzer was restarted; other files work. Please report it with the text above."
        }
        "report" => "Page and analyzer are of different versions. Reload the page.",
        _ => "Reload the page and try again.",
    }
}

/// Shows the report that the page's address carries, if it carries one.
fn open_link(session: Session) {
    let hash = window().location().hash().unwrap_or_default();
    wasm_bindgen_futures::spawn_local(async move {
        let Some(unfolded) = share::unfold(&hash).await else { return };
        let state = unfolded.map(|json| crate::session::read_report(json, None));
        match state {
            Ok(State::Done(analyzed)) => {
                let name = match analyzed.report.file.path.as_str() {
                    "" => "shared report".to_owned(),
                    path => path.to_owned(),
                };
                session.show(name, analyzed.report.clone(), analyzed.json.clone());
            }
            Ok(State::Failed(failure)) => session.complain(failure.message),
            Ok(_) => {}
            Err(why) => session.complain(format!("The report in the link cannot be read: {why}.")),
        }
    });
}
