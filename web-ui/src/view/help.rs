//! The dialog with the keys.

use leptos::html;
use leptos::prelude::*;

use super::keys::KEYS;

/// Opens when `open` becomes true.
#[component]
pub(super) fn Help(open: RwSignal<bool>) -> impl IntoView {
    let dialog = NodeRef::<html::Dialog>::new();
    Effect::new(move || {
        let Some(dialog) = dialog.get() else { return };
        if open.get() && !dialog.open() {
            // Fails only for a dialog that is not in the document.
            dialog.show_modal().ok();
        } else if !open.get() {
            dialog.close();
        }
    });
    view! {
        <dialog class="help" node_ref=dialog aria-labelledby="help-title" on:close=move |_| open.set(false)>
            <h2 id="help-title">"Keys"</h2>
            <dl>
                {KEYS
                    .iter()
                    .map(|(key, words)| view! { <div><dt><kbd>{*key}</kbd></dt><dd>{*words}</dd></div> })
                    .collect_view()}
            </dl>
            <button type="button" class="button primary" on:click=move |_| open.set(false)>"Close"</button>
        </dialog>
    }
}
