//! The table of instruction forms, read from `opcodes.txt` at compile time:
//! what is wrong with the text is an error of the compiler's, never a panic.

use super::kind::{self, Kind};
use super::operand::{self, Spec};

/// What an encoding is matched with: the opcode map.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Map {
    /// One-byte opcodes.
    One,
    /// After `0F`.
    Two,
    /// After `0F 38`.
    Three,
    /// After `0F 3A`.
    Four,
    /// VEX only, as after `0F`.
    VexTwo,
    /// VEX only, as after `0F 38`.
    VexThree,
    /// VEX only, as after `0F 3A`.
    VexFour,
    /// EVEX, as after `0F`.
    EvexTwo,
}

const MAPS: usize = 8;

/// How VEX encodes a form of the other maps.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Vex {
    No,
    /// With the same operands.
    Same,
    /// With one more source after the first operand.
    OneMore,
}

/// What an encoding has to be for a form to be meant.
#[derive(Clone, Copy)]
pub(super) struct When {
    /// The mandatory prefix: 0 none, 1 `66`, 2 `F3`, 3 `F2`; [`ANY`].
    pub(super) prefix: u8,
    /// `ModRM.reg`, or [`ANY`].
    pub(super) reg: u8,
    /// `ModRM.rm`, or [`ANY`].
    pub(super) rm: u8,
    /// 1 with a register in `ModRM.rm`, 0 with memory; [`ANY`].
    pub(super) in_register: u8,
    /// Operand size in bits, or [`ANY`].
    pub(super) size: u8,
}

/// In a field of [`When`]: not looked at.
pub(super) const ANY: u8 = 0xff;

/// Immediates, and addresses that follow the opcode.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Tail {
    /// So many bytes.
    Bytes(u8),
    /// 2 bytes with an operand-size prefix, else 4.
    Word,
    /// 2, 4 or 8 bytes: the operand size.
    Wide,
    /// The address of memory.
    Address,
}

impl Tail {
    /// The tail of a form that has both; of forms with two immediates there
    /// is `enter`.
    const fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Bytes(first), Self::Bytes(second)) => Self::Bytes(first + second),
            (Self::Bytes(0), tail) | (tail, Self::Bytes(0)) => tail,
            _ => panic!("a line of opcodes.txt has too many immediates"),
        }
    }
}

/// Operands of an instruction, at most; one more where VEX adds a source.
pub(super) const MOST_OPERANDS: usize = 4;

/// One way to encode one instruction.
#[derive(Clone, Copy)]
pub(super) struct Form {
    pub(super) when: When,
    pub(super) vex: Vex,
    pub(super) kind: Kind,
    /// Registers and memory written without being an operand: [`kind::RAX`]
    /// and the like.
    pub(super) clobbers: u8,
    pub(super) has_modrm: bool,
    /// What stands behind `ModRM` and its displacement.
    pub(super) tail: Tail,
    /// Where the name starts in [`NAMES`].
    name: u16,
    /// Numbers of [`operand::SPECS`].
    operands: [u8; MOST_OPERANDS],
}

impl Form {
    /// The instruction's name, as VEX does not change it.
    pub(super) fn name(&self) -> &'static str {
        let rest = NAMES.get(usize::from(self.name)..).unwrap_or_default();
        let end = rest.iter().position(|byte| *byte == b' ').unwrap_or(rest.len());
        rest.get(..end).and_then(|name| core::str::from_utf8(name).ok()).unwrap_or_default()
    }

    /// Operand number `number`, the source that VEX adds not counted.
    pub(super) fn operand(&self, number: usize) -> Option<Spec> {
        operand::spec(*self.operands.get(number)?)
    }

    /// The operands, without the source that VEX adds.
    pub(super) fn operands(&self) -> impl Iterator<Item = Spec> {
        self.operands.into_iter().filter_map(operand::spec)
    }
}

/// The forms to be tried for `opcode` of `map`, in this order.
pub(super) fn forms(map: Map, opcode: u8) -> &'static [Form] {
    let slot = map as usize * 256 + usize::from(opcode);
    let (Some(first), Some(end)) = (FIRST.get(slot), FIRST.get(slot + 1)) else { return &[] };
    TABLE.get(usize::from(*first)..usize::from(*end)).unwrap_or_default()
}

const TEXT: &[u8] = include_bytes!("opcodes.txt");

/// Columns of a line.
const COLUMNS: usize = 7;

const FORMS: usize = count_forms();
const BUILT: Built = build();

static TABLE: [Form; FORMS] = BUILT.forms;

/// Number of the first form of each opcode of each map.
static FIRST: [u16; MAPS * 256 + 1] = BUILT.first;

