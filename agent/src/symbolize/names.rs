//! What is known about the code objects and types of all processes.

use std::{collections::HashMap, rc::Rc};

use agent_ebpf::event::{Class, Code, ENTRY_CLASS, ENTRY_FRAME, ENTRY_UNREADABLE, Entry};
use analyzer_core::layout::walk::LineTable;

use super::lines;
use crate::sample::event::decode;

/// A code object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Function {
    /// Qualified name (3.11 and later), or bare name.
    pub(crate) name: Rc<str>,
    /// File name.
    pub(crate) file: Rc<str>,
    /// `co_firstlineno`.
    pub(crate) first_line: u32,
    /// The line table.
    lines: Box<[u8]>,
    /// The line table is only a part.
    lines_cut: bool,
}

impl Function {
    /// From what was read; the bytes of the line table may be only the first of `lines_size`.
    pub(crate) fn new(
        name: Rc<str>,
        file: Rc<str>,
        first_line: u32,
        lines: &[u8],
        lines_size: u64,
    ) -> Self {
        let lines_cut = (lines.len() as u64) < lines_size;
        Self { name, file, first_line, lines: lines.into(), lines_cut }
    }

    /// The line of an instruction.
    pub(crate) fn line(&self, format: LineTable, instruction: i32) -> Option<u32> {
        let line = lines::line(format, &self.lines, self.first_line, instruction);
        // The older formats answer with their last line beyond their end.
        let pairs = matches!(format, LineTable::UnsignedPairs | LineTable::SignedPairs);
        if self.lines_cut
            && pairs
            && line == lines::line(format, &self.lines, self.first_line, i32::MAX)
        {
            return None;
        }
        line
    }
}

/// An object of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    /// The configuration of the process.
    pub(crate) incarnation: u64,
    /// Address.
    pub(crate) address: u64,
    /// Fingerprint; zero when the program could not read the object.
    pub(crate) print: u32,
    /// Whether it is a type rather than a code object.
    pub(crate) is_class: bool,
}

impl Key {
    /// A code object.
    pub(crate) fn code(incarnation: u64, address: u64, print: u32) -> Self {
        Self { incarnation, address, print, is_class: false }
    }

    /// A type.
    pub(crate) fn class(incarnation: u64, address: u64, print: u32) -> Self {
        Self { incarnation, address, print, is_class: true }
    }

    /// The object an entry names, if it names one.
    pub(crate) fn of(incarnation: u64, entry: Entry) -> Option<Self> {
        matches!(entry.kind(), ENTRY_FRAME | ENTRY_CLASS | ENTRY_UNREADABLE).then(|| Self {
            incarnation,
            address: entry.address(),
            print: entry.print,
            is_class: entry.kind() == ENTRY_CLASS,
        })
    }
}

/// Names by object, as they were when the object was seen.
#[derive(Debug, Default)]
pub(crate) struct Names {
    functions: HashMap<Key, Function>,
    classes: HashMap<Key, Rc<str>>,
    texts: HashMap<Box<str>, Rc<str>>,
}

impl Names {
    /// Learns a code object that the program copied. False if a part is
    /// missing, so that the process's memory should be asked.
    pub(crate) fn learn_code(&mut self, code: &Code, [name, file, lines]: [&[u8]; 3]) -> bool {
        let (Some(name), Some(file)) = (decode(code.name, name), decode(code.file, file)) else {
            return false;
        };
        let complete = code.name.copied == code.name.size
            && code.file.copied == code.file.size
            && code.lines.copied == code.lines.size
            && code.lines.width == agent_ebpf::event::TEXT_BYTES;
        let key = Key::code(code.incarnation, code.address, code.print);
        let (name, file) = (self.text(&name), self.text(&file));
        let size = if complete { lines.len() as u64 } else { u64::MAX };
        let function = Function::new(name, file, code.first_line, lines, size);
        self.functions.entry(key).or_insert(function);
        complete
    }

    /// Learns a type that the program copied; false if its name is missing.
    pub(crate) fn learn_class(&mut self, class: &Class, name: &[u8]) -> bool {
        let Some(name) = decode(class.name, name) else { return false };
        let key = Key::class(class.incarnation, class.address, class.print);
        // The name of a static type may have its module before it.
        let name = self.text(name.rsplit('.').next().unwrap_or(&name));
        self.classes.entry(key).or_insert(name);
        true
    }

    /// Learns a code object that was read from the process's memory, in place
    /// of what may be known.
    pub(crate) fn correct(&mut self, key: Key, function: Function) {
        self.functions.insert(key, function);
    }

    /// Learns a type that was read from the process's memory.
    pub(crate) fn correct_class(&mut self, key: Key, name: &str) {
        let name = self.text(name);
        self.classes.insert(key, name);
    }

    /// Whether an object is known.
    pub(crate) fn knows(&self, key: Key) -> bool {
        self.functions.contains_key(&key) || self.classes.contains_key(&key)
    }

    /// A code object.
    pub(crate) fn function(&self, key: Key) -> Option<&Function> {
        self.functions.get(&key)
    }

    /// A type's name.
    pub(crate) fn class(&self, key: Key) -> Option<&Rc<str>> {
        self.classes.get(&key)
    }

    /// One shared copy of a text.
    pub(crate) fn text(&mut self, text: &str) -> Rc<str> {
        if let Some(known) = self.texts.get(text) {
            return Rc::clone(known);
        }
        let shared: Rc<str> = text.into();
        self.texts.insert(text.into(), Rc::clone(&shared));
        shared
    }
}
