//! Branches, exceptions and system instructions (Arm ARM, DDI 0487, C4.1.93):
//! where control goes, the thread pointer, and hints.

use super::INSTRUCTION_LEN;
use super::operand::clobber;
use super::word::Word;
use crate::addr::VirtAddr;
use crate::code::ir::{Flow, Lifted, Op, Operand, Reg, Target, Width};

const X0: Reg = Reg(0);
const X16: Reg = Reg(16);
const X17: Reg = Reg(17);
const LINK: Reg = Reg(30);

/// `TPIDR_EL0` as `mrs` and `msr` name it: `o0:op1:CRn:CRm:op2` = 1:3:13:0:2.
pub(crate) const TPIDR_EL0: u32 = 0x5e82;

/// Lifts one of these; `None` if nothing is allocated there.
pub(super) fn lift(word: Word, out: &mut Lifted) -> Option<()> {
    let target = word.target(out.address);
    match (word.bits(29, 3), word.bits(24, 2)) {
        (0b000, _) => out.flow = Flow::Jump(Target::Address(target)),
        (0b100, _) => call(Target::Address(target), out),
        // `cbz`, `tbz`.
        (0b001 | 0b101, _) => out.flow = Flow::Branch(target),
        // Conditions 14 and 15 both mean "always".
        (0b010, 0b00) if word.bits(1, 3) == 7 => {
            out.flow = Flow::Jump(Target::Address(target));
        }
        (0b010, 0b00) => out.flow = Flow::Branch(target),
        // `retaasppc`, `retabsppc`.
        (0b010, 0b01) if word.is(0x00c0_001f, 0x1f) => out.flow = Flow::Return,
        (0b110, 0b00) => exception(word, out)?,
        (0b110, 0b01) => system(word, out)?,
        (0b110, _) => register_branch(word, out)?,
        _ => return None,
    }
    Some(())
}

fn call(target: Target, out: &mut Lifted) {
    let next = VirtAddr(out.address.0.wrapping_add(u64::from(INSTRUCTION_LEN)));
    out.ops.push(Op::Move { dst: LINK, src: Operand::Pc(next), width: Width::W64 });
    out.flow = Flow::Call(target);
}

fn exception(word: Word, out: &mut Lifted) -> Option<()> {
    match (word.bits(21, 3), word.bits(0, 5)) {
        // `svc`: the kernel keeps the other registers and may write to any
        // buffer it is given.
        (0b000, 0b01) => {
            out.ops.push(Op::ClobberAllMemory);
            clobber(Some(X0), out);
        }
        // `hvc` and `smc`; `brk`; `hlt`; `dcps1` to `dcps3`.
        (0b000, 0b10 | 0b11) | (0b001 | 0b010, 0) | (0b101, 0b01..=0b11) => out.flow = Flow::Stop,
        _ => return None,
    }
    Some(())
}

fn system(word: Word, out: &mut Lifted) -> Option<()> {
    let register = word.bits(5, 15);
    match word.bits(19, 5) {
        0b000 => return effectless(word, out),
        // `sys` can be `dc zva`, which writes memory.
        0b001 => {
            out.ops.push(Op::ClobberAllMemory);
            clobber(word.register(0), out);
        }
        // Writing the thread pointer would change what it means; no code
        // that an analysis follows does it.
        0b010 | 0b011 if register == TPIDR_EL0 => out.flow = Flow::Stop,
        0b010 | 0b011 => {}
        // `sysl`.
        0b101 => clobber(word.register(0), out),
        0b110 | 0b111 => match word.register(0) {
            Some(dst) if register == TPIDR_EL0 => out.ops.push(Op::ThreadPointer { dst }),
            dst => clobber(dst, out),
        },
        _ => return None,
    }
    Some(())
}

/// Hints, barriers, and `msr` of an immediate.
fn effectless(word: Word, out: &mut Lifted) -> Option<()> {
    let is_allocated = word.number(0) == 31
        && match word.bits(12, 4) {
            2 | 3 if word.bits(16, 3) != 3 => false,
            2 => {
                hint(word.bits(5, 7), out);
                true
            }
            // `clrex`, `dsb`, `dmb`, `isb`, `sb`.
            3 => matches!(word.bits(5, 3), 2 | 4..),
            4 => true,
            _ => false,
        };
    is_allocated.then_some(())
}

/// Signing and checking the return address leaves the same address to the
/// analysis.
fn hint(number: u32, out: &mut Lifted) {
    let changed = match number {
        // `xpaclri`.
        7 => LINK,
        // `pacia1716`, `pacib1716`, `autia1716`, `autib1716`.
        8 | 10 | 12 | 14 => X17,
        // `chkfeat x16`.
        40 => X16,
        _ => return,
    };
    clobber(Some(changed), out);
}

fn register_branch(word: Word, out: &mut Lifted) -> Option<()> {
    // Authenticated branches have bit 11 set; bit 10 says by which key. Bit
    // 24 says that the modifier is a register, at bit 0.
    let plain = word.is(0x001f_fc1f, 0x001f_0000);
    let with_zero = word.is(0x001f_f81f, 0x001f_081f);
    let with_register = word.is(0x001f_f800, 0x001f_0800);
    match word.bits(21, 4) {
        0b0000 if plain || with_zero => jump(word, out),
        0b1000 if with_register => jump(word, out),
        0b0001 if plain || with_zero => call_register(word, out),
        0b1001 if with_register => call_register(word, out),
        // `ret`; `retaa` and `retaasppcr`, and their like.
        0b0010 if plain || word.is(0x001f_fbe0, 0x001f_0be0) => out.flow = Flow::Return,
        // `eret`, `drps`; `eretaa`, `eretab`.
        0b0100 | 0b0101 if word.is(0x001f_ffff, 0x001f_03e0) => out.flow = Flow::Stop,
        0b0100 if word.is(0x001f_fbff, 0x001f_0bff) => out.flow = Flow::Stop,
        _ => return None,
    }
    Some(())
}

fn jump(word: Word, out: &mut Lifted) {
    out.flow = word.register(5).map_or(Flow::Stop, |reg| Flow::Jump(Target::Reg(reg)));
}

/// The target is evaluated after the effects: the link register as target
/// moves to a temporary first.
fn call_register(word: Word, out: &mut Lifted) {
    let Some(mut reg) = word.register(5) else {
        out.flow = Flow::Stop;
        return;
    };
    if reg == LINK {
        let src = Operand::Reg(LINK);
        out.ops.push(Op::Move { dst: Reg::TEMP0, src, width: Width::W64 });
        reg = Reg::TEMP0;
    }
    call(Target::Reg(reg), out);
}
