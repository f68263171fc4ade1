//! Moves: between registers and memory, to and from the stack, and addresses.

use super::decode::{Instruction, Kind};
use super::operand::{
    Part, Place, RBP, RSP, address, clobber_memory, load, move_stack, stack, store,
};
use crate::code::ir::{Lifted, Op, Operand, Reg, Width};

/// Lifts the instruction if it is one of these.
pub(super) fn lift(instruction: &Instruction, out: &mut Lifted) -> bool {
    match instruction.kind() {
        Kind::Mov => mov(instruction, out),
        Kind::Movzx => extend(instruction, false, out),
        Kind::Movsx => extend(instruction, true, out),
        Kind::Lea => lea(instruction, out),
        Kind::Push => push(instruction, out),
        Kind::Pop => pop(instruction, out),
        Kind::PushFlags => push_flags(instruction, out),
        Kind::PopFlags => pop_flags(instruction, out),
        Kind::Leave => leave(instruction, out),
        Kind::Enter => enter(instruction, out),
        Kind::Xchg => xchg(instruction, out),
        Kind::Rdfsbase => rdfsbase(instruction, out),
        Kind::Cmov => cmov(instruction, out),
        _ => false,
    }
}

fn mov(instruction: &Instruction, out: &mut Lifted) -> bool {
    let src = Place::of(instruction, 1);
    match (Place::of(instruction, 0), src) {
        (Place::Part(dst), _) if dst.keeps_rest() => out.ops.push(Op::Clobber { dst: dst.reg }),
        (Place::Part(dst), Place::Memory(address, _)) => {
            load(dst.reg, address, dst.width, false, dst.width, out);
        }
        (Place::Part(dst), _) => match src.read(Reg::TEMP0, out) {
            Some(src) => out.ops.push(Op::Move { dst: dst.reg, src, width: dst.width }),
            None => out.ops.push(Op::Clobber { dst: dst.reg }),
        },
        (Place::Memory(address, size), src_place) => {
            match (super::operand::width_of(size), src_place.read(Reg::TEMP0, out)) {
                (Some(width), Some(src)) => store(address, src, width, out),
                _ => clobber_memory(address, size, out),
            }
        }
        // A segment, control or debug register.
        _ => {}
    }
    true
}

fn extend(instruction: &Instruction, signed: bool, out: &mut Lifted) -> bool {
    let Place::Part(dst) = Place::of(instruction, 0) else {
        return false;
    };
    let src = Place::of(instruction, 1);
    let Some(from) = src.width() else {
        return false;
    };
    if dst.keeps_rest() {
        out.ops.push(Op::Clobber { dst: dst.reg });
    } else if let Place::Memory(address, _) = src {
        load(dst.reg, address, from, signed, dst.width, out);
    } else if let Some(src) = src.read(Reg::TEMP0, out) {
        out.ops.push(Op::Extend { dst: dst.reg, src, from, signed, width: dst.width });
    }
    true
}

fn lea(instruction: &Instruction, out: &mut Lifted) -> bool {
    let Place::Part(dst) = Place::of(instruction, 0) else {
        return false;
    };
    // A segment prefix does not matter here.
    let address = address(instruction.memory()).map(|mut address| {
        address.thread_pointer = false;
        address
    });
    out.ops.push(match address {
        _ if dst.keeps_rest() => Op::Clobber { dst: dst.reg },
        Some(address) if address.index.is_none() && address.displacement == 0 => {
            Op::Move { dst: dst.reg, src: address.base, width: dst.width }
        }
        Some(address) => Op::Lea { dst: dst.reg, address, width: dst.width },
        None => Op::Clobber { dst: dst.reg },
    });
    true
}

/// Bytes that an instruction on the stack moves: 2 with an operand-size
/// prefix, 8 without.
fn slot(instruction: &Instruction) -> u16 {
    if instruction.size() == 16 { 2 } else { 8 }
}

fn push(instruction: &Instruction, out: &mut Lifted) -> bool {
    if slot(instruction) != 8 {
        return push_flags(instruction, out);
    }
    // `push rsp` stores the value before the push, and an address that uses
    // `rsp` is computed before it.
    match Place::of(instruction, 0).read(Reg::TEMP0, out) {
        Some(src) => store(Some(stack(8u64.wrapping_neg())), src, Width::W64, out),
        // A segment register: its upper bits are not defined.
        None => clobber_memory(Some(stack(8u64.wrapping_neg())), 8, out),
    }
    move_stack(8u64.wrapping_neg(), out);
    true
}

/// Pushes something unknown.
fn push_flags(instruction: &Instruction, out: &mut Lifted) -> bool {
    let below = u64::from(slot(instruction)).wrapping_neg();
    clobber_memory(Some(stack(below)), slot(instruction), out);
    move_stack(below, out);
    true
}

