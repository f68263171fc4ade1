//! Data processing with registers (Arm ARM, DDI 0487, C4.1.95): sums, logic,
//! products, selections; of the others, what they write becomes unknown.

use super::operand::{Gpr, Logic, binary, clobber, three_operands};
use super::word::Word;
use crate::code::ir::{BinaryOp, Lifted, Op, Operand, Reg, Width};

/// Lifts one of these; `None` if nothing is allocated there.
pub(super) fn lift(word: Word, out: &mut Lifted) -> Option<()> {
    if !word.bit(28) {
        return match word.bit(24) {
            false => logical(word, out),
            true if word.bit(21) => add_sub_extended(word, out),
            true => add_sub_shifted(word, out),
        };
    }
    match word.bits(21, 4) {
        0b0000 => with_carry(word, out),
        // `ccmn`, `ccmp`: flags only.
        0b0010 => word.is(0x2000_0410, 0x2000_0000).then_some(()),
        0b0100 => select(word, out),
        0b0110 if word.bit(30) => one_source(word, out),
        0b0110 => two_sources(word, out),
        0b1000.. => three_sources(word, out),
        _ => None,
    }
}

fn logical(word: Word, out: &mut Lifted) -> Option<()> {
    let (logic, width) = (Logic::of(word), word.width());
    let mut right = shifted(word, out)?;
    if word.bit(21) {
        let ones = Operand::Const(u64::MAX);
        binary(BinaryOp::Xor, Some(Reg::TEMP0), right, ones, width, out);
        right = Operand::Reg(Reg::TEMP0);
    }
    three_operands(logic.op, word.gpr(0, width), word.gpr(5, width).value(), right, out);
    Some(())
}

fn sum(word: Word, dst: Gpr, left: Operand, right: Operand, out: &mut Lifted) {
    let op = if word.bit(30) { BinaryOp::Sub } else { BinaryOp::Add };
    three_operands(op, dst, left, right, out);
}

fn add_sub_shifted(word: Word, out: &mut Lifted) -> Option<()> {
    // There is no rotation.
    if word.bits(22, 2) == 3 {
        return None;
    }
    let width = word.width();
    let right = shifted(word, out)?;
    sum(word, word.gpr(0, width), word.gpr(5, width).value(), right, out);
    Some(())
}

fn add_sub_extended(word: Word, out: &mut Lifted) -> Option<()> {
    let amount = word.bits(10, 3);
    if word.bits(22, 2) != 0 || amount > 4 {
        return None;
    }
    let width = word.width();
    let from = match word.bits(13, 2) {
        0 => Width::W8,
        1 => Width::W16,
        2 => Width::W32,
        _ => Width::W64,
    };
    let mut right = word.gpr(16, width).value();
    if from.bytes() < width.bytes() {
        let signed = word.bit(15);
        out.ops.push(Op::Extend { dst: Reg::TEMP0, src: right, from, signed, width });
        right = Operand::Reg(Reg::TEMP0);
    }
    right = shift(BinaryOp::Shl, right, amount, width, out);
    let mut dst = word.gpr(0, width);
    if !word.bit(29) {
        dst.reg = Some(word.register_or_sp(0));
    }
    sum(word, dst, Operand::Reg(word.register_or_sp(5)), right, out);
    Some(())
}

/// Emits what is needed to shift the register at bit 16, and gives the value.
fn shifted(word: Word, out: &mut Lifted) -> Option<Operand> {
    let (amount, width) = (word.bits(10, 6), word.width());
    if amount > 31 && width == Width::W32 {
        return None;
    }
    let src = word.gpr(16, width).value();
    let op = match word.bits(22, 2) {
        0 => BinaryOp::Shl,
        1 => BinaryOp::Shr,
        2 => BinaryOp::Sar,
        _ if amount == 0 => return Some(src),
        _ => {
            clobber(Some(Reg::TEMP0), out);
            return Some(Operand::Reg(Reg::TEMP0));
        }
    };
    Some(shift(op, src, amount, width, out))
}

/// Emits a shift to a temporary, if it is one, and gives the value.
fn shift(op: BinaryOp, src: Operand, amount: u32, width: Width, out: &mut Lifted) -> Operand {
    if amount == 0 {
        return src;
    }
    binary(op, Some(Reg::TEMP0), src, Operand::Const(u64::from(amount)), width, out);
    Operand::Reg(Reg::TEMP0)
}

/// `adc` and `sbc`, and those that write flags only: `rmif`, `setf8`,
/// `setf16`.
fn with_carry(word: Word, out: &mut Lifted) -> Option<()> {
    if word.is(0xffe0_7c10, 0xba00_0400) || word.is(0xffff_bc1f, 0x3a00_080d) {
        return Some(());
    }
    if word.bits(10, 6) != 0 {
        return None;
    }
    clobber(word.register(0), out);
    Some(())
}

