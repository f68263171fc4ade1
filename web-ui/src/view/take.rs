//! Take it with you: Markdown, JSON, reproducer, link.

use std::sync::Arc;

use leptos::prelude::*;
use wasm_bindgen_futures::spawn_local;

use crate::session::{Analyzed, Entry, Session};
use crate::share::{self, Kept};
use crate::{browser, markdown};

/// The ways to keep a report or pass it on.
#[component]
pub(super) fn Take(analyzed: Arc<Analyzed>, entry: Entry) -> impl IntoView {
    let session = expect_context::<Session>();
    let nameless = RwSignal::new(false);
    let said = RwSignal::new(String::new());
    let say = move |text: String| said.set(text);
    let json = {
        let analyzed = Arc::clone(&analyzed);
        move || {
            if nameless.get_untracked() {
                share::nameless(&analyzed.json)
            } else {
                analyzed.json.clone()
            }
        }
    };
    let base = analyzed.report.file.path.rsplit('/').next().unwrap_or_default().to_owned();
    let file_name = move || {
        if nameless.get_untracked() || base.is_empty() { "report".to_owned() } else { base.clone() }
    };

    let copy_markdown = {
        let analyzed = Arc::clone(&analyzed);
        move |_| {
            let mut report = analyzed.report.clone();
            if nameless.get_untracked() {
                report.file.path = String::new();
                report.file.build_id = None;
            }
            let text = markdown::markdown(&report);
            spawn_local(async move {
                say(outcome(browser::copy(&text).await.is_ok(), "Markdown copied."));
            });
        }
    };
    let copy_json = {
        let json = json.clone();
        move |_| {
            let text = json();
            spawn_local(async move {
                say(outcome(browser::copy(&text).await.is_ok(), "JSON copied."));
            });
        }
    };
    let save_json = {
        let (json, file_name) = (json.clone(), file_name.clone());
        move |_| {
            let name = format!("{}.keyhole.json", file_name());
            let mut text = json();
            text.push('\n');
            let saved = browser::download(&name, "application/json", text.as_bytes()).is_ok();
            say(if saved {
                format!("{name} saved.")
            } else {
                "The browser refused the download.".to_owned()
            });
        }
    };
    let has_file = session.has_file(entry.id);
    let python = analyzed.report.python.is_some();
    let save_reproducer = move |_| {
        let file_name = file_name.clone();
        say("Cutting the reproducer…".to_owned());
        session.reproducer(&entry, move |result| {
            say(match result {
                Ok(bytes) => {
                    let name = format!("{}.reproducer.elf", file_name());
                    match browser::download(&name, "application/octet-stream", &bytes) {
                        Ok(()) => format!("{name} saved, {} bytes.", bytes.len()),
                        Err(_) => "The browser refused the download.".to_owned(),
                    }
                }
                Err(failure) => failure.message,
            });
        });
    };
    let copy_link = move |_| {
        let text = json();
        spawn_local(async move {
            let Ok((fragment, kept)) = share::fragment(&text).await else {
                say("This browser cannot compress, so there is no link.".to_owned());
                return;
            };
            if fragment.len() > share::LONGEST {
                say(format!(
                    "The report makes a link of {} characters, too long to survive chat and mail. Pass the JSON file on instead.",
                    fragment.len()
                ));
                return;
            }
            let location = window().location();
            let page = location.href().unwrap_or_default();
            let page = page.split('#').next().unwrap_or_default();
            let link = format!("{page}{fragment}");
            let copied = browser::copy(&link).await.is_ok();
            if location.set_hash(&fragment).is_err() || !copied {
                say("The link could not be copied.".to_owned());
            } else {
                say(match kept {
                    Kept::Everything => {
                        "Link copied. It holds the report itself; nothing was sent.".to_owned()
                    }
                    Kept::OneStrategy => "Link copied. It holds the report with the code of one strategy; the rest is too long for a link, and in the JSON. Nothing was sent.".to_owned(),
                    Kept::NoCode => "Link copied. It holds the report without its instructions, which are too many for a link; they are in the JSON. Nothing was sent.".to_owned(),
                });
            }
        });
    };
    let report = &analyzed.report;
    let steps: usize = report.strategies.iter().map(|s| s.trace.len()).sum();
    let build_id = report.file.build_id.is_some();
    view! {
        <section id="take" tabindex="-1" aria-labelledby="take-title">
            <h2 id="take-title">"Take it with you"</h2>
            <p class="lead">
                "Holds the verdict, "{steps}" instructions with their bytes"
                {build_id.then_some(", the build id")}
                ", and the file's name. Not the file."
            </p>
            <label class="check">
                <input type="checkbox" prop:checked=move || nameless.get() on:change=move |_| nameless.update(|n| *n = !*n)/>
                "Leave out the file's name and build id"
            </label>
            <div class="ways">
                <button type="button" class="button primary" on:click=copy_markdown>"Copy as Markdown"</button>
                <button type="button" class="button" on:click=copy_json>"Copy JSON"</button>
                <button type="button" class="button" on:click=save_json>"Download JSON"</button>
                {(has_file && python).then(|| view! {
                    <button type="button" class="button" on:click=save_reproducer aria-describedby="reproducer-words">"Download reproducer"</button>
                })}
                <button type="button" class="button" on:click=copy_link>"Copy link"</button>
            </div>
            {(has_file && python).then(|| view! {
                <p class="quiet" id="reproducer-words">
                    "The reproducer is a small ELF file with only the functions and tables this report depends on. It gives the same report; attach it to a bug report."
                </p>
            })}
            <p class="said" role="status">{move || said.get()}</p>
        </section>
    }
}

fn outcome(done: bool, words: &str) -> String {
    if done {
        words.to_owned()
    } else {
        "The browser did not let this page use the clipboard.".to_owned()
    }
}
