//! Names out of hostile files, made harmless for who shows them.

use alloc::borrow::Cow;
use alloc::string::String;

/// The text with every character that could move a terminal's cursor, change
/// colours or reorder the line written as an escape.
#[must_use]
pub fn plain(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_dangerous) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_dangerous(letter) {
            out.extend(letter.escape_unicode());
        } else {
            out.push(letter);
        }
    }
    Cow::Owned(out)
}

/// Control characters, and those that change the direction of text.
fn is_dangerous(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn escapes_are_shown_and_not_obeyed() {
        assert_eq!(plain("libpython3.12.so.1.0"), "libpython3.12.so.1.0");
        assert_eq!(plain("\u{1b}[2Jgone"), "\\u{1b}[2Jgone");
        assert_eq!(plain("a\nb\u{202e}c"), "a\\u{a}b\\u{202e}c");
    }
}
