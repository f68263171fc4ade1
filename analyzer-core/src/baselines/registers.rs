//! Registers as the expressions that the straight-line decoders match.

use crate::addr::VirtAddr;
use crate::code::ir::BinaryOp;
use crate::code::x86_64::decode::{
    Base, FS, File, GS, Instruction, Kind, Memory, Operand, Register,
};

/// An expression; only those that some pattern matches, or that can become
/// one, are told apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Value {
    /// Anything else.
    Other,
    /// A number.
    Number(u64),
    /// The 64-bit word at a fixed address, plus a number; the decoders take
    /// every such word for the address of `_PyRuntime`.
    Pointer { plus: u64 },
    /// The 32-bit word at a fixed address.
    Word { address: u64 },
    /// The 32-bit word at a [`Value::Pointer`] with `plus` not zero.
    PointedWord { plus: u64 },
    /// The 64-bit word at a fixed distance from `fs`.
    ThreadWord { offset: u64 },
}

impl Value {
    fn add(self, other: Self) -> Self {
        match (self, other) {
            (Self::Number(left), Self::Number(right)) => Self::Number(left.wrapping_add(right)),
            (Self::Pointer { plus }, Self::Number(number))
            | (Self::Number(number), Self::Pointer { plus }) => {
                Self::Pointer { plus: plus.wrapping_add(number) }
            }
            (value, Self::Number(0)) | (Self::Number(0), value) => value,
            _ => Self::Other,
        }
    }

    fn times(self, factor: u64) -> Self {
        match self {
            Self::Number(number) => Self::Number(number.wrapping_mul(factor)),
            value if factor == 1 => value,
            _ => Self::Other,
        }
    }

    fn low_half(self) -> Self {
        match self {
            Self::Number(number) => Self::Number(number & 0xffff_ffff),
            Self::Word { .. } | Self::PointedWord { .. } => self,
            _ => Self::Other,
        }
    }
}

/// The general-purpose registers, and where each was last written.
pub(super) struct Registers {
    values: [(Value, Option<VirtAddr>); 16],
}

impl Registers {
    pub(super) fn new() -> Self {
        Self { values: [(Value::Other, None); 16] }
    }

    /// The register's value and the address of the instruction that wrote it.
    pub(super) fn get(&self, register: Register) -> (Value, Option<VirtAddr>) {
        let (value, at) = index(register)
            .and_then(|index| self.values.get(index))
            .copied()
            .unwrap_or((Value::Other, None));
        match register.file {
            File::Gpr64 => (value, at),
            File::Gpr32 => (value.low_half(), at),
            _ => (Value::Other, at),
        }
    }

    fn set(&mut self, register: Register, value: Value, at: VirtAddr) {
        let value = match register.file {
            File::Gpr64 => value,
            File::Gpr32 => value.low_half(),
            _ => Value::Other,
        };
        if let Some(slot) = index(register).and_then(|index| self.values.get_mut(index)) {
            *slot = (value, Some(at));
        }
    }

    /// What the instruction does, as far as the decoders look: `add`, `shl`,
    /// moves, `lea`, and `xor` of a register with itself. Everything else
    /// leaves every register as it was.
    pub(super) fn step(&mut self, instruction: &Instruction) {
        let Operand::Register(target) = instruction.operand(0) else { return };
        let old = self.get(target).0;
        let source = instruction.operand(1);
        let new = match instruction.kind() {
            Kind::Binary(BinaryOp::Add) => match self.source(source, target) {
                Some(right) => old.add(right),
                None => return,
            },
            Kind::Shift(BinaryOp::Shl) => match source {
                Operand::Immediate(count) => {
                    old.times(1u64.checked_shl(u32::try_from(count).unwrap_or(64)).unwrap_or(0))
                }
                _ => return,
            },
            Kind::Mov | Kind::Movzx => match self.source(source, target) {
                Some(value) => value,
                None => return,
            },
            Kind::Movsx => Value::Other,
            Kind::Binary(BinaryOp::Xor) if source == Operand::Register(target) => Value::Number(0),
            Kind::Lea => self.address(instruction.memory()),
            _ => return,
        };
        self.set(target, new, instruction.address);
    }

    fn source(&self, source: Operand, target: Register) -> Option<Value> {
        match source {
            Operand::Immediate(number) => Some(Value::Number(number)),
            Operand::Register(register) => Some(self.get(register).0),
            Operand::Memory(memory, _) => Some(self.loaded(&memory, target)),
            _ => None,
        }
    }

    fn loaded(&self, memory: &Memory, target: Register) -> Value {
        let address = self.address(memory);
        let wide = target.file == File::Gpr64;
        match (memory.segment, address) {
            (Some(FS), Value::Number(offset)) if wide => Value::ThreadWord { offset },
            (Some(FS | GS), _) => Value::Other,
            (_, Value::Number(_)) if wide => Value::Pointer { plus: 0 },
            (_, Value::Number(address)) => Value::Word { address },
            (_, Value::Pointer { plus }) if !wide && plus != 0 => Value::PointedWord { plus },
            _ => Value::Other,
        }
    }

    fn address(&self, memory: &Memory) -> Value {
        let register = |number| self.get(Register { file: File::Gpr64, number }).0;
        let base = match memory.base {
            // The displacement is the absolute address then.
            Base::Rip | Base::None => Value::Number(0),
            Base::Register(number) => register(number),
        };
        let index = match memory.index {
            None => Value::Number(0),
            Some((number, shift)) => register(number).times(1u64.wrapping_shl(shift.into())),
        };
        Value::Number(memory.displacement).add(base).add(index)
    }
}

fn index(register: Register) -> Option<usize> {
    let is_general = matches!(register.file, File::Gpr8 | File::Gpr16 | File::Gpr32 | File::Gpr64);
    // `ah` and the like have numbers from 16, in the order of `rax` and the like.
    is_general.then_some(usize::from(register.number & 0xf))
}