fn pop(instruction: &Instruction, out: &mut Lifted) -> bool {
    let place = Place::of(instruction, 0);
    if slot(instruction) != 8 {
        match place {
            Place::Part(dst) => out.ops.push(Op::Clobber { dst: dst.reg }),
            Place::Memory(..) => out.ops.push(Op::ClobberAllMemory),
            Place::Immediate(_) | Place::Other => {}
        }
        if !matches!(place, Place::Part(dst) if dst.reg == RSP) {
            move_stack(slot(instruction).into(), out);
        }
        return true;
    }
    match place {
        Place::Part(dst) if dst.reg == RSP => {
            load(RSP, Some(stack(0)), Width::W64, false, Width::W64, out);
        }
        Place::Part(dst) => {
            load(dst.reg, Some(stack(0)), Width::W64, false, Width::W64, out);
            move_stack(8, out);
        }
        Place::Memory(address, _) => {
            // An address that uses `rsp` is computed after the pop.
            load(Reg::TEMP0, Some(stack(0)), Width::W64, false, Width::W64, out);
            move_stack(8, out);
            store(address, Operand::Reg(Reg::TEMP0), Width::W64, out);
        }
        Place::Immediate(_) | Place::Other => move_stack(8, out),
    }
    true
}

fn pop_flags(instruction: &Instruction, out: &mut Lifted) -> bool {
    move_stack(slot(instruction).into(), out);
    true
}

fn leave(instruction: &Instruction, out: &mut Lifted) -> bool {
    if slot(instruction) != 8 {
        out.ops.push(Op::Clobber { dst: RSP });
        out.ops.push(Op::Clobber { dst: RBP });
        return true;
    }
    out.ops.push(Op::Move { dst: RSP, src: Operand::Reg(RBP), width: Width::W64 });
    load(RBP, Some(stack(0)), Width::W64, false, Width::W64, out);
    move_stack(8, out);
    true
}

fn enter(instruction: &Instruction, out: &mut Lifted) -> bool {
    let (Place::Immediate(bytes), Place::Immediate(depth)) =
        (Place::of(instruction, 0), Place::of(instruction, 1))
    else {
        return false;
    };
    if slot(instruction) != 8 || depth & 31 != 0 {
        out.ops.push(Op::ClobberAllMemory);
        out.ops.push(Op::Clobber { dst: RBP });
        out.ops.push(Op::Clobber { dst: RSP });
        return true;
    }
    store(Some(stack(8u64.wrapping_neg())), Operand::Reg(RBP), Width::W64, out);
    move_stack(8u64.wrapping_neg(), out);
    out.ops.push(Op::Move { dst: RBP, src: Operand::Reg(RSP), width: Width::W64 });
    move_stack(bytes.wrapping_neg(), out);
    true
}

fn xchg(instruction: &Instruction, out: &mut Lifted) -> bool {
    let (left, right) = (Place::of(instruction, 0), Place::of(instruction, 1));
    match (left, right) {
        (Place::Part(left), Place::Part(right)) => exchange(left, right, out),
        (Place::Memory(address, _), Place::Part(reg)) => {
            // The form of a part that keeps the rest is a clobber, but what
            // goes to memory is still known.
            load(Reg::TEMP0, address, reg.width, false, Width::W64, out);
            if let Some(src) = right.read(Reg::TEMP1, out) {
                store(address, src, reg.width, out);
            }
            write(reg, Operand::Reg(Reg::TEMP0), out);
        }
        _ => return false,
    }
    true
}

fn exchange(left: Part, right: Part, out: &mut Lifted) {
    out.ops.push(Op::Move { dst: Reg::TEMP0, src: Operand::Reg(left.reg), width: Width::W64 });
    write(left, Operand::Reg(right.reg), out);
    write(right, Operand::Reg(Reg::TEMP0), out);
}

fn write(dst: Part, src: Operand, out: &mut Lifted) {
    out.ops.push(if dst.keeps_rest() {
        Op::Clobber { dst: dst.reg }
    } else {
        Op::Move { dst: dst.reg, src, width: dst.width }
    });
}

fn rdfsbase(instruction: &Instruction, out: &mut Lifted) -> bool {
    let Place::Part(dst) = Place::of(instruction, 0) else {
        return false;
    };
    out.ops.push(match dst.width {
        Width::W64 => Op::ThreadPointer { dst: dst.reg },
        _ => Op::Clobber { dst: dst.reg },
    });
    true
}

fn cmov(instruction: &Instruction, out: &mut Lifted) -> bool {
    let Place::Part(dst) = Place::of(instruction, 0) else {
        return false;
    };
    if dst.keeps_rest() {
        out.ops.push(Op::Clobber { dst: dst.reg });
        return true;
    }
    let Some(right) = Place::of(instruction, 1).read(Reg::TEMP0, out) else {
        return false;
    };
    let left = Operand::Reg(dst.reg);
    out.ops.push(Op::Select { dst: dst.reg, left, right, width: dst.width });
    true
}
