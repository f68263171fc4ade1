//! Operands of an x86-64 instruction in terms of the lifted form.

use iced_x86::{Instruction, OpKind, Register};

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
    pub(super) fn of(register: Register) -> Option<Self> {
        let (first, reg, width, high) = match register {
            _ if register.is_gpr64() => (Register::RAX, 0, Width::W64, false),
            _ if register.is_gpr32() => (Register::EAX, 0, Width::W32, false),
            _ if register.is_gpr16() => (Register::AX, 0, Width::W16, false),
            Register::AH | Register::CH | Register::DH | Register::BH => {
                (Register::AH, 0, Width::W8, true)
            }
            Register::AL | Register::CL | Register::DL | Register::BL => {
                (Register::AL, 0, Width::W8, false)
            }
            // spl, bpl, sil, dil, r8b...: encodings 4 and up with a REX prefix.
            _ if register.is_gpr8() => (Register::SPL, 4, Width::W8, false),
            _ => return None,
        };
        let number = (register as u32).wrapping_sub(first as u32).wrapping_add(reg);
        (number < 16).then_some(Self { reg: Reg(number as u8), width, high })
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
    Memory(Option<Address>, usize),
    /// An immediate, extended to 64 bits as the instruction does.
    Immediate(u64),
    /// A register of another kind, or nothing.
    Other,
}

impl Place {
    /// Operand number `operand` of `instruction`.
    pub(super) fn of(instruction: &Instruction, operand: u32) -> Self {
        match instruction.try_op_kind(operand) {
            Ok(OpKind::Register) => instruction
                .try_op_register(operand)
                .ok()
                .and_then(Part::of)
                .map_or(Self::Other, Self::Part),
            Ok(OpKind::Memory) => {
                Self::Memory(address(instruction), instruction.memory_size().size())
            }
            Ok(_) => instruction.try_immediate(operand).map_or(Self::Other, Self::Immediate),
            Err(_) => Self::Other,
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
pub(super) const fn width_of(size: usize) -> Option<Width> {
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
pub(super) fn clobber_memory(address: Option<Address>, size: usize, out: &mut Lifted) {
    out.ops.push(match (address, u32::try_from(size)) {
        (Some(address), Ok(size)) if size > 0 => Op::ClobberMemory { address, size },
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

/// The memory operand's address; `None` where the lifted form cannot say it:
/// relative to `gs`, with a vector of indices, or computed in 32 bits.
pub(super) fn address(instruction: &Instruction) -> Option<Address> {
    let thread_pointer = match instruction.memory_segment() {
        Register::FS => true,
        Register::GS => return None,
        // The other segments start at 0 in 64-bit mode.
        _ => false,
    };
    let displacement = instruction.memory_displacement64();
    let base = match instruction.memory_base() {
        Register::None => Operand::Const(0),
        // iced has already added the next instruction's address.
        Register::RIP => {
            let base = Operand::Pc(VirtAddr(displacement));
            return Some(Address { thread_pointer, base, index: None, displacement: 0 });
        }
        register if register.is_gpr64() => Operand::Reg(Part::of(register)?.reg),
        _ => return None,
    };
    let index = match instruction.memory_index() {
        Register::None => None,
        register if register.is_gpr64() => Some(Index {
            reg: Part::of(register)?.reg,
            width: Width::W64,
            signed: false,
            shift: shift_of(instruction.memory_index_scale())?,
        }),
        _ => return None,
    };
    Some(Address { thread_pointer, base, index, displacement })
}

/// The left shift that multiplies by `scale`.
pub(super) const fn shift_of(scale: u32) -> Option<u8> {
    match scale {
        1 => Some(0),
        2 => Some(1),
        4 => Some(2),
        8 => Some(3),
        _ => None,
    }
}