/// Every name once, with a space behind it.
static NAMES: [u8; BUILT.names.len] = {
    // By reference: a constant is copied whole wherever it is named.
    let built = &BUILT.names;
    let mut names = [0; BUILT.names.len];
    let mut at = 0;
    while at < names.len() {
        names[at] = built.text[at];
        at += 1;
    }
    names
};

struct Built {
    forms: [Form; FORMS],
    first: [u16; MAPS * 256 + 1],
    names: Names,
}

/// One word of [`TEXT`].
#[derive(Clone, Copy)]
struct Word {
    start: usize,
    end: usize,
}

impl Word {
    const EMPTY: Self = Self { start: 0, end: 0 };

    const fn len(self) -> usize {
        self.end - self.start
    }

    const fn byte(self, at: usize) -> u8 {
        TEXT[self.start + at]
    }

    /// A number that no two different words of the tables share; which the
    /// compiler finds out much faster than whether two words are the same.
    const fn hash(self) -> u32 {
        hash(TEXT, self.start, self.end)
    }
}

/// FNV-1a, 32 bits.
const fn hash(text: &[u8], start: usize, end: usize) -> u32 {
    let (mut hash, mut at) = (0x811c_9dc5_u32, start);
    while at < end {
        hash = (hash ^ text[at] as u32).wrapping_mul(0x0100_0193);
        at += 1;
    }
    hash
}

const fn is_form(line: usize) -> bool {
    TEXT[line] != b'#' && TEXT[line] != b'\n'
}

const fn next_line(mut at: usize) -> usize {
    while TEXT[at] != b'\n' {
        at += 1;
    }
    at + 1
}

const fn count_forms() -> usize {
    let (mut at, mut count) = (0, 0);
    while at < TEXT.len() {
        if is_form(at) {
            count += 1;
        }
        at = next_line(at);
    }
    count
}

const fn words(line: usize) -> [Word; COLUMNS] {
    let mut words = [Word::EMPTY; COLUMNS];
    let (mut at, mut column) = (line, 0);
    while TEXT[at] != b'\n' {
        let start = at;
        while TEXT[at] != b'\n' && TEXT[at] != b' ' {
            at += 1;
        }
        words[column] = Word { start, end: at };
        column += 1;
        if TEXT[at] == b' ' {
            at += 1;
        }
    }
    assert!(column >= COLUMNS - 1, "a line of opcodes.txt has too few columns");
    words
}

const fn hex_digit(byte: u8) -> usize {
    match byte {
        b'0'..=b'9' => (byte - b'0') as usize,
        b'a'..=b'f' => (byte - b'a') as usize + 10,
        _ => panic!("a line of opcodes.txt has a digit that is none"),
    }
}

const fn map(word: Word) -> usize {
    let digit = (word.byte(word.len() - 1) - b'0') as usize;
    match word.byte(0) {
        b'v' => Map::VexTwo as usize + digit - 2,
        b'e' => Map::EvexTwo as usize,
        _ => digit - 1,
    }
}

/// Numbers by the hash of a word: an open-addressed table, because going
/// through every word for every other takes the compiler seconds.
struct Index {
    slots: [(u32, u16); Self::SLOTS],
}

impl Index {
    /// More than twice as many as there are names.
    const SLOTS: usize = 2048;
    /// No number of anything.
    const FREE: u16 = u16::MAX;

    const fn new() -> Self {
        Self { slots: [(0, Self::FREE); Self::SLOTS] }
    }

    /// Where `hash` is, or may be put.
    const fn slot(&self, hash: u32) -> usize {
        let mut slot = hash as usize % Self::SLOTS;
        while self.slots[slot].1 != Self::FREE && self.slots[slot].0 != hash {
            slot = (slot + 1) % Self::SLOTS;
        }
        slot
    }

    const fn get(&self, hash: u32) -> Option<usize> {
        match self.slots[self.slot(hash)].1 {
            Self::FREE => None,
            number => Some(number as usize),
        }
    }

    const fn put(&mut self, hash: u32, number: usize) {
        self.slots[self.slot(hash)] = (hash, number as u16);
    }
}

/// Places of the operands in [`operand::SPECS`].
static SPECS: Index = {
    let mut index = Index::new();
    let mut number = 0;
    while number < operand::SPECS.len() {
        let name = operand::SPECS[number].0.as_bytes();
        index.put(hash(name, 0, name.len()), number);
        number += 1;
    }
    index
};

/// Places of the instructions in [`kind::KINDS`].
static KINDS: Index = {
    let mut index = Index::new();
    let mut number = 0;
    while number < kind::KINDS.len() {
        let name = kind::KINDS[number].0.as_bytes();
        index.put(hash(name, 0, name.len()), number);
        number += 1;
    }
    index
};