fn select(word: Word, out: &mut Lifted) -> Option<()> {
    if word.bit(29) || word.bit(11) {
        return None;
    }
    let width = word.width();
    let (left, right) = (word.gpr(5, width).value(), word.gpr(16, width).value());
    let Some(dst) = word.register(0) else {
        return Some(());
    };
    let second = match (word.bit(30), word.bit(10)) {
        (false, false) => None,
        (false, true) => Some((BinaryOp::Add, right, Operand::Const(1))),
        (true, false) => Some((BinaryOp::Xor, right, Operand::Const(u64::MAX))),
        (true, true) => Some((BinaryOp::Sub, Operand::Const(0), right)),
    };
    let right = second.map_or(right, |(op, first, second)| {
        binary(op, Some(Reg::TEMP0), first, second, width, out);
        Operand::Reg(Reg::TEMP0)
    });
    out.ops.push(Op::Select { dst, left, right, width });
    Some(())
}

/// Whether bit `number` of `set` is set.
fn contains(set: u32, number: u32) -> bool {
    set.checked_shr(number).is_some_and(|set| set & 1 == 1)
}

/// Divisions, shifts by a register, checksums, tags, `pacga`.
fn two_sources(word: Word, out: &mut Lifted) -> Option<()> {
    /// Opcodes with 32-bit and with 64-bit registers.
    const ALLOCATED: [u32; 2] = [0b0111_0111_0000_1111_0000_1100, 0b1000_1000_0001_1111_0011_1101];
    let [narrow, wide] = ALLOCATED;
    let opcode = word.bits(10, 6);
    if !contains(if word.bit(31) { wide } else { narrow }, opcode) || word.bit(29) && opcode != 0 {
        return None;
    }
    // `irg` writes the stack pointer.
    let dst = if opcode == 4 { Some(word.register_or_sp(0)) } else { word.register(0) };
    clobber(dst, out);
    Some(())
}

/// Reversals, counts, and pointer authentication.
fn one_source(word: Word, out: &mut Lifted) -> Option<()> {
    let opcode = word.bits(10, 6);
    let is_allocated = match word.bits(16, 5) {
        // `rev` of 64 bits has no 32-bit form.
        0 => opcode < 6 && (opcode != 3 || word.bit(31)),
        // Without a modifier from 8 on.
        1 if word.bit(31) => opcode < 8 || opcode < 18 && word.number(5) == 31,
        _ => false,
    };
    if is_allocated && !word.bit(29) {
        clobber(word.register(0), out);
        return Some(());
    }
    return_address(word, opcode, out)
}

/// `pacibsppc` and its like: the same address to the analysis.
fn return_address(word: Word, opcode: u32, out: &mut Lifted) -> Option<()> {
    if !word.is(0xffff_001f, 0xdac1_001e) {
        return None;
    }
    match opcode {
        // `autiasppcr`, `autibsppcr` have an operand.
        36 | 37 => return Some(()),
        32 | 33 | 40 | 41 => {}
        34 | 35 | 46 | 47 => clobber(Some(Reg(17)), out),
        _ => return None,
    }
    (word.number(5) == 31).then_some(())
}

/// `dst := addend ± left * right`.
fn three_sources(word: Word, out: &mut Lifted) -> Option<()> {
    let dst = word.gpr(0, word.width());
    let mut factors = [word.gpr(5, dst.width).value(), word.gpr(16, dst.width).value()];
    let is_64_bit = word.is(0xe000_0000, 0x8000_0000);
    match word.bits(21, 3) {
        0b000 if word.bits(29, 2) == 0 => {}
        // 32-bit factors.
        0b001 | 0b101 if is_64_bit => {
            for (factor, temp) in factors.iter_mut().zip([Reg::TEMP0, Reg::TEMP1]) {
                let (from, signed) = (Width::W32, !word.bit(23));
                out.ops.push(Op::Extend {
                    dst: temp,
                    src: *factor,
                    from,
                    signed,
                    width: Width::W64,
                });
                *factor = Operand::Reg(temp);
            }
        }
        // The upper half.
        0b010 | 0b110 if is_64_bit && !word.bit(15) => {
            clobber(dst.reg, out);
            return Some(());
        }
        _ => return None,
    }
    let ([left, right], addend) = (factors, word.gpr(10, dst.width));
    if !word.bit(15) && addend.reg.is_none() {
        binary(BinaryOp::Mul, dst.reg, left, right, dst.width, out);
    } else {
        let op = if word.bit(15) { BinaryOp::Sub } else { BinaryOp::Add };
        let product = Operand::Reg(Reg::TEMP0);
        binary(BinaryOp::Mul, Some(Reg::TEMP0), left, right, dst.width, out);
        binary(op, dst.reg, addend.value(), product, dst.width, out);
    }
    Some(())
}
