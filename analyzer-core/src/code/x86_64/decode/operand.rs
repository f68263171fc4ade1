//! Operands: how a form names them, and what they are in an instruction.

use super::forms::{ANY, Tail};
use crate::addr::VirtAddr;

/// Where an operand is encoded, by the letters of the Intel SDM, volume 2,
/// appendix A.2.1, where it has one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// A general register or memory, by `ModRM.rm`.
    E,
    /// A general register, by `ModRM.reg`.
    G,
    /// A general register, by `ModRM.rm`.
    R,
    /// A general register, by the opcode's low bits.
    Z,
    /// A general register, by `VEX.vvvv`.
    B,
    /// A general register that no bits name; its number.
    Fixed(u8),
    /// Memory, by `ModRM.rm`.
    M,
    /// A vector register, by `ModRM.reg`; as long as VEX or EVEX says.
    V,
    /// A vector register or memory, by `ModRM.rm`; as long as VEX or EVEX says.
    W,
    /// A vector register, by `ModRM.rm`; as long as VEX or EVEX says.
    U,
    /// A vector register, by `VEX.vvvv`; as long as VEX or EVEX says.
    H,
    /// A vector register, by the immediate's high bits; as long as VEX says.
    L,
    /// `V`, `W`, `U` and `H` that stay 128 bits long.
    Vx,
    Wx,
    Ux,
    Hx,
    /// A 128-bit register or as much memory as VEX says.
    Wi,
    /// Memory, as much as VEX says.
    Mi,
    /// An MMX register, by `ModRM.reg`.
    P,
    /// An MMX register or memory, by `ModRM.rm`.
    Q,
    /// An MMX register, by `ModRM.rm`.
    N,
    /// An immediate.
    I,
    /// The immediate after one of 16 bits.
    Second,
    /// An immediate that is sign-extended from 8 bits.
    Is,
    /// The number 1.
    One,
    /// A branch target relative to the next instruction.
    J,
    /// Memory whose address follows the opcode.
    O,
    /// Memory at `rsi`.
    X,
    /// Memory at `rdi`, in `es`.
    Y,
    /// Memory at `rdi`.
    T,
    /// Memory at `rbx + al`.
    Table,
    /// A segment register, by `ModRM.reg`.
    S,
    /// A segment register that no bits name; its number.
    Segment(u8),
    /// A control register, by `ModRM.reg`.
    C,
    /// A debug register, by `ModRM.reg`.
    D,
    /// The top of the x87 stack.
    Top,
    /// An x87 register, by `ModRM.rm`.
    Stack,
    /// A mask register, by `ModRM.reg`.
    K,
    /// A mask register, by `ModRM.rm`.
    Km,
    /// A mask register or memory, by `ModRM.rm`.
    Ke,
}

/// How large an operand is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    /// So many bytes; 0 where that depends on the processor.
    Bytes(u16),
    /// 2, 4 or 8 bytes: the operand size.
    V,
    /// 4 or 8 bytes: 8 with `REX.W` or `VEX.W`.
    Y,
    /// 2 or 8 bytes: the operand size of what works on the stack.
    U,
    /// 2 or 4 bytes: the operand size, at most 4.
    Z,
}

/// How a form names one operand.
#[derive(Clone, Copy)]
pub(super) struct Spec {
    pub(super) class: Class,
    /// Of the register or the immediate.
    pub(super) size: Size,
    /// Of memory.
    pub(super) memory: Size,
}

impl Spec {
    /// Which side of `ModRM.mod` the operand needs: 1 a register, 0 memory.
    pub(super) const fn side(self) -> u8 {
        match self.class {
            Class::R | Class::U | Class::Ux | Class::N | Class::Km => 1,
            Class::M | Class::Mi => 0,
            _ => ANY,
        }
    }

    /// What the operand adds behind `ModRM` and its displacement.
    pub(super) const fn tail(self) -> Tail {
        match (self.class, self.size) {
            (Class::I, Size::V) => Tail::Wide,
            (Class::I | Class::J, Size::Bytes(bytes)) => Tail::Bytes(bytes as u8),
            (Class::I | Class::J, _) => Tail::Word,
            (Class::Is | Class::Second | Class::L, _) => Tail::Bytes(1),
            (Class::O, _) => Tail::Address,
            _ => Tail::Bytes(0),
        }
    }

    /// Whether `ModRM` encodes the operand.
    pub(super) const fn uses_modrm(self) -> bool {
        !matches!(
            self.class,
            Class::Z
                | Class::Fixed(_)
                | Class::I
                | Class::Second
                | Class::Is
                | Class::One
                | Class::J
                | Class::O
                | Class::X
                | Class::Y
                | Class::Table
                | Class::Segment(_)
        )
    }
}

