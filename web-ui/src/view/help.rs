//! The dialog with the keys.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::HtmlDialogElement;

use super::keys::KEYS;
use crate::dom::{View, el, html};

/// Opens when `open` becomes true.
pub(super) fn help(open: RwSignal<bool>) -> View {
    let key = |(key, words): (&str, &str)| {
        el("div", "")
            .child(el("dt", "").child(el("kbd", "").text(key)))
            .child(el("dd", "").text(words))
    };
    html(r#"<dialog class="help" aria-labelledby="help-title"><h2 id="help-title">Keys</h2></dialog>"#)
        .child(el("dl", "").children(KEYS.map(key)))
        .child(
            html(r#"<button type="button" class="button primary">Close</button>"#)
                .on("click", move |_| open.set(false)),
        )
        .on("close", move |_| open.set(false))
        .watch(move |dialog| {
            let dialog: &HtmlDialogElement = dialog.unchecked_ref();
            if open.get() && !dialog.open() {
                // Fails only for a dialog that is not in the document.
                dialog.show_modal().ok();
            } else if !open.get() {
                dialog.close();
            }
        })
}
