//! Names out of hostile files, made harmless for a terminal.

use std::borrow::Cow;

/// The text with every character that could move the cursor, change colours or
/// reorder the line written as an escape.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_dangerous) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(
        text.chars()
            .flat_map(|c| {
                let escaped: Box<dyn Iterator<Item = char>> = if is_dangerous(c) {
                    Box::new(c.escape_unicode())
                } else {
                    Box::new(std::iter::once(c))
                };
                escaped
            })
            .collect(),
    )
}

/// Control characters, and those that change the direction of text.
fn is_dangerous(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
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
