//! Registers as the expressions that the straight-line decoders match.

use iced_x86::{Instruction, Mnemonic, OpKind, Register};

use crate::addr::VirtAddr;

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
        match register {
            _ if register.is_gpr64() => (value, at),
            _ if register.is_gpr32() => (value.low_half(), at),
            _ => (Value::Other, at),
        }
    }

    fn set(&mut self, register: Register, value: Value, at: VirtAddr) {
        let value = match register {
            _ if register.is_gpr64() => value,
            _ if register.is_gpr32() => value.low_half(),
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
        if instruction.op0_kind() != OpKind::Register {
            return;
        }
        let target = instruction.op0_register();
        let old = self.get(target).0;
        let new = match instruction.mnemonic() {
            Mnemonic::Add => match self.source(instruction) {
                Some(right) => old.add(right),
                None => return,
            },
            Mnemonic::Shl => match instruction.try_immediate(1) {
                Ok(count) => {
                    old.times(1u64.checked_shl(u32::try_from(count).unwrap_or(64)).unwrap_or(0))
                }
                Err(_) => return,
            },
            Mnemonic::Mov | Mnemonic::Movzx => match self.source(instruction) {
                Some(value) => value,
                None => return,
            },
            Mnemonic::Movsx | Mnemonic::Movsxd => Value::Other,
            Mnemonic::Xor if instruction.op1_kind() == OpKind::Register => {
                if instruction.op1_register() != target {
                    return;
                }
                Value::Number(0)
            }
            Mnemonic::Lea => self.address(instruction),
            _ => return,
        };
        self.set(target, new, VirtAddr(instruction.ip()));
    }

    fn source(&self, instruction: &Instruction) -> Option<Value> {
        if let Ok(immediate) = instruction.try_immediate(1) {
            return Some(Value::Number(immediate));
        }
        match instruction.op1_kind() {
            OpKind::Register => Some(self.get(instruction.op1_register()).0),
            OpKind::Memory => Some(self.loaded(instruction)),
            _ => None,
        }
    }

    fn loaded(&self, instruction: &Instruction) -> Value {
        let address = self.address(instruction);
        let wide = instruction.op0_register().is_gpr64();
        match (instruction.memory_segment(), address) {
            (Register::FS, Value::Number(offset)) if wide => Value::ThreadWord { offset },
            (Register::FS | Register::GS, _) => Value::Other,
            (_, Value::Number(_)) if wide => Value::Pointer { plus: 0 },
            (_, Value::Number(address)) => Value::Word { address },
            (_, Value::Pointer { plus }) if !wide && plus != 0 => Value::PointedWord { plus },
            _ => Value::Other,
        }
    }

    fn address(&self, instruction: &Instruction) -> Value {
        let displacement = Value::Number(instruction.memory_displacement64());
        let base = match instruction.memory_base() {
            // The displacement is the absolute address then.
            Register::RIP | Register::None => Value::Number(0),
            base => self.get(base).0,
        };
        let index = match instruction.memory_index() {
            Register::None => Value::Number(0),
            index => self.get(index).0.times(u64::from(instruction.memory_index_scale())),
        };
        displacement.add(base).add(index)
    }
}

fn index(register: Register) -> Option<usize> {
    (register.is_gpr())
        .then(|| (register.full_register() as usize).wrapping_sub(Register::RAX as usize))
}
