//! Loads and stores.

use yaxpeax_arm::armv8::a64::{
    Instruction, Opcode, Operand as Arg, SIMDSizeCode, ShiftStyle, SizeCode,
};

use super::operand::{Gpr, base, clobber, numbered, relative};
use crate::addr::VirtAddr;
use crate::code::ir::{Address, BinaryOp, Index, Lifted, Op, Operand, Reg, Width};

/// What a load or store moves.
#[derive(Clone, Copy)]
enum Element {
    /// As many bytes as the register has.
    Whole,
    /// The low bytes, zero-extended by a load.
    Unsigned(u8),
    /// The low bytes, sign-extended by a load.
    Signed(u8),
}

/// An address and what happens to its base register afterwards.
#[derive(Clone, Copy)]
struct Access {
    address: Address,
    /// The base register and the bytes added to it.
    writeback: Option<(Reg, u64)>,
}

/// Lifts the instruction if it is one of these.
pub(super) fn lift(instruction: &Instruction, out: &mut Lifted) -> bool {
    lift_kind(instruction, out).is_some()
}

fn lift_kind(instruction: &Instruction, out: &mut Lifted) -> Option<()> {
    use Element::{Signed, Unsigned, Whole};
    match instruction.opcode {
        Opcode::LDR
        | Opcode::LDUR
        | Opcode::LDTR
        | Opcode::LDAR
        | Opcode::LDLAR
        | Opcode::LDAPR
        | Opcode::LDAPUR
        | Opcode::LDXR
        | Opcode::LDAXR => load(Whole, instruction, out),
        Opcode::LDRB
        | Opcode::LDURB
        | Opcode::LDTRB
        | Opcode::LDARB
        | Opcode::LDLARB
        | Opcode::LDAPRB
        | Opcode::LDAPURB
        | Opcode::LDXRB
        | Opcode::LDAXRB => load(Unsigned(1), instruction, out),
        Opcode::LDRH
        | Opcode::LDURH
        | Opcode::LDTRH
        | Opcode::LDARH
        | Opcode::LDLARH
        | Opcode::LDAPRH
        | Opcode::LDAPURH
        | Opcode::LDXRH
        | Opcode::LDAXRH => load(Unsigned(2), instruction, out),
        Opcode::LDRSB | Opcode::LDURSB | Opcode::LDTRSB | Opcode::LDAPURSB => {
            load(Signed(1), instruction, out)
        }
        Opcode::LDRSH | Opcode::LDURSH | Opcode::LDTRSH | Opcode::LDAPURSH => {
            load(Signed(2), instruction, out)
        }
        Opcode::LDRSW | Opcode::LDURSW | Opcode::LDTRSW | Opcode::LDAPURSW => {
            load(Signed(4), instruction, out)
        }
        Opcode::STR
        | Opcode::STUR
        | Opcode::STTR
        | Opcode::STLR
        | Opcode::STLLR
        | Opcode::STLUR => store(Whole, instruction, out),
        Opcode::STRB
        | Opcode::STURB
        | Opcode::STTRB
        | Opcode::STLRB
        | Opcode::STLLRB
        | Opcode::STLURB => store(Unsigned(1), instruction, out),
        Opcode::STRH
        | Opcode::STURH
        | Opcode::STTRH
        | Opcode::STLRH
        | Opcode::STLLRH
        | Opcode::STLURH => store(Unsigned(2), instruction, out),
        Opcode::LDP | Opcode::LDNP | Opcode::LDXP | Opcode::LDAXP => {
            load_pair(Whole, instruction, out)
        }
        Opcode::LDPSW => load_pair(Signed(4), instruction, out),
        Opcode::STP | Opcode::STNP => store_pair(instruction, out),
        Opcode::STXR | Opcode::STLXR => store_if(Whole, instruction, out),
        Opcode::STXRB | Opcode::STLXRB => store_if(Unsigned(1), instruction, out),
        Opcode::STXRH | Opcode::STLXRH => store_if(Unsigned(2), instruction, out),
        Opcode::CAS(_) => store_if(Whole, instruction, out),
        Opcode::CASB(_) => store_if(Unsigned(1), instruction, out),
        Opcode::CASH(_) => store_if(Unsigned(2), instruction, out),
        _ => None,
    }
}

impl Element {
    /// Bytes in memory, where the register has `width` bits.
    const fn size(self, width: Width) -> u8 {
        match self {
            Self::Whole => width.bytes(),
            Self::Unsigned(size) | Self::Signed(size) => size,
        }
    }
}

impl Access {
    fn of(arg: Arg, at: VirtAddr) -> Option<Self> {
        Some(match arg {
            Arg::PCOffset(offset) => Self {
                address: Address::offset(Operand::Pc(relative(at, offset)), 0),
                writeback: None,
            },
            Arg::RegPreIndex(number, offset, writeback) => {
                let reg = base(number);
                let offset = i64::from(offset) as u64;
                Self {
                    address: Address::offset(Operand::Reg(reg), offset),
                    writeback: writeback.then_some((reg, offset)),
                }
            }
            Arg::RegPostIndex(number, offset) => {
                let reg = base(number);
                Self {
                    address: Address::offset(Operand::Reg(reg), 0),
                    writeback: Some((reg, i64::from(offset) as u64)),
                }
            }
            Arg::RegRegOffset(number, index, size, style, shift) => {
                let mut address = Address::offset(Operand::Reg(base(number)), 0);
                let signed = matches!(style, ShiftStyle::SXTW);
                let width = match size {
                    SizeCode::W => Width::W32,
                    SizeCode::X => Width::W64,
                };
                // The zero register as index adds nothing.
                address.index = numbered(index).map(|reg| Index { reg, width, signed, shift });
                Self { address, writeback: None }
            }
            _ => return None,
        })
    }

