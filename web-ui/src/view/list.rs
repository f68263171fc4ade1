//! The files of this visit.

use leptos::prelude::*;
use wording::Tone;

use crate::dom::{View, el, group, html};
use crate::session::{EntryId, MOST_RELEVANT, Session, State, relevance};

/// Entries shown without unfolding.
const SHOWN: usize = 12;

/// The list; nothing for a single file.
pub(super) fn file_list(session: Session) -> View {
    let several = Memo::new(move |_| session.entries.with(|entries| entries.len() > 1));
    let sorted = move || {
        let ranked: Vec<(u8, EntryId)> = session.entries.with(|entries| {
            entries.iter().map(|entry| (entry.state.with(relevance), entry.id)).collect()
        });
        let mut sorted: Vec<EntryId> = Vec::new();
        for rank in (0..=MOST_RELEVANT).rev() {
            sorted.extend(ranked.iter().filter(|(r, _)| *r == rank).map(|(_, id)| id));
        }
        sorted
    };
    let list = move |shares: Box<dyn Fn() -> Vec<EntryId>>| {
        el("ul", "").list(shares, Box::new(move |id| button(session, id)))
    };
    let head = move || sorted().into_iter().take(SHOWN).collect();
    let rest = move || sorted().into_iter().skip(SHOWN).collect::<Vec<EntryId>>();
    let more = Memo::new(move |_| session.entries.with(|entries| entries.len() > SHOWN));
    let folded = move || {
        el("details", "")
            .child(el("summary", "").live_text(move || format!("{} more", rest().len())))
            .child(list(Box::new(rest)))
    };
    let files = move || {
        html(r#"<nav class="files" aria-label="Files"></nav>"#)
            .child(list(Box::new(head)))
            .slot(move || if more.get() { folded() } else { group() })
    };
    group().slot(move || if several.get() { files() } else { group() }).slot(move || match session
        .skipped
        .get()
    {
        0 => group(),
        skipped => el("p", "note")
            .text(&skipped.to_string())
            .text(" files were passed over: they are no ELF files."),
    })
}

fn button(session: Session, id: EntryId) -> View {
    let Some(entry) = session.find_untracked(id) else { return group() };
    let current = move || session.selected.get() == Some(id);
    let compared = move || session.compared.get() == Some(id);
    let state = entry.state.clone();
    let look = move || match state.get() {
        State::Done(done) => {
            let verdict = wording::verdict(&done.report);
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
    let state = entry.state.clone();
    let comparable = ArcMemo::new(move |_| {
        !current()
            && matches!(state.get(), State::Done(_))
            && session.analyzed(session.selected.get()).is_some()
    });
    let compare = move || {
        html(r#"<button type="button" class="plain compare">Compare</button>"#)
            .says("aria-pressed", compared)
            .on("click", move |_| {
                session.compared.update(|c| *c = if *c == Some(id) { None } else { Some(id) });
            })
    };
    el("li", "")
        .class_while("compared", compared)
        .child(
            html(r#"<button type="button" class="file"></button>"#)
                .says("aria-current", current)
                .on("click", move |_| session.choose(id))
                .slot(move || {
                    let (tone, glyph, version, word) = look();
                    group()
                        .child(super::dot(tone, glyph))
                        .child(el("span", "what").text(&entry.name))
                        .child(el("span", "quiet").text(&version).text(" ").text(word))
                }),
        )
        .slot(move || if comparable.get() { compare() } else { group() })
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
