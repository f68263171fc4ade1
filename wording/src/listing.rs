//! Annotated disassembly, row by row: each instruction with what it changed.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use analyzer_core::report::{Step, StepRole};

use crate::plain;

/// Columns that instruction bytes get at most; longer ones are cut.
const BYTES_LIMIT: usize = 22;
/// Columns that disassembly gets at most; longer text shifts its row.
const TEXT_LIMIT: usize = 48;

/// A trace as rows of the same columns. All text is safe to print.
#[derive(Clone, Debug)]
pub struct Listing<'a> {
    /// The rows, in the trace's order.
    pub rows: Vec<Row<'a>>,
    /// Characters of the widest address.
    pub address_width: usize,
    /// Characters of the widest bytes.
    pub bytes_width: usize,
    /// Characters of the widest text, as far as it is a column.
    pub text_width: usize,
}

/// One instruction.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// The function, where its first instruction follows.
    pub function: Option<Cow<'a, str>>,
    /// Whether a value passes here on its way into the sink.
    pub on_path: bool,
    /// Virtual address.
    pub address: String,
    /// The instruction's bytes, perhaps cut.
    pub bytes: String,
    /// Disassembly, indented by the depth of the calls that were followed.
    pub text: String,
    /// What the step is and what it changed.
    pub notes: Vec<Note>,
}

/// Something about an instruction.
#[derive(Clone, Debug)]
pub enum Note {
    /// What the step is.
    Role(StepRole, &'static str),
    /// What it changed, and whether the value is known.
    Effect(String, bool),
}

impl Note {
    /// In words.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Role(_, text) => text,
            Self::Effect(text, _) => text,
        }
    }
}

/// Lays a trace out.
#[must_use]
pub fn listing(steps: &[Step]) -> Listing<'_> {
    let mut function = None;
    let rows: Vec<Row<'_>> = steps
        .iter()
        .map(|step| {
            let entered = step.function.as_deref().filter(|name| function != Some(*name));
            function = entered.or(function);
            row(step, entered)
        })
        .collect();
    let widest = |width: fn(&Row<'_>) -> usize| rows.iter().map(width).max().unwrap_or_default();
    Listing {
        address_width: widest(|row| row.address.len()),
        bytes_width: widest(|row| row.bytes.chars().count()),
        text_width: widest(|row| row.text.chars().count()).min(TEXT_LIMIT),
        rows,
    }
}

fn row<'a>(step: &Step, entered: Option<&'a str>) -> Row<'a> {
    let indent = usize::try_from(step.depth).unwrap_or(usize::MAX).min(8) * 2;
    let bytes = plain(&step.bytes);
    Row {
        function: entered.map(plain),
        on_path: step.on_path,
        address: step.address.to_string(),
        bytes: match bytes.get(..BYTES_LIMIT - 1) {
            Some(start) if bytes.len() > BYTES_LIMIT => format!("{start}…"),
            _ => bytes.into_owned(),
        },
        text: " ".repeat(indent) + &plain(&step.text),
        notes: notes(step),
    }
}

fn notes(step: &Step) -> Vec<Note> {
    let role = step.role.map(|role| {
        let words = match role {
            StepRole::Branch => "branch, both ways",
            StepRole::FollowedCall => "call, followed",
            StepRole::SkippedCall => "call, stepped over",
            StepRole::Sink => "◀ the answer is used here",
            StepRole::Return => "return",
        };
        Note::Role(role, words)
    });
    let effects = step.effects.iter().map(|effect| {
        let text = format!("{} = {}", plain(&effect.place), plain(&effect.value));
        Note::Effect(text, effect.value != "?")
    });
    role.into_iter().chain(effects).collect()
}

impl Listing<'_> {
    /// The rows as lines of text, each ending with a line feed; `▸` marks what
    /// is on the path.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for row in &self.rows {
            if let Some(function) = &row.function {
                text += &format!("  {function}:\n");
            }
            let notes: Vec<&str> = row.notes.iter().map(Note::text).collect();
            let line = format!(
                "  {} {:>address$}  {:<bytes$}  {:<width$}  {}",
                if row.on_path { '▸' } else { ' ' },
                row.address,
                row.bytes,
                row.text,
                notes.join("; "),
                address = self.address_width,
                bytes = self.bytes_width,
                width = self.text_width,
            );
            text += line.trim_end();
            text += "\n";
        }
        text
    }
}
