//! Aligned columns, the last of which is wrapped.

use std::fmt::Write;

use anstyle::Style;

use super::style::paint;

/// One cell.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    /// A cell with this text, which must be safe to print.
    pub(crate) fn new(style: Style, text: impl Into<String>) -> Self {
        Self { text: text.into(), style }
    }

    fn width(&self) -> usize {
        self.text.chars().count()
    }
}

/// Appends the rows, each on as many lines as its last cell needs in `width`
/// columns, `indent` columns from the left.
///
/// A cell wider than `limit` columns does not widen its column; what follows it
/// is shifted to the right on that row.
pub(crate) fn write(
    out: &mut String,
    rows: &[Vec<Cell>],
    indent: usize,
    limit: usize,
    width: usize,
) {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            cells.map(Cell::width).filter(|&width| width <= limit).max().unwrap_or_default()
        })
        .collect();
    for row in rows {
        write_row(out, row, &widths, indent, width);
    }
}

fn write_row(out: &mut String, row: &[Cell], widths: &[usize], indent: usize, width: usize) {
    let Some((last, front)) = row.split_last() else { return };
    let mut line = " ".repeat(indent);
    let mut at = indent;
    for (cell, &column) in front.iter().zip(widths) {
        let gap = column.saturating_sub(cell.width()) + 2;
        line += &paint(cell.style, &cell.text);
        line += &" ".repeat(gap);
        at += cell.width() + gap;
    }
    if last.text.is_empty() {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{}", line.trim_end());
        return;
    }
    // Too little room beside the other columns: go on below them.
    let start = if width.saturating_sub(at) >= MIN_WRAPPED { at } else { indent + 4 };
    let mut wrapped = wrap(&last.text, width.saturating_sub(start)).into_iter();
    if start == at {
        line += &wrapped.next().map(|text| paint(last.style, &text)).unwrap_or_default();
    }
    let _ = writeln!(out, "{}", line.trim_end());
    for text in wrapped {
        let _ = writeln!(out, "{}{}", " ".repeat(start), paint(last.style, &text));
    }
}

/// The narrowest last column that is still worth reading.
const MIN_WRAPPED: usize = 28;

/// The text in lines of at most `width` columns, broken at spaces only.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let options = textwrap::Options::new(width.max(MIN_WRAPPED))
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .break_words(false);
    textwrap::wrap(text, options).into_iter().map(std::borrow::Cow::into_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::style::PLAIN;

    #[test]
    fn columns_align_and_the_last_one_wraps() {
        let row = |cells: [&str; 3]| cells.map(|text| Cell::new(PLAIN, text)).to_vec();
        let mut out = String::new();
        let rows = [
            row(["one", "a", "a text that is too long for the rest of the line"]),
            row(["three", "bb", ""]),
            row(["a very long name that is over the limit", "c", "short"]),
        ];
        write(&mut out, &rows, 2, 10, 50);
        let expected = [
            "  one    a   a text that is too long for the rest",
            "             of the line",
            "  three  bb",
            "  a very long name that is over the limit  c",
            "      short",
        ];
        assert_eq!(out.lines().collect::<Vec<_>>(), expected);
    }
}
