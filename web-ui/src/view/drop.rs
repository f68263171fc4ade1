//! The way in: drop, choose, paste, directory, examples.

use std::cell::Cell;
use std::rc::Rc;

use gloo_utils::window;
use leptos::prelude::{Get, Memo, RwSignal, Set};
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::spawn_local;
use web_sys::{ClipboardEvent, DataTransfer, DragEvent, Event, File, HtmlInputElement};

use crate::dom::{View, el, group, html, listener};
use crate::examples::{self, EXAMPLES, Example};
use crate::session::{Entry, Session, State};
use crate::{files, words};

/// The drop zone; small once there is something to see.
pub(super) fn drop_zone(session: Session) -> View {
    let over = RwSignal::new(false);
    drops(session, over);
    pastes(session);

    let input = |text| {
        html(text).on("change", move |event| {
            let since = words::now();
            let Some(input) = event.target().and_then(|t| t.dyn_into::<HtmlInputElement>().ok())
            else {
                return;
            };
            let files = files::listed(input.files());
            // The same file again must be a change again.
            input.set_value("");
            take(session, files, since);
        })
    };
    let target = el("div", "target")
        .child(html(concat!(
            r#"<p class="call"><span class="wide">Drop a <code>libpython</code> or <code>python3</code> here</span>"#,
            r#"<span class="tight">Drop another file, or</span></p>"#
        )))
        .child(
            el("div", "ways")
                .child(
                    el("label", "button primary")
                        .text("Choose files…")
                        .child(input(r#"<input id="file-input" type="file" multiple>"#)),
                )
                .child(
                    el("label", "button")
                        .text("A directory…")
                        .child(input(r#"<input type="file" webkitdirectory>"#)),
                )
                .child(el("span", "or").text("or paste a copied file")),
        )
        .child(html(concat!(
            r#"<p class="promise"><span aria-hidden="true">⌂ </span>"#,
            "Runs in this page. Your file is not uploaded; the page cannot reach any server but its own. Up to 512 MB.</p>"
        )));
    let examples = html(r#"<div class="examples"><h2>No file at hand?</h2></div>"#)
        .child(el("ul", "").children(EXAMPLES.iter().map(|example| button(session, example))));
    group()
        .child(
            html(r#"<section class="drop" aria-label="Choose a file"></section>"#)
                .class_while("small", move || session.selected.get().is_some())
                .class_while("over", move || over.get())
                .child(target)
                .child(examples),
        )
        .slot(move || {
            group().child(
                session
                    .complaint
                    .get()
                    .map(|text| html(r#"<p class="card failure" role="alert"></p>"#).text(&text)),
            )
        })
        .child(
            html(r#"<div class="veil" aria-hidden="true"><p>Let go to analyze</p></div>"#)
                .class_while("over", move || over.get()),
        )
}

fn button(session: Session, example: &'static Example) -> View {
    let open = move |_: &Event| {
        spawn_local(async move {
            match examples::load(example).await {
                Ok(intake) => session.take(intake),
                Err(_) => session.complain(format!(
                    "The example {} could not be loaded from beside the page.",
                    example.file
                )),
            }
        });
    };
    el("li", "").child(
        html(r#"<button type="button" class="example"></button>"#)
            .child(el("strong", "").text(example.title))
            .child(el("span", "").text(example.words))
            .on("click", open),
    )
}

/// Progress of the file at hand, and a way out.
pub(super) fn progress(session: Session, entry: &Entry) -> View {
    let state = entry.state.clone();
    // Per cent, as text: most steps of the progress change nothing.
    let parts = Memo::new(move |_| match state.get() {
        State::Queued => ("Waiting", None),
        State::Reading(done, total) if total > 0.0 => {
            ("Reading", Some((done / total * 100.0) as u32))
        }
        State::Reading(..) => ("Reading", None),
        _ => ("Analyzing", None),
    });
    html(r#"<section class="card progress" aria-label="Progress"></section>"#)
        .child(
            el("p", "")
                .child(el("span", "").live_text(move || parts.get().0.to_owned()))
                .text(" ")
                .child(el("code", "").text(&entry.name))
                .text("…"),
        )
        .child(html(r#"<progress max="100" aria-label="Part of the file read"></progress>"#).watch(
            move |bar| match parts.get().1 {
                Some(part) => crate::dom::set(bar, "value", &part.to_string()),
                // Taking what is not there changes nothing.
                None => bar.remove_attribute("value").unwrap_or_default(),
            },
        ))
        .child(
            html(r#"<button type="button" class="button">Cancel</button>"#)
                .on("click", move |_| session.cancel()),
        )
}

/// Hands chosen files to the session.
fn take(session: Session, chosen: Vec<File>, since: f64) {
    if !chosen.is_empty() {
        spawn_local(async move { session.take(files::intake(chosen, since).await) });
    }
}

/// Makes the whole window a drop target.
fn drops(session: Session, over: RwSignal<bool>) {
    // Enter and leave come in pairs for every element passed over.
    let depth = Rc::new(Cell::new(0_i32));
    for name in ["dragenter", "dragover", "dragleave", "drop"] {
        let depth = Rc::clone(&depth);
        let heard = move |event: &Event| {
            let Some(transfer) = carried_files(event) else { return };
            if name != "dragleave" {
                event.prevent_default();
            }
            match name {
                "dragenter" => depth.set(depth.get() + 1),
                "dragleave" => depth.set((depth.get() - 1).max(0)),
                "drop" => {
                    depth.set(0);
                    carry(session, &transfer);
                }
                _ => return,
            }
            over.set(depth.get() > 0);
        };
        listener(&window(), name, Box::new(heard)).forget();
    }
}

/// What a drag carries, when that is files.
fn carried_files(event: &Event) -> Option<DataTransfer> {
    let transfer = event.dyn_ref::<DragEvent>()?.data_transfer()?;
    transfer.types().includes(&"Files".into(), 0).then_some(transfer)
}

fn pastes(session: Session) {
    let heard = move |event: &Event| {
        let transfer = event.dyn_ref::<ClipboardEvent>().and_then(ClipboardEvent::clipboard_data);
        if let Some(transfer) = transfer {
            carry(session, &transfer);
        }
    };
    listener(&window(), "paste", Box::new(heard)).forget();
}

/// Hands what was dropped or pasted to the session.
fn carry(session: Session, transfer: &DataTransfer) {
    let since = words::now();
    let carried = files::carried(transfer);
    spawn_local(async move { take(session, carried.await, since) });
}
