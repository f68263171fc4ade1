//! Running text with its names and numbers set as code.

use crate::dom::{View, el, group};

/// The text, with what stands between backquotes and what looks like a name of
/// the trade or an address in monospace.
pub(super) fn code_words(text: &str) -> View {
    spans(text).into_iter().fold(group(), |parts, span| match span {
        Span::Plain(text) => parts.text(&text),
        Span::Code(text) => parts.child(el("code", "").text(&text)),
    })
}

#[derive(Debug, PartialEq, Eq)]
enum Span {
    Plain(String),
    Code(String),
}

fn spans(text: &str) -> Vec<Span> {
    let pieces: Vec<&str> = text.split('`').collect();
    // A backquote without a partner is one of the text's own.
    if pieces.len().is_multiple_of(2) {
        return words(text);
    }
    let mut spans = Vec::new();
    for (index, piece) in pieces.into_iter().enumerate() {
        match index % 2 {
            0 => spans.extend(words(piece)),
            _ => spans.push(Span::Code(piece.to_owned())),
        }
    }
    spans
}

/// Words of code between plain ones.
fn words(text: &str) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut plain = String::new();
    let mut words = text.split_inclusive(' ').peekable();
    while let Some(word) = words.next() {
        if !is_code(word) {
            plain.push_str(word);
            continue;
        }
        let mut code = word.to_owned();
        // `_PyRuntime + 0x60c` is one thing.
        while words.peek().is_some_and(|next| next.trim() == "+") {
            code.extend(words.next());
            code.extend(words.next());
        }
        let end = code.trim_end().trim_end_matches(MARKS).len();
        let start = end - code[..end].trim_start_matches(MARKS).len();
        plain.push_str(&code[..start]);
        if !plain.is_empty() {
            spans.push(Span::Plain(std::mem::take(&mut plain)));
        }
        spans.push(Span::Code(code[start..end].to_owned()));
        plain.push_str(&code[end..]);
    }
    if !plain.is_empty() {
        spans.push(Span::Plain(plain));
    }
    spans
}

/// What may stand before and behind a word of code.
const MARKS: [char; 6] = ['.', ',', ';', ':', '(', ')'];

fn is_code(word: &str) -> bool {
    let bare = word.trim().trim_matches(MARKS);
    ["0x", "_Py", "PyGIL", "PyThread", "libpython", "&"].iter().any(|start| bare.starts_with(start))
        || (bare.contains('_') && bare.len() > 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let one = |span| match span {
            Span::Plain(text) => text,
            Span::Code(text) => format!("<{text}>"),
        };
        spans(text).into_iter().map(one).collect()
    }

    #[test]
    fn names_and_addresses_are_code() {
        assert_eq!(
            shown("The key (0x64) is in _PyRuntime."),
            "The key (<0x64>) is in <_PyRuntime>."
        );
        assert_eq!(shown("at _PyRuntime + 0x60c."), "at <_PyRuntime + 0x60c>.");
        assert_eq!(shown("a + b"), "a + b");
        assert_eq!(shown(""), "");
    }

    #[test]
    fn what_is_quoted_is_code() {
        assert_eq!(shown("run `keyhole inspect --pid PID`."), "run <keyhole inspect --pid PID>.");
        assert_eq!(shown("a ` alone, 0x1"), "a ` alone, <0x1>");
    }
}
