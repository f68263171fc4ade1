//! Instructions: their text in parts, and what a mnemonic means.

/// What a part of an instruction's text is, for its colour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    Mnemonic,
    Register,
    Number,
    Name,
    Punctuation,
}

impl Part {
    /// The CSS class.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Part::Mnemonic => "mnemonic",
            Part::Register => "register",
            Part::Number => "number",
            Part::Name => "name",
            Part::Punctuation => "mark",
        }
    }
}

/// Splits disassembly into parts; the parts together are the text.
pub(crate) fn parts(text: &str) -> Vec<(Part, &str)> {
    let mut parts = Vec::new();
    let mut rest = text;
    let mut first = true;
    while let Some(letter) = rest.chars().next() {
        // What is not ASCII is part of a symbol's name.
        let word = |c: char| c.is_ascii_alphanumeric() || !c.is_ascii() || "_@.&".contains(c);
        let inside = word(letter);
        let end = rest.find(|c| word(c) != inside).unwrap_or(rest.len());
        let (token, after) = rest.split_at(end);
        let part = if !inside {
            Part::Punctuation
        } else if first {
            Part::Mnemonic
        } else if letter.is_ascii_digit() {
            Part::Number
        } else if register(token).is_some() {
            Part::Register
        } else if SIZES.contains(&token) {
            Part::Punctuation
        } else {
            Part::Name
        };
        first &= !inside;
        parts.push((part, token));
        rest = after;
    }
    parts
}

const SIZES: [&str; 9] =
    ["byte", "word", "dword", "qword", "xmmword", "ptr", "lsl", "uxtw", "sxtw"];

/// The full register that a register's name is part of: `rdi` of `edi`,
/// `x0` of `w0`; nothing when it is no general register.
pub(crate) fn register(name: &str) -> Option<String> {
    let legacy = ["ax", "bx", "cx", "dx", "si", "di", "bp", "sp"];
    let bare = name.strip_prefix(['r', 'e']).unwrap_or(name);
    if legacy.contains(&bare) && (name.len() == 3 || name == bare) && name != "sp" {
        return Some(format!("r{bare}"));
    }
    if let [first @ b'a'..=b'd', b'l' | b'h'] = name.as_bytes() {
        return Some(format!("r{}x", char::from(*first)));
    }
    if ["sil", "dil", "bpl", "spl"].contains(&name) {
        return Some(format!("r{}", &name[..2]));
    }
    if name == "sp" || name == "wsp" {
        return Some("sp".to_owned());
    }
    if let Some(number) = name.strip_prefix('r') {
        let number = number.trim_end_matches(['d', 'w', 'b']);
        return (8..16).contains(&number.parse().unwrap_or(0)).then(|| format!("r{number}"));
    }
    let number = name.strip_prefix(['x', 'w'])?;
    (number == "zr" || number.parse::<u8>().is_ok_and(|n| n < 31)).then(|| format!("x{number}"))
}

/// The mnemonic of an instruction's text.
pub(crate) fn mnemonic(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}

/// What the instruction does, for somebody who does not read assembly daily.
pub(crate) fn meaning(text: &str) -> Option<&'static str> {
    let mnemonic = mnemonic(text);
    let memory = text.contains('[');
    Some(match mnemonic {
        "mov" | "movabs" | "movz" if memory => "copies between a register and memory",
        "mov" | "movabs" | "movz" => "copies a value into a register",
        "movk" => "replaces 16 bits of a register",
        "movn" => "writes an inverted number",
        "lea" => "computes an address, without reading memory",
        "adrp" => "computes the address of a 4 KiB page near this instruction",
        "adr" => "computes an address near this instruction",
        "ldr" | "ldur" | "ldrsw" => "reads memory into a register",
        "ldp" => "reads two words of memory into two registers",
        "str" | "stur" => "writes a register to memory",
        "stp" => "writes two registers to memory",
        "push" => "saves a value on the stack",
        "pop" => "takes a saved value back from the stack",
        "add" => "adds",
        "sub" => "subtracts",
        "xor" | "eor" => {
            "combines bits by exclusive or; of a register with itself: sets it to zero"
        }
        "and" | "orr" | "or" => "combines bits",
        "test" | "cmp" | "tst" | "cmn" => "compares, for the branch that follows",
        "cbz" | "tbz" => "jumps when the value is zero",
        "cbnz" | "tbnz" => "jumps when the value is not zero",
        "je" | "jz" => "jumps when the comparison was equal",
        "jne" | "jnz" => "jumps when the comparison was not equal",
        "call" | "bl" | "blr" => "calls a function, which returns here",
        "jmp" | "b" | "br" => {
            "goes on elsewhere and does not come back; to a function: a tail call"
        }
        "ret" => "returns to the caller",
        "mrs" => "reads a system register, here the thread pointer",
        "endbr64" | "bti" => "marks a place that indirect jumps may reach",
        "paciasp" | "pacibsp" => "signs the return address",
        "autiasp" | "autibsp" => "checks the signed return address",
        "nop" | "nopl" | "nopw" => "does nothing",
        _ if mnemonic.starts_with("b.") || mnemonic.starts_with('j') => {
            "jumps when a condition holds"
        }
        _ if mnemonic.starts_with("cmov") || mnemonic == "csel" => {
            "copies one of two values, depending on a condition"
        }
        _ if mnemonic.starts_with("mov") => "copies a value and widens it",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_registers_belong_to_full_ones() {
        for (name, full) in [
            ("edi", "rdi"),
            ("rdi", "rdi"),
            ("di", "rdi"),
            ("dil", "rdi"),
            ("al", "rax"),
            ("r13d", "r13"),
            ("r8", "r8"),
            ("rsp", "rsp"),
            ("sp", "sp"),
            ("w0", "x0"),
            ("x29", "x29"),
        ] {
            assert_eq!(register(name).as_deref(), Some(full), "{name}");
        }
        for name in ["r7", "ret", "x31", "_PyRuntime", "cl1", "e", ""] {
            assert_eq!(register(name), None, "{name}");
        }
    }

    #[test]
    fn parts_are_the_text() {
        let text = "mov qword ptr [rax+0x8], &_PyRuntime@got";
        let split = parts(text);
        assert_eq!(split.iter().map(|(_, part)| *part).collect::<String>(), text);
        assert_eq!(split[0], (Part::Mnemonic, "mov"));
        assert!(split.contains(&(Part::Register, "rax")));
        assert!(split.contains(&(Part::Number, "0x8")));
        assert!(split.contains(&(Part::Name, "&_PyRuntime@got")));
    }
}
