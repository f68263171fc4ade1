//! Loads and stores (Arm ARM, DDI 0487, C4.1.94).

use super::address::{Access, pair_scale, scale};
use super::operand::{Gpr, clobber};
use super::structures;
use super::word::Word;
use crate::code::ir::{Address, Lifted, Op, Operand, Reg, Width};

/// What a load or store moves between memory and one register.
#[derive(Clone, Copy)]
struct Element {
    is_load: bool,
    /// Bytes in memory.
    size: u8,
    signed: bool,
    /// Of the register.
    width: Width,
}

/// Lifts one of these; `None` if nothing is allocated there.
pub(super) fn lift(word: Word, out: &mut Lifted) -> Option<()> {
    let is_vector = word.bit(26);
    match word.bits(28, 2) {
        0b00 if is_vector => structures::lift(word, out),
        0b00 => exclusive(word, out),
        0b01 if !word.bit(24) => literal(word, out),
        0b01 if is_vector => None,
        0b01 if word.bit(21) => tags(word, out),
        // `ldapur`, `stlur`: nothing to prefetch there.
        0b01 if word.bits(10, 2) != 0 || is_prefetch(word) => None,
        0b01 => single(word, Access::of(word), out),
        0b10 => pair(word, out),
        _ => match (word.bit(24), word.bit(21), word.bits(10, 2)) {
            (true, ..) | (false, false, 0b00) => single(word, Access::of(word), out),
            // Unprivileged, or indexed by a constant.
            (false, false, mode) if is_prefetch(word) || is_vector && mode == 2 => None,
            (false, false, _) => single(word, Access::of(word), out),
            (false, true, 0b10) => single(word, Access::indexed(word)?, out),
            _ if is_vector => None,
            (false, true, 0b00) => atomic(word, out),
            // `ldraa`, `ldrab`.
            _ if word.bits(30, 2) == 3 => {
                anything(word, out);
                Some(())
            }
            _ => None,
        },
    }
}

/// `prfm` where a single load or store may stand.
const fn is_prefetch(word: Word) -> bool {
    word.is(0xc4c0_0000, 0xc080_0000)
}

fn single(word: Word, access: Access, out: &mut Lifted) -> Option<()> {
    if is_prefetch(word) {
        return Some(());
    }
    let (scale, opc) = (scale(word), word.bits(22, 2));
    if word.bit(26) {
        if scale > 4 {
            return None;
        }
        vector(&access, word.bit(22), 1u32.wrapping_shl(scale), out);
        return Some(());
    }
    let width = match (scale, opc) {
        (3, 0 | 1) | (0..=2, 2) => Width::W64,
        (0..=2, 0 | 1) | (0 | 1, 3) => Width::W32,
        _ => return None,
    };
    let size = 1u8.wrapping_shl(scale);
    transfer(word, &access, Element { is_load: opc != 0, size, signed: opc > 1, width }, out);
    Some(())
}

/// A vector register's load or store.
fn vector(access: &Access, is_load: bool, size: u32, out: &mut Lifted) {
    if !is_load {
        out.ops.push(Op::ClobberMemory { address: access.address, size });
    }
    access.write_back(out);
}

/// A load or store of the register at bit 0.
fn transfer(word: Word, access: &Access, element: Element, out: &mut Lifted) {
    let register = word.gpr(0, element.width);
    if !element.is_load {
        store(access, element.size, register, out);
    } else if access.writes_back_to(register.reg) {
        // Unpredictable.
        clobber(register.reg, out);
        return;
    } else {
        load(access, element, register, out);
    }
    access.write_back(out);
}

fn load(access: &Access, element: Element, dst: Gpr, out: &mut Lifted) {
    let Some(reg) = dst.reg else { return };
    out.ops.push(Op::Load {
        dst: reg,
        address: access.address,
        size: element.size,
        signed: element.signed,
        width: element.width,
    });
}

fn store(access: &Access, size: u8, src: Gpr, out: &mut Lifted) {
    let address = access.address;
    out.ops.push(if access.writes_back_to(src.reg) {
        // Which value is stored is unpredictable (Arm ARM, K1.1).
        Op::ClobberMemory { address, size: u32::from(size) }
    } else {
        Op::Store { address, src: src.value(), size }
    });
}

fn literal(word: Word, out: &mut Lifted) -> Option<()> {
    let (opc, is_vector) = (word.bits(30, 2), word.bit(26));
    match (is_vector, opc) {
        (true, 3) => return None,
        // A vector register's, or a prefetch.
        (true, _) | (false, 3) => return Some(()),
        _ => {}
    }
    let address = Address::offset(Operand::Pc(word.target(out.address)), 0);
    let (size, width) = match opc {
        0 => (4, Width::W32),
        1 => (8, Width::W64),
        _ => (4, Width::W64),
    };
    let element = Element { is_load: true, size, signed: opc == 2, width };
    transfer(word, &Access { address, writeback: None }, element, out);
    Some(())
}