    /// `bytes` further.
    fn after(mut self, bytes: u8) -> Self {
        self.address.displacement = self.address.displacement.wrapping_add(u64::from(bytes));
        self
    }

    /// Whether the instruction changes `reg`, too.
    fn writes_back_to(&self, reg: Option<Reg>) -> bool {
        self.writeback.is_some_and(|(base, _)| Some(base) == reg)
    }

    fn write_back(&self, out: &mut Lifted) {
        if let Some((dst, bytes)) = self.writeback {
            out.ops.push(Op::Binary {
                op: BinaryOp::Add,
                dst,
                left: Operand::Reg(dst),
                right: Operand::Const(bytes),
                width: Width::W64,
            });
        }
    }

    fn load(&self, element: Element, dst: Gpr, out: &mut Lifted) {
        let Some(reg) = dst.reg else { return };
        out.ops.push(Op::Load {
            dst: reg,
            address: self.address,
            size: element.size(dst.width),
            signed: matches!(element, Element::Signed(_)),
            width: dst.width,
        });
    }

    fn store(&self, element: Element, src: Gpr, out: &mut Lifted) {
        let (address, size) = (self.address, element.size(src.width));
        out.ops.push(if self.writes_back_to(src.reg) {
            // Which value is stored is unpredictable (Arm ARM, K1.1).
            Op::ClobberMemory { address, size: u32::from(size) }
        } else {
            Op::Store { address, src: src.value(), size }
        });
    }
}

fn load(element: Element, instruction: &Instruction, out: &mut Lifted) -> Option<()> {
    let [dst, arg, ..] = instruction.operands;
    let access = Access::of(arg, out.address)?;
    match dst {
        Arg::SIMDRegister(..) => {}
        _ => {
            let dst = Gpr::of(dst)?;
            if access.writes_back_to(dst.reg) {
                // Unpredictable.
                clobber(dst.reg, out);
                return Some(());
            }
            access.load(element, dst, out);
        }
    }
    access.write_back(out);
    Some(())
}

fn store(element: Element, instruction: &Instruction, out: &mut Lifted) -> Option<()> {
    let [src, arg, ..] = instruction.operands;
    let access = Access::of(arg, out.address)?;
    match src {
        Arg::SIMDRegister(size, _) => {
            let address = access.address;
            out.ops.push(Op::ClobberMemory { address, size: u32::from(bytes(size)) });
        }
        _ => access.store(element, Gpr::of(src)?, out),
    }
    access.write_back(out);
    Some(())
}

/// A store that happens or not; the first register receives what tells
/// (exclusive stores: the status, compare and swap: the old value).
fn store_if(element: Element, instruction: &Instruction, out: &mut Lifted) -> Option<()> {
    let [told, src, arg, _] = instruction.operands;
    let access = Access::of(arg, out.address)?;
    let size = u32::from(element.size(Gpr::of(src)?.width));
    out.ops.push(Op::ClobberMemory { address: access.address, size });
    clobber(Gpr::of(told)?.reg, out);
    Some(())
}

fn load_pair(element: Element, instruction: &Instruction, out: &mut Lifted) -> Option<()> {
    let [first, second, arg, _] = instruction.operands;
    let access = Access::of(arg, out.address)?;
    if let Arg::SIMDRegister(..) = first {
        access.write_back(out);
        return Some(());
    }
    let (first, second) = (Gpr::of(first)?, Gpr::of(second)?);
    let next = access.after(element.size(first.width));
    let unpredictable = first.reg.is_some() && first.reg == second.reg
        || access.writes_back_to(first.reg)
        || access.writes_back_to(second.reg);
    if unpredictable {
        clobber(first.reg, out);
        clobber(second.reg, out);
        clobber(access.writeback.map(|(base, _)| base), out);
        return Some(());
    }
    // The register that is the base, too, is loaded last.
    if first.reg.is_some() && first.value() == access.address.base {
        next.load(element, second, out);
        access.load(element, first, out);
    } else {
        access.load(element, first, out);
        next.load(element, second, out);
    }
    access.write_back(out);
    Some(())
}

fn store_pair(instruction: &Instruction, out: &mut Lifted) -> Option<()> {
    let [first, second, arg, _] = instruction.operands;
    let access = Access::of(arg, out.address)?;
    if let Arg::SIMDRegister(size, _) = first {
        let size = u32::from(bytes(size)).saturating_mul(2);
        out.ops.push(Op::ClobberMemory { address: access.address, size });
    } else {
        let (first, second) = (Gpr::of(first)?, Gpr::of(second)?);
        access.store(Element::Whole, first, out);
        access.after(first.width.bytes()).store(Element::Whole, second, out);
    }
    access.write_back(out);
    Some(())
}

const fn bytes(size: SIMDSizeCode) -> u8 {
    match size {
        SIMDSizeCode::B => 1,
        SIMDSizeCode::H => 2,
        SIMDSizeCode::S => 4,
        SIMDSizeCode::D => 8,
        SIMDSizeCode::Q => 16,
    }
}
