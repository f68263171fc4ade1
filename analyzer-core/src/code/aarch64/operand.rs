//! Operands of an A64 instruction in terms of the lifted form.

use yaxpeax_arm::armv8::a64::{Operand as Arg, ShiftStyle, SizeCode};

use crate::addr::VirtAddr;
use crate::code::ir::{BinaryOp, Lifted, Op, Operand, Reg, Width};

pub(super) const X0: Reg = Reg(0);
pub(super) const X16: Reg = Reg(16);
pub(super) const X17: Reg = Reg(17);
pub(super) const LINK: Reg = Reg(30);
pub(super) const SP: Reg = Reg(31);

/// A register operand; `reg` is `None` for the zero register.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Gpr {
    pub(super) reg: Option<Reg>,
    pub(super) width: Width,
}

impl Gpr {
    /// The operand, or `None` when it is no general-purpose register.
    pub(super) fn of(arg: Arg) -> Option<Self> {
        match arg {
            Arg::Register(size, number) => {
                Some(Self { reg: numbered(number), width: width_of(size) })
            }
            Arg::RegisterOrSP(size, number) => {
                Some(Self { reg: Some(base(number)), width: width_of(size) })
            }
            _ => None,
        }
    }

    /// Its value.
    pub(super) fn value(self) -> Operand {
        self.reg.map_or(Operand::Const(0), Operand::Reg)
    }
}

/// Register `number` where 31 is the zero register.
pub(super) fn numbered(number: u16) -> Option<Reg> {
    (number < 31).then_some(Reg(number as u8))
}

/// Register `number` where 31 is the stack pointer.
pub(super) fn base(number: u16) -> Reg {
    Reg((number & 31) as u8)
}

/// Width of a register operand.
pub(super) const fn width_of(size: SizeCode) -> Width {
    match size {
        SizeCode::X => Width::W64,
        SizeCode::W => Width::W32,
    }
}

/// `offset` bytes from an instruction at `address`, wrapping.
pub(super) const fn relative(address: VirtAddr, offset: i64) -> VirtAddr {
    VirtAddr(address.0.wrapping_add(offset as u64))
}

/// Emits `dst := left op right`; nothing for the zero register.
pub(super) fn binary(
    op: BinaryOp,
    dst: Option<Reg>,
    left: Operand,
    right: Operand,
    width: Width,
    out: &mut Lifted,
) {
    if let Some(dst) = dst {
        out.ops.push(Op::Binary { op, dst, left, right, width });
    }
}

/// Emits `dst := src`; nothing for the zero register.
pub(super) fn assign(dst: Option<Reg>, src: Operand, width: Width, out: &mut Lifted) {
    if let Some(dst) = dst {
        out.ops.push(Op::Move { dst, src, width });
    }
}

/// Emits that `dst` becomes unknown; nothing for the zero register.
pub(super) fn clobber(dst: Option<Reg>, out: &mut Lifted) {
    if let Some(dst) = dst {
        out.ops.push(Op::Clobber { dst });
    }
}

/// Emits what is needed to read the last operand of an addition or a logical
/// operation that computes in `width` bits, and gives its value; `temp` holds
/// it where it is shifted or extended.
pub(super) fn flexible(arg: Arg, width: Width, temp: Reg, out: &mut Lifted) -> Option<Operand> {
    match arg {
        Arg::Immediate(value) => Some(Operand::Const(u64::from(value))),
        Arg::Imm64(value) => Some(Operand::Const(value)),
        Arg::ImmShift(value, shift) => {
            Some(Operand::Const(u64::from(value).checked_shl(u32::from(shift))?))
        }
        Arg::Register(..) | Arg::RegisterOrSP(..) => Gpr::of(arg).map(Gpr::value),
        Arg::RegShift(style, amount, size, number) => {
            let src = numbered(number).map_or(Operand::Const(0), Operand::Reg);
            Some(shifted(style, amount, width_of(size), src, width, temp, out))
        }
        _ => None,
    }
}

fn shifted(
    style: ShiftStyle,
    amount: u8,
    from: Width,
    src: Operand,
    width: Width,
    temp: Reg,
    out: &mut Lifted,
) -> Operand {
    let amount_of = Operand::Const(u64::from(amount));
    let (extended_from, signed) = match style {
        // The decoder prints `uxtw` of a 32-bit register as `lsl`.
        ShiftStyle::LSL | ShiftStyle::UXTX | ShiftStyle::SXTX => (from, false),
        ShiftStyle::UXTB => (Width::W8, false),
        ShiftStyle::UXTH => (Width::W16, false),
        ShiftStyle::UXTW => (Width::W32, false),
        ShiftStyle::SXTB => (Width::W8, true),
        ShiftStyle::SXTH => (Width::W16, true),
        ShiftStyle::SXTW => (Width::W32, true),
        ShiftStyle::LSR | ShiftStyle::ASR | ShiftStyle::ROR if amount == 0 => return src,
        ShiftStyle::LSR => {
            binary(BinaryOp::Shr, Some(temp), src, amount_of, width, out);
            return Operand::Reg(temp);
        }
        ShiftStyle::ASR => {
            binary(BinaryOp::Sar, Some(temp), src, amount_of, width, out);
            return Operand::Reg(temp);
        }
        ShiftStyle::ROR => {
            out.ops.push(Op::Clobber { dst: temp });
            return Operand::Reg(temp);
        }
    };
    let mut value = src;
    if extended_from.bytes() < width.bytes() {
        out.ops.push(Op::Extend { dst: temp, src, from: extended_from, signed, width });
        value = Operand::Reg(temp);
    }
    if amount != 0 {
        binary(BinaryOp::Shl, Some(temp), value, amount_of, width, out);
        value = Operand::Reg(temp);
    }
    value
}
