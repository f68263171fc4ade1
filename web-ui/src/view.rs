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
mod prose;
mod report;
mod strategies;
mod take;
mod verdict;

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::HtmlInputElement;

use crate::dom::{View, el, group, html};
use crate::session::{Entry, EntryId, Session, State};
use crate::share;

/// The whole page.
pub(crate) fn page() -> View {
    let session = Session::start();
    let help_open = RwSignal::new(false);
    keys::listen(session, help_open);
    open_link(session);

    // What is shown stays when other entries come and go.
    let shown = Memo::new(move |_| session.current().map(|entry| entry.id));
    group()
        .child(header::header(help_open))
        .child(
            html(r#"<main id="main" tabindex="-1"></main>"#)
                .child(drop::drop_zone(session))
                .child(list::file_list(session))
                .slot(move || shown.get().map_or_else(group, |id| entry(session, id))),
        )
        .child(html(concat!(
            r#"<footer class="foot"><p>Keyhole "#,
            env!("CARGO_PKG_VERSION"),
            " · runs in this page, sends nothing · press <kbd>?</kbd> for the keys</p></footer>"
        )))
        .child(
            html(r#"<div class="visually-hidden" role="status" aria-live="polite"></div>"#)
                .live_text(move || session.announcement.get()),
        )
        .child(help::help(help_open))
}

/// An entry, whatever its state.
fn entry(session: Session, id: EntryId) -> View {
    let Some(entry) = session.find_untracked(id) else { return group() };
    let state = entry.state.clone();
    // The report is built once, not at every step of the progress.
    let stage = Memo::new(move |_| match state.get() {
        State::Queued | State::Reading(..) | State::Analyzing => 0_u8,
        State::Done(_) => 1,
        State::Failed(_) => 2,
    });
    group().slot(move || {
        // Read, not only tracked: a memo that nobody reads follows nothing.
        stage.get();
        outcome(session, &entry)
    })
}

fn outcome(session: Session, entry: &Entry) -> View {
    match entry.state.get_untracked() {
        State::Done(analyzed) => match session.analyzed(session.compared.get()) {
            Some(other) => comparison::comparison(session, &analyzed, &other),
            None => report::report(session, entry, &analyzed),
        },
        State::Failed(failure) => html(r#"<section class="card failure" role="alert"></section>"#)
            .child(el("h2", "").text("No report for ").text(&entry.name))
            .child(el("p", "").text(&failure.message))
            .child(el("p", "quiet").text(remedy(&failure.code))),
        _ => drop::progress(session, entry),
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

/// A glyph in its tone, for the eye only.
fn dot(tone: &str, glyph: &str) -> View {
    hidden(glyph).class("dot").class(tone)
}

/// Text that a screen reader passes over.
fn hidden(text: &str) -> View {
    el("span", "").attr("aria-hidden", "true").text(text)
}

/// Text for a screen reader only.
fn aloud(text: &str) -> View {
    el("span", "visually-hidden").text(text)
}

/// The place of a route's number, in the route's colour.
fn badge(route: usize) -> View {
    el("span", "badge").attr("data-route", &(route % 4).to_string())
}

/// A part that scrolls sideways, reached by keyboard too.
fn scroll(label: &str) -> View {
    html(r#"<div class="scroll" tabindex="0" role="group"></div>"#).attr("aria-label", label)
}

/// A box to tick, with its words; it follows the signal.
fn check(ticked: RwSignal<bool>, words: &str) -> View {
    el("label", "check")
        .child(
            html(r#"<input type="checkbox">"#)
                .watch(move |input| {
                    input.unchecked_ref::<HtmlInputElement>().set_checked(ticked.get());
                })
                .on("change", move |_| ticked.update(|ticked| *ticked = !*ticked)),
        )
        .text(words)
}

/// Shows the report that the page's address carries, if it carries one.
fn open_link(session: Session) {
    let hash = window().location().hash().unwrap_or_default();
    wasm_bindgen_futures::spawn_local(async move {
        let Some(unfolded) = share::unfold(&hash).await else { return };
        match unfolded.map(|json| crate::session::read_report(json, None)) {
            Ok(State::Done(analyzed)) => session.show(analyzed),
            Ok(State::Failed(failure)) => session.complain(failure.message),
            Ok(_) => {}
            Err(why) => session.complain(format!("The report in the link cannot be read: {why}.")),
        }
    });
}