/// Number of the operand that `TEXT` spells between two places.
const fn spec_number(start: usize, end: usize) -> u8 {
    match SPECS.get(Word { start, end }.hash()) {
        Some(number) => number as u8,
        None => panic!("a line of opcodes.txt has an operand that operand.rs does not know"),
    }
}

/// Reads the whole of [`TEXT`].
const fn build() -> Built {
    const NOTHING: Form = Form {
        when: When { prefix: ANY, reg: ANY, rm: ANY, in_register: ANY, size: ANY },
        vex: Vex::No,
        kind: Kind::Other,
        clobbers: 0,
        has_modrm: false,
        tail: Tail::Bytes(0),
        name: 0,
        operands: [0; MOST_OPERANDS],
    };
    let mut built = Built {
        forms: [NOTHING; FORMS],
        first: [0; MAPS * 256 + 1],
        names: Names { text: [0; TEXT.len()], len: 0, starts: Index::new() },
    };
    let (mut line, mut count, mut slot) = (0, 0, 0);
    while line < TEXT.len() {
        if is_form(line) {
            let words = words(line);
            let opcode = hex_digit(words[1].byte(0)) * 16 + hex_digit(words[1].byte(1));
            let this = map(words[0]) * 256 + opcode;
            assert!(this >= slot, "opcodes.txt is not sorted");
            while slot < this {
                slot += 1;
                built.first[slot] = count as u16;
            }
            let mut form = NOTHING;
            form.when = when(&words);
            form.vex = match words[6].len() {
                0 => Vex::No,
                _ if words[6].byte(0) == b'=' => Vex::Same,
                _ => Vex::OneMore,
            };
            let name = words[4].hash();
            (form.kind, form.clobbers) = kind_of(name);
            form.name = built.names.add(words[4], name);
            form.operands = operands(words[5]);
            form.has_modrm = form.when.reg != ANY || form.when.in_register != ANY;
            let mut at = 0;
            while at < MOST_OPERANDS {
                let spec = operand::SPECS[form.operands[at] as usize].1;
                if spec.side() != ANY {
                    form.when.in_register = spec.side();
                }
                form.has_modrm = form.has_modrm || spec.uses_modrm();
                form.tail = form.tail.and(spec.tail());
                at += 1;
            }
            built.forms[count] = form;
            count += 1;
        }
        line = next_line(line);
    }
    while slot < MAPS * 256 {
        slot += 1;
        built.first[slot] = count as u16;
    }
    built
}

const fn when(words: &[Word; COLUMNS]) -> When {
    let mut when = When { prefix: ANY, reg: ANY, rm: ANY, in_register: ANY, size: ANY };
    let opcode = words[1];
    let mut at = 2;
    if at < opcode.len() {
        when.reg = hex_digit(opcode.byte(at + 1)) as u8;
        at += 2;
    }
    if at < opcode.len() {
        when.in_register = 1;
        at += 1;
    }
    if at < opcode.len() {
        when.rm = hex_digit(opcode.byte(at)) as u8;
    }
    when.prefix = match words[2].byte(0) {
        b'n' => 0,
        b'6' => 1,
        b'F' if words[2].byte(1) == b'3' => 2,
        b'F' => 3,
        _ => ANY,
    };
    when.size = match words[3].byte(0) {
        b'1' => 16,
        b'3' => 32,
        b'6' => 64,
        _ => ANY,
    };
    when
}

const fn kind_of(name: u32) -> (Kind, u8) {
    match KINDS.get(name) {
        Some(number) => (kind::KINDS[number].1, kind::KINDS[number].2),
        None => (Kind::Other, 0),
    }
}

const fn operands(word: Word) -> [u8; MOST_OPERANDS] {
    let mut numbers = [0; MOST_OPERANDS];
    let (mut start, mut count) = (word.start, 0);
    while start < word.end {
        let mut end = start;
        while end < word.end && TEXT[end] != b',' {
            end += 1;
        }
        numbers[count] = spec_number(start, end);
        count += 1;
        start = end + 1;
    }
    numbers
}

/// The names, without repetition.
struct Names {
    text: [u8; TEXT.len()],
    len: usize,
    starts: Index,
}

impl Names {
    /// Where `word` starts among the names; it is added if it is not there.
    const fn add(&mut self, word: Word, hash: u32) -> u16 {
        if let Some(start) = self.starts.get(hash) {
            return start as u16;
        }
        let start = self.len as u16;
        self.starts.put(hash, self.len);
        let mut at = 0;
        while at < word.len() {
            self.text[self.len] = word.byte(at);
            self.len += 1;
            at += 1;
        }
        self.text[self.len] = b' ';
        self.len += 1;
        start
    }
}
