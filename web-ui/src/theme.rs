//! Light, dark, or as the system says.

use leptos::prelude::*;

/// The user's choice.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Theme {
    System,
    Light,
    Dark,
}

impl Theme {
    /// All, in the order of the switch.
    pub(crate) const ALL: [Theme; 3] = [Theme::System, Theme::Light, Theme::Dark];

    /// The value of the `data-theme` attribute, and of the stored choice.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Theme::System => "system",
            Theme::Light => "light",
            Theme::Dark => "dark",
        }
    }
}

const KEY: &str = "theme";

/// The stored choice; `theme.js` has applied it before the page was painted.
pub(crate) fn stored() -> Theme {
    let name = window().local_storage().ok().flatten().and_then(|s| s.get_item(KEY).ok().flatten());
    Theme::ALL.into_iter().find(|t| Some(t.name()) == name.as_deref()).unwrap_or(Theme::System)
}

/// Applies and stores a choice.
pub(crate) fn apply(theme: Theme) {
    if let Some(root) = document().document_element() {
        // Setting an attribute with a valid name cannot fail.
        root.set_attribute("data-theme", theme.name()).ok();
    }
    if let Some(storage) = window().local_storage().ok().flatten() {
        // Where nothing can be stored the choice holds for this visit.
        storage.set_item(KEY, theme.name()).ok();
    }
}
