//! Name, theme switch, help.

use leptos::prelude::*;
use web_sys::{HtmlInputElement, ScrollLogicalPosition};

use crate::browser;
use crate::dom::{View, el, group, html};
use crate::theme::{self, Theme};

/// The page's head.
pub(super) fn header(help_open: RwSignal<bool>) -> View {
    let switch = html(
        r#"<fieldset class="switch"><legend class="visually-hidden">Theme</legend></fieldset>"#,
    );
    let help = html(
        r#"<button class="plain" type="button" aria-label="Keyboard shortcuts"><span aria-hidden="true">?</span></button>"#,
    );
    let skip = html(r##"<a class="skip" href="#main">Skip to the content</a>"##);
    let brand = html(concat!(
        r#"<div class="brand"><svg class="glyph" viewBox="0 0 40 48" aria-hidden="true"><rect x="1.5" y="1.5" width="37" height="45" rx="9"/>"#,
        r#"<path d="M20 11a8 8 0 0 0-3.6 15.2L13.6 37h12.8l-2.8-10.8A8 8 0 0 0 20 11z"/></svg>"#,
        "<div><h1>Keyhole</h1><p>How a profiler reaches a Python thread's state</p></div></div>"
    ));
    let stored = theme::stored();
    group()
        .child(skip.on("click", |event| {
            // The fragment belongs to shared reports.
            event.prevent_default();
            browser::go_to("main", ScrollLogicalPosition::Start);
        }))
        .child(
            el("header", "head").child(brand).child(
                el("div", "tools")
                    .child(switch.children(Theme::ALL.map(|theme| option(theme, theme == stored))))
                    .child(help.on("click", move |_| help_open.set(true))),
            ),
        )
}

fn option(theme: Theme, chosen: bool) -> View {
    let (glyph, label) = match theme {
        Theme::System => ("◐", "System"),
        Theme::Light => ("☀", "Light"),
        Theme::Dark => ("☾", "Dark"),
    };
    let input = html(r#"<input type="radio" name="theme">"#).attr("value", theme.name());
    input.element::<HtmlInputElement>().set_checked(chosen);
    el("label", "")
        .child(input.on("change", move |_| theme::apply(theme)))
        .child(el("span", "").child(super::hidden(glyph)).child(el("span", "label").text(label)))
}
