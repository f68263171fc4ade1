//! The lifted form: what one machine instruction does, in words both
//! instruction sets share.
//!
//! A front end turns one instruction into a [`Lifted`]: at most a handful of
//! [`Op`]s, executed in order, and one [`Flow`]. It says what the instruction
//! *writes* completely: a register or memory that changes in a way the form
//! cannot express is clobbered, never left out.

use crate::addr::VirtAddr;

/// A general-purpose register, or a temporary of a front end.
///
/// Numbers follow the instruction encodings: on x86-64 `rax` is 0, `rcx` 1,
/// `rdx` 2, `rbx` 3, `rsp` 4, `rbp` 5, `rsi` 6, `rdi` 7, then `r8` to `r15`;
/// on AArch64 `x0` to `x30` are 0 to 30 and `sp` is 31 (`xzr` is the constant
/// zero and never a `Reg`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Reg(pub u8);

impl Reg {
    /// First of the temporaries, which live within one instruction.
    pub const TEMP0: Reg = Reg(32);
    /// Second temporary.
    pub const TEMP1: Reg = Reg(33);
    /// Number of registers, temporaries included.
    pub const COUNT: usize = 34;
}

/// How many low bits of a result count; the rest of the register is zero
/// (both instruction sets clear the upper half on a 32-bit write; narrower
/// writes that keep the rest are lifted as [`Op::Clobber`]).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Width {
    /// 8 bits.
    W8,
    /// 16 bits.
    W16,
    /// 32 bits.
    W32,
    /// 64 bits.
    W64,
}

impl Width {
    /// The mask that keeps the bits that count.
    #[must_use]
    pub const fn mask(self) -> u64 {
        match self {
            Width::W8 => 0xff,
            Width::W16 => 0xffff,
            Width::W32 => 0xffff_ffff,
            Width::W64 => u64::MAX,
        }
    }

    /// Size in bytes.
    #[must_use]
    pub const fn bytes(self) -> u8 {
        match self {
            Width::W8 => 1,
            Width::W16 => 2,
            Width::W32 => 4,
            Width::W64 => 8,
        }
    }
}

/// A value an instruction reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operand {
    /// A register's full 64 bits.
    Reg(Reg),
    /// A number from the instruction: an immediate.
    Const(u64),
    /// An address computed from the instruction's own address
    /// (`rip`-relative, `adr`, `adrp`): moves with the image.
    Pc(VirtAddr),
}

/// A memory address an instruction computes:
/// `[thread pointer +] base + (index extended) << shift + displacement`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Address {
    /// Relative to the thread pointer (`fs:` on x86-64).
    pub thread_pointer: bool,
    /// The base; `Operand::Const(0)` where there is none.
    pub base: Operand,
    /// Index register, how it is widened, and the left shift applied.
    pub index: Option<Index>,
    /// Signed displacement, as the two's complement 64-bit number.
    pub displacement: u64,
}

impl Address {
    /// `base + displacement`.
    #[must_use]
    pub const fn offset(base: Operand, displacement: u64) -> Self {
        Self { thread_pointer: false, base, index: None, displacement }
    }
}

/// The scaled part of an [`Address`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Index {
    /// The register.
    pub reg: Reg,
    /// Low bits of it that are used: `W32` with `signed` false is `uxtw`.
    pub width: Width,
    /// Whether a narrow index is sign-extended.
    pub signed: bool,
    /// Left shift, 0 to 4.
    pub shift: u8,
}

/// Arithmetic the value domain may follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BinaryOp {
    /// Sum.
    Add,
    /// Difference, left minus right.
    Sub,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Left shift.
    Shl,
    /// Logical right shift (of the low `width` bits).
    Shr,
    /// Arithmetic right shift (of the low `width` bits).
    Sar,
    /// Low half of the product.
    Mul,
}

