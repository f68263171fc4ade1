//! Take it with you: Markdown, JSON, reproducer, link.

use std::sync::Arc;

use leptos::prelude::*;
use wasm_bindgen_futures::spawn_local;
use web_sys::Event;
use wording::{Contents, Traces};

use crate::browser;
use crate::dom::{View, el, html};
use crate::session::{Analyzed, Entry, Session};
use crate::share::{self, Kept};

/// What the buttons share.
#[derive(Clone)]
struct Taken {
    session: Session,
    entry: Entry,
    analyzed: Arc<Analyzed>,
    nameless: RwSignal<bool>,
    said: RwSignal<String>,
}

/// The ways to keep a report or pass it on.
pub(super) fn take(session: Session, entry: &Entry, analyzed: &Arc<Analyzed>) -> View {
    let nameless = RwSignal::new(false);
    let said = RwSignal::new(String::new());
    let taken =
        Taken { session, entry: entry.clone(), analyzed: Arc::clone(analyzed), nameless, said };
    let report = &analyzed.report;
    let steps: usize = report.strategies.iter().map(|s| s.trace.len()).sum();
    let build_id = if report.file.build_id.is_some() { ", the build id" } else { "" };
    let reproducible = session.has_file(entry.id) && report.python.is_some();
    let way = |button: View, take: fn(&Taken)| {
        let taken = taken.clone();
        button.on("click", move |_: &Event| take(&taken))
    };
    let ways = el("div", "ways")
        .child(way(
            html(r#"<button type="button" class="button primary">Copy as Markdown</button>"#),
            Taken::copy_markdown,
        ))
        .child(way(
            html(r#"<button type="button" class="button">Copy JSON</button>"#),
            Taken::copy_json,
        ))
        .child(way(
            html(r#"<button type="button" class="button">Download JSON</button>"#),
            Taken::save_json,
        ))
        .child(reproducible.then(|| {
            way(
                html(
                    r#"<button type="button" class="button" aria-describedby="reproducer-words">Download reproducer</button>"#,
                ),
                Taken::save_reproducer,
            )
        }))
        .child(way(
            html(r#"<button type="button" class="button">Copy link</button>"#),
            Taken::copy_link,
        ));
    html(r#"<section id="take" tabindex="-1" aria-labelledby="take-title"><h2 id="take-title">Take it with you</h2></section>"#)
        .child(el("p", "lead").text(&format!(
            "Holds the verdict, {steps} instructions with their bytes{build_id}, and the file's name. Not the file."
        )))
        .child(super::check(nameless, "Leave out the file's name and build id"))
        .child(ways)
        .child(reproducible.then(|| {
            html(
                r#"<p class="quiet" id="reproducer-words">The reproducer is a small ELF file with only the functions and tables this report depends on. It gives the same report; attach it to a bug report.</p>"#,
            )
        }))
        .child(html(r#"<p class="said" role="status"></p>"#).live_text(move || said.get()))
}

impl Taken {
    fn json(&self) -> String {
        if self.nameless.get_untracked() {
            share::nameless(&self.analyzed.json)
        } else {
            self.analyzed.json.clone()
        }
    }

    fn file_name(&self) -> &str {
        match self.analyzed.report.file.path.rsplit('/').next() {
            Some(name) if !name.is_empty() && !self.nameless.get_untracked() => name,
            _ => "report",
        }
    }

    fn copy_markdown(&self) {
        let contents =
            Contents { nameless: self.nameless.get_untracked(), traces: Traces::Telling };
        let text = wording::markdown(&self.analyzed.report, contents);
        self.copy(text, "Markdown copied.");
    }

    fn copy_json(&self) {
        self.copy(self.json(), "JSON copied.");
    }

    fn copy(&self, text: String, done: &'static str) {
        let said = self.said;
        spawn_local(async move {
            let copied = browser::copy(&text).await.is_ok();
            said.set(
                if copied { done } else { "The browser did not let this page use the clipboard." }
                    .to_owned(),
            );
        });
    }

    fn save_json(&self) {
        let name = format!("{}.keyhole.json", self.file_name());
        let mut text = self.json();
        text.push('\n');
        let saved = browser::download(&name, "application/json", text.as_bytes());
        self.said.set(match saved {
            Ok(()) => format!("{name} saved."),
            Err(_) => "The browser refused the download.".to_owned(),
        });
    }

    fn save_reproducer(&self) {
        self.said.set("Cutting the reproducer…".to_owned());
        // Before asking: when the answer comes, another file may be shown.
        let name = format!("{}.reproducer.elf", self.file_name());
        let said = self.said;
        self.session.reproducer(&self.entry, move |result| {
            said.set(match result {
                Ok(bytes) => match browser::download(&name, "application/octet-stream", &bytes) {
                    Ok(()) => format!("{name} saved, {} bytes.", bytes.len()),
                    Err(_) => "The browser refused the download.".to_owned(),
                },
                Err(failure) => failure.message,
            });
        });
    }

    fn copy_link(&self) {
        let text = self.json();
        let said = self.said;
        spawn_local(async move { said.set(link(&text).await) });
    }
}

/// Puts a link with the report on the clipboard and says how that went.
async fn link(json: &str) -> String {
    let Ok((fragment, kept)) = share::fragment(json).await else {
        return "This browser cannot compress, so there is no link.".to_owned();
    };
    if fragment.len() > share::LONGEST {
        return format!(
            "The report makes a link of {} characters, too long to survive chat and mail. Pass the JSON file on instead.",
            fragment.len()
        );
    }
    let location = window().location();
    let page = location.href().unwrap_or_default();
    let page = page.split('#').next().unwrap_or_default();
    let copied = browser::copy(&format!("{page}{fragment}")).await.is_ok();
    if location.set_hash(&fragment).is_err() || !copied {
        return "The link could not be copied.".to_owned();
    }
    match kept {
        Kept::Everything => "Link copied. It holds the report itself; nothing was sent.",
        Kept::OneStrategy => {
            "Link copied. It holds the report with the code of one strategy; the rest is too long for a link, and in the JSON. Nothing was sent."
        }
        Kept::NoCode => {
            "Link copied. It holds the report without its instructions, which are too many for a link; they are in the JSON. Nothing was sent."
        }
    }
    .to_owned()
}
