//! Operands of an x86-64 instruction in terms of the lifted form.

use super::decode::{self, Base, FS, File, GS, Instruction, Memory, Register};
use crate::addr::VirtAddr;
use crate::code::ir::{Address, BinaryOp, Index, Lifted, Op, Operand, Reg, Width};

pub(super) const RAX: Reg = Reg(0);
pub(super) const RCX: Reg = Reg(1);
pub(super) const RDX: Reg = Reg(2);
pub(super) const RSP: Reg = Reg(4);
pub(super) const RBP: Reg = Reg(5);
pub(super) const R11: Reg = Reg(11);

/// A general-purpose register or the part of one that an operand names.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub(super) reg: Reg,
    pub(super) width: Width,
    /// `ah`, `ch`, `dh` or `bh`: bits 8 to 15.
    pub(super) high: bool,
}

impl Part {
    /// The part, or `None` when `register` is no general-purpose register.
    pub(super) const fn of(register: Register) -> Option<Self> {
        let Register { file, number } = register;
        let width = match file {
            // Numbers of `ah`, `ch`, `dh` and `bh` are 16 higher.
            File::Gpr8 if number >= 16 => {
                return Some(Self { reg: Reg(number - 16), width: Width::W8, high: true });
            }
            File::Gpr8 => Width::W8,
            File::Gpr16 => Width::W16,
            File::Gpr32 => Width::W32,
            File::Gpr64 => Width::W64,
            _ => return None,
        };
        Some(Self { reg: Reg(number), width, high: false })
    }

    /// Whether writing it leaves other bits of the register as they were.
    pub(super) const fn keeps_rest(self) -> bool {
        matches!(self.width, Width::W8 | Width::W16)
    }
}

/// What an operand is.
#[derive(Clone, Copy)]
pub(super) enum Place {
    /// A general-purpose register.
    Part(Part),
    /// Memory of `size` bytes; `None` where the form cannot say where.
    Memory(Option<Address>, u16),
    /// An immediate, extended to 64 bits as the instruction does.
    Immediate(u64),
    /// A register of another kind, or nothing.
    Other,
}

impl Place {
    /// Operand number `number` of `instruction`.
    pub(super) fn of(instruction: &Instruction, number: usize) -> Self {
        match instruction.operand(number) {
            decode::Operand::Register(register) => {
                Part::of(register).map_or(Self::Other, Self::Part)
            }
            decode::Operand::Memory(memory, size) | decode::Operand::String(memory, size) => {
                Self::Memory(address(&memory), size)
            }
            decode::Operand::Immediate(value) => Self::Immediate(value),
            decode::Operand::Target(_) | decode::Operand::None => Self::Other,
        }
    }

    /// Number of bits the operand has, where it is one of the four.
    pub(super) fn width(self) -> Option<Width> {
        match self {
            Self::Part(part) => Some(part.width),
            Self::Memory(_, size) => width_of(size),
            Self::Immediate(_) | Self::Other => None,
        }
    }

    /// Emits what is needed to read the operand, and gives its value, in the
    /// low bits that count; `temp` is used where the value needs a register.
    pub(super) fn read(self, temp: Reg, out: &mut Lifted) -> Option<Operand> {
        match self {
            Self::Part(Part { reg, high: false, .. }) => Some(Operand::Reg(reg)),
            Self::Part(Part { reg, high: true, .. }) => {
                out.ops.push(Op::Binary {
                    op: BinaryOp::Shr,
                    dst: temp,
                    left: Operand::Reg(reg),
                    right: Operand::Const(8),
                    width: Width::W64,
                });
                Some(Operand::Reg(temp))
            }
            Self::Memory(address, size) => {
                let width = width_of(size)?;
                load(temp, address, width, false, Width::W64, out);
                Some(Operand::Reg(temp))
            }
            Self::Immediate(value) => Some(Operand::Const(value)),
            Self::Other => None,
        }
    }
}

/// The width of an operand of `size` bytes.
pub(super) const fn width_of(size: u16) -> Option<Width> {
    match size {
        1 => Some(Width::W8),
        2 => Some(Width::W16),
        4 => Some(Width::W32),
        8 => Some(Width::W64),
        _ => None,
    }
}

/// Emits `dst := memory`, `from` bits extended to `width`.
pub(super) fn load(
    dst: Reg,
    address: Option<Address>,
    from: Width,
    signed: bool,
    width: Width,
    out: &mut Lifted,
) {
    out.ops.push(match address {
        Some(address) => Op::Load { dst, address, size: from.bytes(), signed, width },
        None => Op::Clobber { dst },
    });
}

/// Emits `memory := src`.
pub(super) fn store(address: Option<Address>, src: Operand, width: Width, out: &mut Lifted) {
    out.ops.push(match address {
        Some(address) => Op::Store { address, src, size: width.bytes() },
        None => Op::ClobberAllMemory,
    });
}

/// Emits that `size` bytes of memory become unknown; a `size` of 0 means that
/// the decoder does not know how many.
pub(super) fn clobber_memory(address: Option<Address>, size: u16, out: &mut Lifted) {
    out.ops.push(match address {
        Some(address) if size > 0 => Op::ClobberMemory { address, size: size.into() },
        _ => Op::ClobberAllMemory,
    });
}

/// Emits `rsp := rsp + bytes`, wrapping.
pub(super) fn move_stack(bytes: u64, out: &mut Lifted) {
    out.ops.push(Op::Binary {
        op: BinaryOp::Add,
        dst: RSP,
        left: Operand::Reg(RSP),
        right: Operand::Const(bytes),
        width: Width::W64,
    });
}

/// `[rsp + displacement]`.
pub(super) const fn stack(displacement: u64) -> Address {
    Address::offset(Operand::Reg(RSP), displacement)
}

/// A memory operand's address; `None` where the lifted form cannot say it:
/// relative to `gs`, or computed in 32 bits.
pub(super) fn address(memory: &Memory) -> Option<Address> {
    let is_number = memory.base == Base::None && memory.index.is_none();
    if memory.is_32_bit && !is_number || memory.segment == Some(GS) {
        return None;
    }
    // The segments but `fs` and `gs` start at 0 in 64-bit mode.
    let thread_pointer = memory.segment == Some(FS);
    let (base, displacement) = match memory.base {
        Base::None => (Operand::Const(0), memory.displacement),
        Base::Rip => (Operand::Pc(VirtAddr(memory.displacement)), 0),
        Base::Register(number) => (Operand::Reg(Reg(number)), memory.displacement),
    };
    let index = memory.index.map(|(number, shift)| Index {
        reg: Reg(number),
        width: Width::W64,
        signed: false,
        shift,
    });
    Some(Address { thread_pointer, base, index, displacement })
}
