//! The page: drop a `libpython`, read how a profiler reaches its threads'
//! states and why simpler decoders fail.
//!
//! The analysis runs in a worker ([`analysis`]); this crate holds what was
//! asked and answered ([`session`]) and shows it ([`view`]). Every fact on
//! the page is read from the report; nothing is analyzed here.

mod analysis;
mod browser;
mod compare;
mod dom;
mod examples;
mod files;
mod json;
mod lineage;
mod listing;
mod reading;
mod session;
mod share;
mod theme;
mod view;
mod words;

fn main() {
    let Some(root) = gloo_utils::document().get_element_by_id("app") else { return };
    // The static shell shows the same first screen until this point.
    root.set_text_content(None);
    leptos::mount::mount_to_renderer(&root, view::page).forget();
}
