//! The way in: drop, choose, paste, directory, examples.

use std::cell::Cell;
use std::rc::Rc;

use leptos::ev;
use leptos::html;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::spawn_local;
use web_sys::{File, HtmlInputElement};

use crate::examples::{self, EXAMPLES, Example};
use crate::session::{Session, State};
use crate::{files, words};

/// The drop zone; small once there is something to see.
#[component]
pub(super) fn DropZone() -> impl IntoView {
    let session = expect_context::<Session>();
    let over = RwSignal::new(false);
    let file_input = NodeRef::<html::Input>::new();
    let folder_input = NodeRef::<html::Input>::new();
    drops(session, over);
    pastes(session);

    let small = move || session.selected.get().is_some();
    let chosen = move |event: &web_sys::Event| {
        let since = words::now();
        let Some(input) = event.target().and_then(|t| t.dyn_into::<HtmlInputElement>().ok()) else {
            return;
        };
        let files = files::listed(input.files());
        // The same file again must be a change again.
        input.set_value("");
        take(session, files, since);
    };
    view! {
        <section class="drop" class:small=small class:over=move || over.get() aria-label="Choose a file">
            <div class="target">
                <p class="call">
                    <span class="wide">"Drop a "<code>"libpython"</code>" or "<code>"python3"</code>" here"</span>
                    <span class="tight">"Drop another file, or"</span>
                </p>
                <div class="ways">
                    <label class="button primary">
                        "Choose files…"
                        <input
                            id="file-input"
                            node_ref=file_input
                            type="file"
                            multiple
                            on:change=move |event| chosen(&event)
                        />
                    </label>
                    <label class="button">
                        "A directory…"
                        <input
                            node_ref=folder_input
                            type="file"
                            prop:webkitdirectory=true
                            on:change=move |event| chosen(&event)
                        />
                    </label>
                    <span class="or">"or paste a copied file"</span>
                </div>
                <p class="promise">
                    <span aria-hidden="true">"⌂ "</span>
                    "Runs in this page. Your file is not uploaded; the page cannot reach any server but its own. Up to 512 MB."
                </p>
            </div>
            <div class="examples">
                <h2>"No file at hand?"</h2>
                <ul>
                    {EXAMPLES.iter().map(|example| view! { <ExampleButton example/> }).collect_view()}
                </ul>
            </div>
        </section>
        {move || session.complaint.get().map(|text| view! { <p class="card failure" role="alert">{text}</p> })}
        <div class="veil" class:over=move || over.get() aria-hidden="true"><p>"Let go to analyze"</p></div>
    }
}

#[component]
fn ExampleButton(example: &'static Example) -> impl IntoView {
    let session = expect_context::<Session>();
    let open = move |_| {
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
    view! {
        <li>
            <button type="button" class="example" on:click=open>
                <strong>{example.title}</strong>
                <span>{example.words}</span>
            </button>
        </li>
    }
}

/// Progress of the file at hand, and a way out.
#[component]
pub(super) fn Progress(name: String, state: ArcRwSignal<State>) -> impl IntoView {
    let session = expect_context::<Session>();
    let parts = Memo::new(move |_| match state.get() {
        State::Queued => ("Waiting", None),
        State::Reading(done, total) if total > 0.0 => ("Reading", Some(done / total)),
        State::Reading(..) => ("Reading", None),
        _ => ("Analyzing", None),
    });
    view! {
        <section class="card progress" aria-label="Progress">
            <p>{move || parts.get().0}" "<code>{name}</code>"…"</p>
            <progress max="100" aria-label="Part of the file read" value=move || parts.get().1.map(|part| ((part * 100.0) as u32).to_string())></progress>
            <button type="button" class="button" on:click=move |_| session.cancel()>"Cancel"</button>
        </section>
    }
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
    let carries_files = |event: &web_sys::DragEvent| {
        event.data_transfer().is_some_and(|t| t.types().iter().any(|kind| kind == "Files"))
    };
    let entered = Rc::clone(&depth);
    window_event_listener(ev::dragenter, move |event| {
        if carries_files(&event) {
            event.prevent_default();
            entered.set(entered.get() + 1);
            over.set(true);
        }
    });
    window_event_listener(ev::dragover, move |event| {
        if carries_files(&event) {
            event.prevent_default();
        }
    });
    let left = Rc::clone(&depth);
    window_event_listener(ev::dragleave, move |event| {
        if carries_files(&event) {
            left.set((left.get() - 1).max(0));
            over.set(left.get() > 0);
        }
    });
    window_event_listener(ev::drop, move |event| {
        if !carries_files(&event) {
            return;
        }
        event.prevent_default();
        depth.set(0);
        over.set(false);
        let since = words::now();
        if let Some(transfer) = event.data_transfer() {
            let carried = files::carried(&transfer);
            spawn_local(async move { take(session, carried.await, since) });
        }
    });
}

fn pastes(session: Session) {
    window_event_listener(ev::paste, move |event| {
        let since = words::now();
        let Some(transfer) = event
            .dyn_ref::<web_sys::ClipboardEvent>()
            .and_then(web_sys::ClipboardEvent::clipboard_data)
        else {
            return;
        };
        let carried = files::carried(&transfer);
        spawn_local(async move { take(session, carried.await, since) });
    });
}