/// One effect of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// `dst := src`.
    Move {
        /// Register written.
        dst: Reg,
        /// Value read.
        src: Operand,
        /// Bits kept.
        width: Width,
    },
    /// `dst := left op right`, computed and kept in `width` bits.
    Binary {
        /// Which operation.
        op: BinaryOp,
        /// Register written.
        dst: Reg,
        /// Left operand.
        left: Operand,
        /// Right operand.
        right: Operand,
        /// Bits computed and kept.
        width: Width,
    },
    /// `dst := src`'s low `from` bits, sign- or zero-extended to `width`.
    Extend {
        /// Register written.
        dst: Reg,
        /// Value read.
        src: Operand,
        /// Bits read.
        from: Width,
        /// Sign-extend.
        signed: bool,
        /// Bits kept.
        width: Width,
    },
    /// `dst :=` the address itself (`lea`); `thread_pointer` is never set.
    Lea {
        /// Register written.
        dst: Reg,
        /// The address.
        address: Address,
        /// Bits kept.
        width: Width,
    },
    /// `dst :=` memory, `size` bytes, sign- or zero-extended to `width`.
    Load {
        /// Register written.
        dst: Reg,
        /// Where from.
        address: Address,
        /// Bytes read: 1, 2, 4 or 8.
        size: u8,
        /// Sign-extend.
        signed: bool,
        /// Bits kept.
        width: Width,
    },
    /// Memory `:= src`, its low `size` bytes.
    Store {
        /// Where to.
        address: Address,
        /// Value written.
        src: Operand,
        /// Bytes written: 1, 2, 4 or 8.
        size: u8,
    },
    /// `dst :=` one of the two, depending on flags (`cmov`, `csel`).
    Select {
        /// Register written.
        dst: Reg,
        /// One candidate.
        left: Operand,
        /// The other candidate.
        right: Operand,
        /// Bits kept.
        width: Width,
    },
    /// `dst :=` the thread pointer (`mrs dst, tpidr_el0`, `rdfsbase`).
    ThreadPointer {
        /// Register written.
        dst: Reg,
    },
    /// `dst` becomes unknown.
    Clobber {
        /// Register written.
        dst: Reg,
    },
    /// `size` bytes at `address` become unknown.
    ClobberMemory {
        /// Where; the operation is a [`Op::ClobberAllMemory`] if that cannot be said.
        address: Address,
        /// Bytes written.
        size: u32,
    },
    /// Any memory may have changed.
    ClobberAllMemory,
}

/// Where control can go after the instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    /// Only to the following instruction.
    Next,
    /// Only to the target: a jump, or a call in tail position.
    Jump(Target),
    /// To the target or to the following instruction.
    Branch(VirtAddr),
    /// To the target, and after its return to the following instruction.
    ///
    /// The effects end where the target starts: on x86-64 the return address
    /// is pushed (`rsp` is 8 lower), on AArch64 it is in `x30`. Who steps over
    /// the call adds [`Abi::call_pushes`](super::Abi::call_pushes) to the
    /// stack pointer.
    Call(Target),
    /// Back to the caller; on x86-64 the return address has been popped.
    Return,
    /// Nowhere the code says: a trap, an undefined or privileged instruction.
    Stop,
}

/// Where a jump or call goes.
///
/// To be evaluated after the effects; the register may be a temporary.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// An address in the image.
    Address(VirtAddr),
    /// The address held in memory (`jmp *slot(%rip)`).
    Memory(Address),
    /// The address held in a register.
    Reg(Reg),
}

/// One instruction, lifted.
#[derive(Clone, Debug)]
pub struct Lifted {
    /// Link-time address.
    pub address: VirtAddr,
    /// Length in bytes.
    pub len: u8,
    /// Effects, in order.
    pub ops: alloc::vec::Vec<Op>,
    /// Where control goes.
    pub flow: Flow,
}

impl Lifted {
    /// An empty one, to be filled by a front end and reused.
    #[must_use]
    pub const fn new() -> Self {
        Self { address: VirtAddr(0), len: 0, ops: alloc::vec::Vec::new(), flow: Flow::Next }
    }

    /// Makes this the empty instruction at `address`; keeps the memory.
    pub(super) fn reset(&mut self, address: VirtAddr) {
        self.address = address;
        self.len = 0;
        self.ops.clear();
        self.flow = Flow::Next;
    }
}

impl Default for Lifted {
    fn default() -> Self {
        Self::new()
    }
}

/// Why bytes could not be lifted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LiftError {
    /// The bytes end inside the instruction.
    Truncated,
    /// No instruction has these bytes, or the decoder does not know it.
    Undecodable,
}
