//! Name, theme switch, help.

use leptos::prelude::*;

use crate::theme::{self, Theme};

/// The page's head.
#[component]
pub(super) fn Header(help_open: RwSignal<bool>) -> impl IntoView {
    let chosen = RwSignal::new(theme::stored());
    let option = move |theme: Theme| {
        let (glyph, label) = match theme {
            Theme::System => ("◐", "System"),
            Theme::Light => ("☀", "Light"),
            Theme::Dark => ("☾", "Dark"),
        };
        view! {
            <label>
                <input
                    type="radio"
                    name="theme"
                    value=theme.name()
                    prop:checked=move || chosen.get() == theme
                    on:change=move |_| {
                        chosen.set(theme);
                        theme::apply(theme);
                    }
                />
                <span><span aria-hidden="true">{glyph}</span><span class="label">{label}</span></span>
            </label>
        }
    };
    view! {
        <a class="skip" href="#main" on:click=|event| {
            // The fragment belongs to shared reports.
            event.prevent_default();
            crate::browser::go_to("main", web_sys::ScrollLogicalPosition::Start);
        }>"Skip to the content"</a>
        <header class="head">
            <div class="brand">
                <Glyph/>
                <div>
                    <h1>"Keyhole"</h1>
                    <p>"How a profiler reaches a Python thread's state"</p>
                </div>
            </div>
            <div class="tools">
                <fieldset class="switch">
                    <legend class="visually-hidden">"Theme"</legend>
                    {Theme::ALL.map(option)}
                </fieldset>
                <button class="plain" type="button" aria-label="Keyboard shortcuts" on:click=move |_| help_open.set(true)>
                    <span aria-hidden="true">"?"</span>
                </button>
            </div>
        </header>
    }
}

/// The mark: a keyhole.
#[component]
fn Glyph() -> impl IntoView {
    view! {
        <svg class="glyph" viewBox="0 0 40 48" aria-hidden="true">
            <rect x="1.5" y="1.5" width="37" height="45" rx="9"/>
            <path d="M20 11a8 8 0 0 0-3.6 15.2L13.6 37h12.8l-2.8-10.8A8 8 0 0 0 20 11z"/>
        </svg>
    }
}