/// The operand with this number; 0 is none.
pub(super) fn spec(number: u8) -> Option<Spec> {
    if number == 0 {
        return None;
    }
    SPECS.get(usize::from(number)).map(|(_, spec)| *spec)
}

const fn one(class: Class, size: Size) -> Spec {
    Spec { class, size, memory: size }
}

const fn two(class: Class, size: Size, memory: Size) -> Spec {
    Spec { class, size, memory }
}

const BYTE: Size = Size::Bytes(1);
const WORD: Size = Size::Bytes(2);
const DWORD: Size = Size::Bytes(4);
const QWORD: Size = Size::Bytes(8);
const XMM: Size = Size::Bytes(16);

/// Operands by the words of `opcodes.txt`.
pub(super) static SPECS: [(&str, Spec); 100] = [
    ("-", one(Class::One, BYTE)),
    ("Eb", one(Class::E, BYTE)),
    ("Ew", one(Class::E, WORD)),
    ("Ed", one(Class::E, DWORD)),
    ("Eq", one(Class::E, QWORD)),
    ("Ev", one(Class::E, Size::V)),
    ("Ey", one(Class::E, Size::Y)),
    ("Eu", one(Class::E, Size::U)),
    ("Ez", one(Class::E, Size::Z)),
    ("Ev:w", two(Class::E, Size::V, WORD)),
    ("Ey:b", two(Class::E, Size::Y, BYTE)),
    ("Ey:w", two(Class::E, Size::Y, WORD)),
    ("Ey:d", two(Class::E, Size::Y, DWORD)),
    ("Gb", one(Class::G, BYTE)),
    ("Gd", one(Class::G, DWORD)),
    ("Gq", one(Class::G, QWORD)),
    ("Gv", one(Class::G, Size::V)),
    ("Gy", one(Class::G, Size::Y)),
    ("Rd", one(Class::R, DWORD)),
    ("Rq", one(Class::R, QWORD)),
    ("Rv", one(Class::R, Size::V)),
    ("Ry", one(Class::R, Size::Y)),
    ("Zb", one(Class::Z, BYTE)),
    ("Zv", one(Class::Z, Size::V)),
    ("Zu", one(Class::Z, Size::U)),
    ("By", one(Class::B, Size::Y)),
    ("AL", one(Class::Fixed(0), BYTE)),
    ("AX", one(Class::Fixed(0), WORD)),
    ("rAX", one(Class::Fixed(0), Size::V)),
    ("zAX", one(Class::Fixed(0), Size::Z)),
    ("CL", one(Class::Fixed(1), BYTE)),
    ("DX", one(Class::Fixed(2), WORD)),
    ("m", one(Class::M, Size::Bytes(0))),
    ("mb", one(Class::M, BYTE)),
    ("mw", one(Class::M, WORD)),
    ("md", one(Class::M, DWORD)),
    ("mq", one(Class::M, QWORD)),
    ("mx", one(Class::M, XMM)),
    ("mv", one(Class::M, Size::V)),
    ("my", one(Class::M, Size::Y)),
    ("m10", one(Class::M, Size::Bytes(10))),
    ("m28", one(Class::M, Size::Bytes(28))),
    ("m108", one(Class::M, Size::Bytes(108))),
    ("m512", one(Class::M, Size::Bytes(512))),
    ("Mx", one(Class::Mi, XMM)),
    ("V", one(Class::V, XMM)),
    ("Wx", one(Class::W, XMM)),
    ("Wq", two(Class::W, XMM, QWORD)),
    ("U", one(Class::U, XMM)),
    ("H", one(Class::H, XMM)),
    ("L", one(Class::L, XMM)),
    ("v", one(Class::Vx, XMM)),
    ("wb", two(Class::Wx, XMM, BYTE)),
    ("ww", two(Class::Wx, XMM, WORD)),
    ("wd", two(Class::Wx, XMM, DWORD)),
    ("wq", two(Class::Wx, XMM, QWORD)),
    ("wx", one(Class::Wx, XMM)),
    ("u", one(Class::Ux, XMM)),
    ("h", one(Class::Hx, XMM)),
    ("iw", two(Class::Wi, XMM, WORD)),
    ("id", two(Class::Wi, XMM, DWORD)),
    ("iq", two(Class::Wi, XMM, QWORD)),
    ("P", one(Class::P, QWORD)),
    ("Q", one(Class::Q, QWORD)),
    ("Qd", two(Class::Q, QWORD, DWORD)),
    ("N", one(Class::N, QWORD)),
    ("Ib", one(Class::I, BYTE)),
    ("Iw", one(Class::I, WORD)),
    ("Ic", one(Class::Second, BYTE)),
    ("Iz", one(Class::I, Size::Z)),
    ("Iu", one(Class::I, Size::U)),
    ("Iv", one(Class::I, Size::V)),
    ("Is", one(Class::Is, BYTE)),
    ("1", one(Class::One, BYTE)),
    ("Jb", one(Class::J, BYTE)),
    ("Jz", one(Class::J, DWORD)),
    ("Jx", one(Class::J, Size::Z)),
    ("Ob", one(Class::O, BYTE)),
    ("Ov", one(Class::O, Size::V)),
    ("Xb", one(Class::X, BYTE)),
    ("Xw", one(Class::X, WORD)),
    ("Xd", one(Class::X, DWORD)),
    ("Xq", one(Class::X, QWORD)),
    ("Yb", one(Class::Y, BYTE)),
    ("Yw", one(Class::Y, WORD)),
    ("Yd", one(Class::Y, DWORD)),
    ("Yq", one(Class::Y, QWORD)),
    ("Tq", one(Class::T, QWORD)),
    ("Tx", one(Class::T, XMM)),
    ("XL", one(Class::Table, BYTE)),
    ("S", one(Class::S, WORD)),
    ("FS", one(Class::Segment(4), WORD)),
    ("GS", one(Class::Segment(5), WORD)),
    ("C", one(Class::C, QWORD)),
    ("D", one(Class::D, QWORD)),
    ("ST", one(Class::Top, Size::Bytes(10))),
    ("STi", one(Class::Stack, Size::Bytes(10))),
    ("Kr", one(Class::K, QWORD)),
    ("Km", one(Class::Km, QWORD)),
    ("Ke", one(Class::Ke, QWORD)),
];

