//! Keys that work anywhere on the page.

use leptos::ev;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{HtmlElement, ScrollLogicalPosition};

use crate::browser;
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

/// Listens until the page is closed.
pub(super) fn listen(session: Session, help_open: RwSignal<bool>) {
    window_event_listener(ev::keydown, move |event| {
        if event.ctrl_key() || event.meta_key() || event.alt_key() || typing(&event) {
            return;
        }
        match event.key().as_str() {
            "o" => {
                if let Some(input) = document()
                    .get_element_by_id("file-input")
                    .and_then(|e| e.dyn_into::<HtmlElement>().ok())
                {
                    input.click();
                }
            }
            "v" => browser::go_to("verdict", ScrollLogicalPosition::Start),
            "c" => browser::go_to("code", ScrollLogicalPosition::Start),
            "d" => browser::go_to("diagnoses", ScrollLogicalPosition::Start),
            "t" => browser::go_to("take", ScrollLogicalPosition::Start),
            "?" => help_open.set(true),
            "Escape" => session.cancel(),
            _ => return,
        }
        event.prevent_default();
    });
}

fn typing(event: &web_sys::KeyboardEvent) -> bool {
    event.target().and_then(|target| target.dyn_into::<web_sys::Element>().ok()).is_some_and(
        |element| {
            matches!(element.tag_name().as_str(), "TEXTAREA" | "SELECT")
                || (element.tag_name() == "INPUT"
                    && element.get_attribute("type").is_none_or(|t| t == "text"))
                || element.closest("dialog").ok().flatten().is_some()
        },
    )
}