fn pair(word: Word, out: &mut Lifted) -> Option<()> {
    let (opc, is_load, access) = (word.bits(30, 2), word.bit(22), Access::of(word));
    let size = 1u8.wrapping_shl(pair_scale(word));
    // `ldpsw`, which has no form without allocation in caches.
    let signed = opc == 1;
    if opc == 3 {
        return None;
    }
    if word.bit(26) {
        vector(&access, is_load, u32::from(size).wrapping_mul(2), out);
        return Some(());
    }
    if signed && (!is_load || word.bits(23, 2) == 0) {
        return None;
    }
    let width = if opc == 0 { Width::W32 } else { Width::W64 };
    let element = Element { is_load, size, signed, width };
    if !is_load {
        store(&access, size, word.gpr(0, width), out);
        store(&access.after(size), size, word.gpr(10, width), out);
        access.write_back(out);
        return Some(());
    }
    load_pair(word, &access, element, out);
    Some(())
}

/// Loads of the registers at bits 0 and 10.
fn load_pair(word: Word, access: &Access, element: Element, out: &mut Lifted) {
    let (first, second) = (word.gpr(0, element.width), word.gpr(10, element.width));
    let next = access.after(element.size);
    let unpredictable = first.reg.is_some() && first.reg == second.reg
        || access.writes_back_to(first.reg)
        || access.writes_back_to(second.reg);
    if unpredictable {
        clobber(first.reg, out);
        clobber(second.reg, out);
        clobber(access.writeback.map(|(base, _)| base), out);
        return;
    }
    // The register that is the base, too, is loaded last.
    if first.reg.is_some() && first.value() == access.address.base {
        load(&next, element, second, out);
        load(access, element, first, out);
    } else {
        load(access, element, first, out);
        load(&next, element, second, out);
    }
    access.write_back(out);
}

/// Exclusive and ordered loads and stores, compare and swap.
fn exclusive(word: Word, out: &mut Lifted) -> Option<()> {
    let (scale, is_load, ordered) = (scale(word), word.bit(22), word.bit(23));
    if word.bit(24) {
        return None;
    }
    let (size, access) = (1u8.wrapping_shl(scale), Access::of(word));
    let width = if scale == 3 { Width::W64 } else { Width::W32 };
    match (ordered, word.bit(21)) {
        // `cas`.
        (true, true) if word.number(10) == 31 => store_if(word, &access, size, out),
        // `casp`: of pairs of registers.
        (false, true) if scale < 2 => {
            if word.number(10) != 31 || word.bit(0) || word.bit(16) {
                return None;
            }
            anything(word, out);
        }
        // `ldxp`, a pair's load without write-back; `stxp`.
        (false, true) if is_load => {
            load_pair(word, &access, Element { is_load, size, signed: false, width }, out);
        }
        (false, true) => anything(word, out),
        (false, false) if !is_load => store_if(word, &access, size, out),
        (_, false) => transfer(word, &access, Element { is_load, size, signed: false, width }, out),
        _ => return None,
    }
    Some(())
}

/// A store that happens or not; the register at bit 16 receives what tells
/// (exclusive stores: the status, compare and swap: the old value).
fn store_if(word: Word, access: &Access, size: u8, out: &mut Lifted) {
    out.ops.push(Op::ClobberMemory { address: access.address, size: u32::from(size) });
    clobber(word.register(16), out);
}

/// Atomic memory operations: the old value to the register at bit 0.
fn atomic(word: Word, out: &mut Lifted) -> Option<()> {
    let (size, access) = (1u8.wrapping_shl(scale(word)), Access::of(word));
    match (word.bit(15), word.bits(12, 3)) {
        (false, _) | (true, 0b000) => {
            out.ops.push(Op::ClobberMemory { address: access.address, size: u32::from(size) });
            clobber(word.register(0), out);
        }
        // `ldapr`.
        (true, 0b100) if word.bits(22, 2) == 2 => {
            let width = if size == 8 { Width::W64 } else { Width::W32 };
            transfer(word, &access, Element { is_load: true, size, signed: false, width }, out);
        }
        _ => return None,
    }
    Some(())
}

/// Loads and stores of memory tags.
fn tags(word: Word, out: &mut Lifted) -> Option<()> {
    // Without an index only `ldg` has an offset.
    let has_no_offset = word.bits(10, 2) == 0 && word.bits(22, 2) != 1;
    if word.bits(30, 2) != 3 || has_no_offset && word.bits(12, 9) != 0 {
        return None;
    }
    anything(word, out);
    Some(())
}

/// Any memory, every register that stands where destinations do, and the base
/// register where the instruction writes it back.
fn anything(word: Word, out: &mut Lifted) {
    let mut written = 0u32;
    let mut writes = |number: u8| written |= 1u32.wrapping_shl(u32::from(number));
    for number in [0, 10, 16].map(|at| word.number(at)) {
        writes(number);
    }
    // `casp` writes the second register of its pair, too.
    if word.is(0xbfa0_0000, 0x0820_0000) {
        writes(word.number(16) | 1);
    }
    // None of them can be the stack pointer.
    written &= !(1 << 31);
    if let Some((base, _)) = Access::of(word).writeback {
        written |= 1u32.wrapping_shl(u32::from(base.0));
    }
    out.ops.push(Op::ClobberAllMemory);
    for number in (0..32u8).filter(|number| Word(written).bit(u32::from(*number))) {
        out.ops.push(Op::Clobber { dst: Reg(number) });
    }
}
