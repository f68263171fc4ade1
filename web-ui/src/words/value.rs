//! Abstract values: what kind one is, for its colour and its words.

/// What an abstract value is based on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Base {
    /// Nothing is known.
    Unknown,
    /// A plain number.
    Number,
    /// The address of a symbol or of image memory.
    Symbol,
    /// What memory at a known address holds.
    Memory,
    /// A register as the function found it.
    Entry,
    /// The stack pointer at entry.
    Stack,
    /// The thread pointer.
    Thread,
}

impl Base {
    /// The CSS class.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Base::Unknown => "unknown",
            Base::Number => "number",
            Base::Symbol => "symbol",
            Base::Memory => "memory",
            Base::Entry => "entry",
            Base::Stack => "stack",
            Base::Thread => "thread",
        }
    }

    /// In words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Base::Unknown => "not known: the analysis does not follow it",
            Base::Number => "a number",
            Base::Symbol => "an address in this image",
            Base::Memory => "what memory at a known address holds",
            Base::Entry => "a register as the function found it",
            Base::Stack => "an address in this function's stack frame",
            Base::Thread => "an address relative to the thread pointer",
        }
    }
}

/// Tells the base from the way the report writes values.
pub(crate) fn base(value: &str) -> Base {
    let value = value.trim();
    match value.as_bytes() {
        [] | [b'?', ..] => Base::Unknown,
        [b'[' | b'*', ..] => Base::Memory,
        [b'&', ..] => Base::Symbol,
        [b'0'..=b'9' | b'-', ..] => Base::Number,
        _ if value.starts_with("sp") => Base::Stack,
        _ if value.starts_with("tp") || value.starts_with("fs") => Base::Thread,
        _ if value.starts_with("entry") || value.starts_with("arg") => Base::Entry,
        _ => Base::Symbol,
    }
}
