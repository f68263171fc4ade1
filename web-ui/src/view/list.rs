//! The files of this visit.

use leptos::prelude::*;

use crate::session::{Entry, Session, State, relevance};
use crate::words;
use crate::words::verdict::Tone;

/// Entries shown without unfolding.
const SHOWN: usize = 12;

/// The list; nothing for a single file.
#[component]
pub(super) fn FileList() -> impl IntoView {
    let session = expect_context::<Session>();
    let several = move || session.entries.with(|entries| entries.len() > 1);
    let skipped = move || session.skipped.get();
    let shares = move |first: bool| {
        let mut entries = session.entries.get();
        // The shared list keeps its order; only how it is shown is sorted.
        entries.sort_by_key(|e| std::cmp::Reverse(relevance(&e.state.get())));
        let mut entries = entries.into_iter();
        let head: Vec<Entry> = entries.by_ref().take(SHOWN).collect();
        if first { head } else { entries.collect() }
    };
    view! {
        <Show when=several>
            <nav class="files" aria-label="Files">
                <ul>
                    <For each=move || shares(true) key=|entry| entry.id let:entry>
                        <FileButton entry/>
                    </For>
                </ul>
                <Show when=move || !shares(false).is_empty()>
                    <details>
                        <summary>{move || shares(false).len()}" more"</summary>
                        <ul>
                            <For each=move || shares(false) key=|entry| entry.id let:entry>
                                <FileButton entry/>
                            </For>
                        </ul>
                    </details>
                </Show>
            </nav>
        </Show>
        <Show when=move || { skipped() > 0 }>
            <p class="note">{skipped}" files were passed over: they are no ELF files."</p>
        </Show>
    }
}

#[component]
fn FileButton(entry: Entry) -> impl IntoView {
    let session = expect_context::<Session>();
    let id = entry.id;
    let state = entry.state.clone();
    let current = move || session.selected.get() == Some(id);
    let compared = move || session.compared.get() == Some(id);
    let look = move || match state.get() {
        State::Done(done) => {
            let verdict = words::verdict::verdict(&done.report);
            let version = done.report.python.as_ref().and_then(|p| p.version.clone());
            (
                tone_class(verdict.tone),
                glyph(verdict.tone),
                version.unwrap_or_default(),
                verdict.word,
            )
        }
        State::Failed(_) => ("bad", "✕", String::new(), "failed"),
        State::Queued => ("neutral", "…", String::new(), "waiting"),
        _ => ("neutral", "…", String::new(), "reading"),
    };
    let comparable = {
        let state = entry.state.clone();
        move || {
            !current()
                && matches!(state.get(), State::Done(_))
                && session.analyzed(session.selected.get()).is_some()
        }
    };
    view! {
        <li class:compared=compared>
            <button
                type="button"
                class="file"
                aria-current=move || if current() { "true" } else { "false" }
                on:click=move |_| session.choose(id)
            >
                {move || {
                    let (tone, glyph, version, word) = look();
                    view! {
                        <span class=format!("dot {tone}") aria-hidden="true">{glyph}</span>
                        <span class="what">{entry.name.clone()}</span>
                        <span class="quiet">{version}" "{word}</span>
                    }
                }}
            </button>
            <Show when=comparable>
                <button
                    type="button"
                    class="plain compare"
                    aria-pressed=move || if compared() { "true" } else { "false" }
                    on:click=move |_| {
                        session.compared.update(|c| *c = if *c == Some(id) { None } else { Some(id) });
                    }
                >
                    "Compare"
                </button>
            </Show>
        </li>
    }
}

/// CSS class of a tone.
pub(super) fn tone_class(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "good",
        Tone::Mixed => "mixed",
        Tone::Bad => "bad",
        Tone::Neutral => "neutral",
    }
}

/// Glyph of a tone, for those who do not see colours.
pub(super) fn glyph(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "✓",
        Tone::Mixed => "!",
        Tone::Bad => "✕",
        Tone::Neutral => "·",
    }
}
