//! x86-64 text, in Intel's syntax.
//!
//! The size of memory is printed where no register of the same size says it.
//! Instructions that the decoder has no name for are printed as their opcode,
//! `(evex 0f38 0x66)`.

use alloc::string::String;
use core::fmt::Write as _;

use super::{BAD, Names};
use crate::addr::VirtAddr;
use crate::code::ir::Reg;
use crate::code::reg_name;
use crate::code::x86_64::decode::{
    Base, FS, File, Instruction, Kind, MOST_OPERANDS, Memory, Operand, Register,
};
use crate::report::Arch;

/// Names of segment registers, by number.
const SEGMENTS: [&str; 6] = ["es", "cs", "ss", "ds", "fs", "gs"];

const DS: u8 = 3;

pub(super) fn format(bytes: &[u8], address: VirtAddr, names: &dyn Names) -> String {
    let mut instruction = Instruction::new();
    if instruction.decode(bytes, address).is_err() {
        return BAD.into();
    }
    let mut text = Text { text: String::new(), instruction: &instruction, names };
    text.instruction();
    text.text
}

struct Text<'a> {
    text: String,
    instruction: &'a Instruction,
    names: &'a dyn Names,
}

impl Text<'_> {
    fn put(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn hex(&mut self, number: u64) {
        // Writing to a string cannot fail.
        let _ = write!(self.text, "{number:#x}");
    }

    fn number(&mut self, number: u8) {
        let _ = write!(self.text, "{number}");
    }

    fn instruction(&mut self) {
        let Some(name) = self.instruction.name() else {
            self.unnamed();
            return;
        };
        self.prefixes(name);
        let operands: [Operand; MOST_OPERANDS] =
            core::array::from_fn(|number| self.instruction.operand(number));
        if self.instruction.has_vex_name() {
            self.put("v");
        }
        self.put(name);
        let present = operands.iter().take_while(|operand| **operand != Operand::None);
        for (number, operand) in present.enumerate() {
            self.put(if number == 0 { " " } else { ", " });
            self.operand(number, *operand, &operands);
            if number == 0
                && let Some((mask, zeroing)) = self.instruction.mask()
            {
                self.put("{k");
                self.number(mask);
                self.put(if zeroing { "}{z}" } else { "}" });
            }
        }
    }

    fn unnamed(&mut self) {
        let (encoding, map, opcode, wide) = self.instruction.raw();
        self.put("(");
        self.put(encoding);
        self.put(match map {
            1 => " 0f ",
            2 => " 0f38 ",
            3 => " 0f3a ",
            5 => " map5 ",
            _ => " map6 ",
        });
        self.hex(opcode.into());
        self.put(if wide { ", w)" } else { ")" });
    }

    fn prefixes(&mut self, name: &str) {
        let kind = self.instruction.kind();
        if self.instruction.segment() == Some(DS)
            && matches!(kind, Kind::Jmp | Kind::Call)
            && !matches!(self.instruction.operand(0), Operand::Target(_))
        {
            self.put("notrack ");
        }
        if self.instruction.is_locked() {
            self.put("lock ");
        }
        let compares = name.starts_with("cmps") || name.starts_with("scas");
        self.put(match self.instruction.repeat_prefix() {
            Some(0xf3) if compares => "repe ",
            Some(0xf3) => "rep ",
            Some(_) if matches!(kind, Kind::Jmp | Kind::Branch | Kind::Call | Kind::Ret) => "bnd ",
            Some(_) => "repne ",
            None => "",
        });
    }

    fn operand(&mut self, number: usize, operand: Operand, operands: &[Operand]) {
        match operand {
            Operand::Register(register) => self.register(register),
            Operand::Immediate(value) => {
                let value = self.instruction.printed(number, value);
                self.hex(value);
            }
            Operand::Target(target) => match self.names.name_at(target) {
                Some(name) => self.put(&name),
                None => self.hex(target.0),
            },
            Operand::Memory(memory, bytes) => {
                if self.shows_size(bytes, operands) {
                    self.put(match bytes {
                        1 => "byte ptr ",
                        2 => "word ptr ",
                        4 => "dword ptr ",
                        8 => "qword ptr ",
                        10 => "tbyte ptr ",
                        _ => "",
                    });
                }
                self.memory(&memory);
            }
            Operand::String(memory, _) => self.memory(&memory),
            Operand::None => {}
        }
    }

    /// Whether nothing else tells the size of the memory operand.
    fn shows_size(&self, bytes: u16, operands: &[Operand]) -> bool {
        let name = self.instruction.name().unwrap_or_default();
        let is_vector =
            |file| matches!(file, File::Mmx | File::Xmm | File::Ymm | File::Zmm | File::Mask);
        let is_told = operands.iter().enumerate().any(|(number, operand)| match operand {
            Operand::Register(Register { file, .. }) => {
                bytes_of(*file) == Some(bytes) && !self.instruction.is_implied(number)
                    || is_vector(*file) && !name.starts_with("cvtsi2")
            }
            _ => false,
        });
        match name {
            "movsxd" => false,
            "movsx" | "movzx" | "crc32" => true,
            // Not those of the state, whose names say what they are.
            _ if name.starts_with('f') => !matches!(name, "fldcw" | "fnstcw" | "fnstsw"),
            _ if name.starts_with("set") => false,
            _ => self.instruction.memory_is_general() && !is_told,
        }
    }

    fn memory(&mut self, memory: &Memory) {
        if let Some(segment) = memory.segment {
            self.segment(segment);
            self.put(":");
        }
        self.put("[");
        let prefix = if memory.is_32_bit { File::Gpr32 } else { File::Gpr64 };
        let mut is_first = true;
        if let Base::Register(number) = memory.base {
            self.register(Register { file: prefix, number });
            is_first = false;
        }
        if let Some((number, shift)) = memory.index {
            self.put(if is_first { "" } else { "+" });
            self.register(Register { file: prefix, number });
            if shift > 0 || is_first {
                self.put("*");
                self.number(1u8.wrapping_shl(shift.into()));
            }
            is_first = false;
        }
        let displacement = memory.displacement;
        if is_first {
            self.fixed(memory);
        } else if displacement != 0 {
            let is_negative = (displacement as i64) < 0;
            self.put(if is_negative { "-" } else { "+" });
            self.hex((displacement as i64).unsigned_abs());
        }
        self.put("]");
    }

    /// An address that no register is part of.
    fn fixed(&mut self, memory: &Memory) {
        let displacement = memory.displacement;
        if memory.segment.is_some_and(|segment| segment >= FS) {
            let distance = (displacement as i64).unsigned_abs();
            self.put(if distance == displacement { "" } else { "-" });
            self.hex(distance);
            return;
        }
        self.hex(displacement);
        if let Some(name) = self.names.name_at(VirtAddr(displacement)) {
            self.put(" <");
            self.put(&name);
            self.put(">");
        }
    }

    fn segment(&mut self, number: u8) {
        self.put(SEGMENTS.get(usize::from(number)).copied().unwrap_or("?"));
    }

    fn register(&mut self, register: Register) {
        let Register { file, number } = register;
        let (prefix, number) = match file {
            File::Gpr8 | File::Gpr16 | File::Gpr32 | File::Gpr64 => {
                self.general(file, number);
                return;
            }
            File::Segment => {
                self.segment(number);
                return;
            }
            File::X87 => {
                self.put("st(");
                self.number(number);
                self.put(")");
                return;
            }
            File::Control => ("cr", number),
            File::Debug => ("dr", number),
            File::Mmx => ("mm", number),
            File::Xmm => ("xmm", number),
            File::Ymm => ("ymm", number),
            File::Zmm => ("zmm", number),
            File::Mask => ("k", number),
        };
        self.put(prefix);
        self.number(number);
    }

    fn general(&mut self, file: File, number: u8) {
        const HIGH: [&str; 4] = ["ah", "ch", "dh", "bh"];
        if number >= 16 {
            self.put(HIGH.get(usize::from(number - 16)).copied().unwrap_or("?"));
            return;
        }
        let whole = reg_name(Arch::X86_64, Reg(number));
        let rest = whole.get(1..).unwrap_or_default();
        match (file, number) {
            (File::Gpr64, _) => self.put(whole),
            (File::Gpr32, 0..8) => {
                self.put("e");
                self.put(rest);
            }
            (File::Gpr16, 0..8) => self.put(rest),
            (File::Gpr8, 0..4) => {
                self.put(rest.get(..1).unwrap_or_default());
                self.put("l");
            }
            (File::Gpr8, 4..8) => {
                self.put(rest);
                self.put("l");
            }
            (_, _) => {
                self.put(whole);
                self.put(match file {
                    File::Gpr32 => "d",
                    File::Gpr16 => "w",
                    _ => "b",
                });
            }
        }
    }
}

/// Bytes of a general register.
const fn bytes_of(file: File) -> Option<u16> {
    match file {
        File::Gpr8 => Some(1),
        File::Gpr16 => Some(2),
        File::Gpr32 => Some(4),
        File::Gpr64 => Some(8),
        _ => None,
    }
}
