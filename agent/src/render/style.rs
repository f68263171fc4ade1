//! What the colours mean.
//!
//! Colour only ever repeats what a word says. Whether it is shown at all is
//! `anstream`'s decision: on a terminal, unless `NO_COLOR` or `CLICOLOR` say
//! otherwise.

use anstyle::{AnsiColor, Style};

use wording::Tone;

/// A section's title.
pub(crate) const HEADING: Style = Style::new().bold();
/// The answer, and what agrees with it.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
/// What is wrong or missing.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
/// Neither.
pub(crate) const MIXED: Style = AnsiColor::Yellow.on_default().bold();
/// A code, name or address.
pub(crate) const CODE: Style = AnsiColor::Cyan.on_default();
/// Of less importance.
pub(crate) const QUIET: Style = Style::new().dimmed();
/// No style.
pub(crate) const PLAIN: Style = Style::new();

/// The text in the style.
pub(crate) fn paint(style: Style, text: &str) -> String {
    if style.is_plain() { text.to_owned() } else { format!("{style}{text}{style:#}") }
}

/// The style of an answer that is so good.
pub(crate) const fn of(tone: Tone) -> Style {
    match tone {
        Tone::Good => GOOD,
        Tone::Mixed => MIXED,
        Tone::Bad => BAD,
        Tone::Neutral => PLAIN,
    }
}