/// Kinds of registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum File {
    /// General, 8 bits; numbers 16 to 19 are `ah`, `ch`, `dh` and `bh`.
    Gpr8,
    /// General, 16 bits.
    Gpr16,
    /// General, 32 bits.
    Gpr32,
    /// General, 64 bits.
    Gpr64,
    /// Segment: `es`, `cs`, `ss`, `ds`, `fs`, `gs`.
    Segment,
    Control,
    Debug,
    X87,
    Mmx,
    Xmm,
    Ymm,
    Zmm,
    Mask,
}

/// A register, or the part of one that an operand names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Register {
    pub(crate) file: File,
    pub(crate) number: u8,
}

impl Register {
    /// The general register `number` of so many bytes, as an instruction with
    /// (`rex`) or without a REX prefix means it.
    pub(super) const fn general(number: u8, bytes: u16, rex: bool) -> Self {
        let (file, number) = match bytes {
            1 if !rex && number >= 4 && number < 8 => (File::Gpr8, number + 12),
            1 => (File::Gpr8, number),
            2 => (File::Gpr16, number),
            4 => (File::Gpr32, number),
            _ => (File::Gpr64, number),
        };
        Self { file, number }
    }

    /// The vector register `number` of so many bytes.
    pub(super) const fn vector(number: u8, bytes: u16) -> Self {
        let file = match bytes {
            64 => File::Zmm,
            32 => File::Ymm,
            _ => File::Xmm,
        };
        Self { file, number }
    }
}

/// Segment numbers of memory operands that matter.
pub(crate) const FS: u8 = 4;
pub(crate) const GS: u8 = 5;

/// What the address of a memory operand starts from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Base {
    /// Nothing: the displacement is the address.
    None,
    /// The next instruction's address, which the displacement includes.
    Rip,
    /// A 64-bit register, by number.
    Register(u8),
}

/// The memory operand of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Memory {
    /// The segment that a prefix names, by number.
    pub(crate) segment: Option<u8>,
    pub(crate) base: Base,
    /// The index: a 64-bit register, by number; and the shift of its value.
    pub(crate) index: Option<(u8, u8)>,
    /// Signed, as the two's complement; with [`Base::Rip`] the whole address.
    pub(crate) displacement: u64,
    /// Bytes of the displacement in the instruction.
    pub(crate) displacement_bytes: u8,
    /// Whether the address is computed in 32 bits.
    pub(crate) is_32_bit: bool,
}

/// What an operand is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operand {
    None,
    Register(Register),
    /// So many bytes of memory; 0 where that depends on the processor.
    Memory(Memory, u16),
    /// Memory that a string instruction walks through.
    String(Memory, u16),
    /// Extended to 64 bits as the instruction does.
    Immediate(u64),
    /// Where a branch goes: link-time address.
    Target(VirtAddr),
}
