//! Keys that work anywhere on the page.

use gloo_utils::{document, window};
use leptos::prelude::{RwSignal, Set};
use wasm_bindgen::JsCast;
use web_sys::{Element, Event, HtmlElement, KeyboardEvent, ScrollLogicalPosition};

use crate::browser;
use crate::dom::listener;
use crate::session::Session;

/// Key and what it does, for the help.
pub(super) const KEYS: [(&str, &str); 12] = [
    ("o", "open a file"),
    ("v", "go to the verdict"),
    ("c", "go to the code"),
    ("d", "go to the diagnoses"),
    ("t", "take the report with you"),
    ("?", "this help"),
    ("Esc", "cancel, close"),
    ("↓ ↑ or j k", "in the code: next, previous instruction"),
    ("n p", "in the code: next, previous step of the path"),
    ("s", "in the code: jump to the sink"),
    ("Home End", "in the code: first, last instruction"),
    ("Tab", "in the code: to the values of the instruction"),
];

/// The key that was pressed.
pub(super) fn key(event: &Event) -> String {
    event.dyn_ref::<KeyboardEvent>().map(KeyboardEvent::key).unwrap_or_default()
}

/// The key that was pressed, alone or with Shift.
pub(super) fn plain(event: &Event) -> Option<String> {
    let event = event.dyn_ref::<KeyboardEvent>()?;
    (!event.ctrl_key() && !event.meta_key() && !event.alt_key()).then(|| event.key())
}

/// Listens until the page is closed.
pub(super) fn listen(session: Session, help_open: RwSignal<bool>) {
    let heard = move |event: &Event| {
        let Some(key) = plain(event).filter(|_| !typing(event)) else { return };
        let section = match key.as_str() {
            "v" => "verdict",
            "c" => "code",
            "d" => "diagnoses",
            "t" => "take",
            _ => "",
        };
        match key.as_str() {
            "o" => {
                if let Some(input) = document().get_element_by_id("file-input") {
                    input.unchecked_into::<HtmlElement>().click();
                }
            }
            "?" => help_open.set(true),
            "Escape" => session.cancel(),
            _ if section.is_empty() => return,
            _ => browser::go_to(section, ScrollLogicalPosition::Start),
        }
        event.prevent_default();
    };
    listener(&window(), "keydown", Box::new(heard)).forget();
}

fn typing(event: &Event) -> bool {
    event.target().and_then(|target| target.dyn_into::<Element>().ok()).is_some_and(|element| {
        let tag = element.tag_name();
        matches!(tag.as_str(), "TEXTAREA" | "SELECT")
            || (tag == "INPUT" && element.get_attribute("type").is_none_or(|t| t == "text"))
            || element.closest("dialog").ok().flatten().is_some()
    })
}
