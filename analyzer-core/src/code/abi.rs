//! Calling conventions: which registers carry what at a call.

use super::ir::Reg;
use crate::report::Arch;

/// What a function may rely on at a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Abi {
    /// Registers of the integer and pointer arguments, in order.
    pub args: &'static [Reg],
    /// Register of an integer or pointer result.
    pub ret: Reg,
    /// The stack pointer.
    pub sp: Reg,
    /// Registers a call leaves as they were, besides the stack pointer.
    pub callee_saved: &'static [Reg],
    /// Bit *n* is set when register *n* may hold anything after a call.
    pub caller_saved: u64,
    /// Register of the return address, where it is not on the stack.
    pub link: Option<Reg>,
    /// Bytes a call instruction pushes and a return takes back. The lifted
    /// form of a call includes the push, that of a return the pop; who steps
    /// over a call adds this to the stack pointer.
    pub call_pushes: u8,
    /// Bytes below the stack pointer that a leaf function may use.
    pub red_zone: u8,
}

impl Abi {
    /// Whether a call may change `reg`.
    #[must_use]
    pub const fn is_caller_saved(&self, reg: Reg) -> bool {
        reg.0 < 64 && self.caller_saved >> reg.0 & 1 == 1
    }
}

/// System V x86-64 psABI 1.0, section 3.2.1 and figure 3.4 (registers),
/// 3.2.2 (red zone).
static X86_64: Abi = Abi {
    args: &[Reg(7), Reg(6), Reg(2), Reg(1), Reg(8), Reg(9)],
    ret: Reg(0),
    sp: Reg(4),
    callee_saved: &[Reg(3), Reg(5), Reg(12), Reg(13), Reg(14), Reg(15)],
    caller_saved: 0b0000_1111_1100_0111,
    link: None,
    call_pushes: 8,
    red_zone: 128,
};

/// Procedure Call Standard for the Arm 64-bit Architecture (AAPCS64)
/// 2024Q3, section 6.1.1: `x0` to `x7` arguments, `x8` to `x18` and `x30`
/// changed by a call (`x18`, the platform register, is an ordinary temporary
/// on Linux), `x19` to `x29` kept.
static AARCH64: Abi = Abi {
    args: &[Reg(0), Reg(1), Reg(2), Reg(3), Reg(4), Reg(5), Reg(6), Reg(7)],
    ret: Reg(0),
    sp: Reg(31),
    callee_saved: &[
        Reg(19),
        Reg(20),
        Reg(21),
        Reg(22),
        Reg(23),
        Reg(24),
        Reg(25),
        Reg(26),
        Reg(27),
        Reg(28),
        Reg(29),
    ],
    caller_saved: 0x4007_ffff,
    link: Some(Reg(30)),
    call_pushes: 0,
    red_zone: 0,
};

/// The Linux calling convention of an instruction set.
#[must_use]
pub const fn abi(arch: Arch) -> &'static Abi {
    match arch {
        Arch::X86_64 => &X86_64,
        Arch::Aarch64 => &AARCH64,
    }
}

/// Name of a register's 64-bit form: `rax`, `x0`, `sp`.
///
/// The temporaries are `temp0` and `temp1`; a number no register has is `?`.
#[must_use]
pub fn reg_name(arch: Arch, reg: Reg) -> &'static str {
    const X86_64: [&str; 16] = [
        "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12",
        "r13", "r14", "r15",
    ];
    const AARCH64: [&str; 32] = [
        "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13",
        "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26",
        "x27", "x28", "x29", "x30", "sp",
    ];
    let names: &[&str] = match arch {
        Arch::X86_64 => &X86_64,
        Arch::Aarch64 => &AARCH64,
    };
    match reg {
        Reg::TEMP0 => "temp0",
        Reg::TEMP1 => "temp1",
        Reg(number) => names.get(usize::from(number)).copied().unwrap_or("?"),
    }
}
