//! Where control goes, the thread pointer, and hints.

use yaxpeax_arm::armv8::a64::{Instruction, Opcode, Operand as Arg};

use super::INSTRUCTION_LEN;
use super::operand::{Gpr, LINK, X0, X16, X17, clobber, relative};
use crate::addr::VirtAddr;
use crate::code::ir::{Flow, Lifted, Op, Operand, Reg, Target, Width};

/// `TPIDR_EL0` as the decoder numbers system registers:
/// `o0:op1:CRn:CRm:op2` = 1:3:13:0:2.
const TPIDR_EL0: u16 = 0x5e82;

/// Lifts the instruction if it is one of these.
pub(super) fn lift(instruction: &Instruction, out: &mut Lifted) -> bool {
    match instruction.opcode {
        // Conditions 14 and 15 both mean "always".
        Opcode::Bcc(14 | 15) | Opcode::BCcc(14 | 15) | Opcode::B => {
            out.flow = target(instruction, out.address)
                .map_or(Flow::Stop, |target| Flow::Jump(Target::Address(target)));
        }
        Opcode::Bcc(_)
        | Opcode::BCcc(_)
        | Opcode::CBZ
        | Opcode::CBNZ
        | Opcode::TBZ
        | Opcode::TBNZ => {
            out.flow = target(instruction, out.address).map_or(Flow::Stop, Flow::Branch);
        }
        Opcode::BL => {
            out.flow = target(instruction, out.address)
                .map_or(Flow::Stop, |target| Flow::Call(Target::Address(target)));
            link(out);
        }
        Opcode::BR | Opcode::BRAA | Opcode::BRAAZ | Opcode::BRAB | Opcode::BRABZ => {
            out.flow = register(instruction).map_or(Flow::Stop, |reg| Flow::Jump(Target::Reg(reg)));
        }
        Opcode::BLR | Opcode::BLRAA | Opcode::BLRAAZ | Opcode::BLRAB | Opcode::BLRABZ => {
            call_register(instruction, out);
        }
        Opcode::RET
        | Opcode::RETAA
        | Opcode::RETAB
        | Opcode::RETAASPPC
        | Opcode::RETABSPPC
        | Opcode::RETAASPPCR
        | Opcode::RETABSPPCR => out.flow = Flow::Return,
        // The kernel keeps the other registers and may write to any buffer
        // it is given.
        Opcode::SVC => {
            out.ops.push(Op::ClobberAllMemory);
            out.ops.push(Op::Clobber { dst: X0 });
        }
        Opcode::UDF
        | Opcode::BRK
        | Opcode::HLT
        | Opcode::HVC
        | Opcode::SMC
        | Opcode::DCPS1
        | Opcode::DCPS2
        | Opcode::DCPS3
        | Opcode::ERET
        | Opcode::ERETAA
        | Opcode::ERETAB
        | Opcode::DRPS => out.flow = Flow::Stop,
        Opcode::MRS => read_system_register(instruction, out),
        // Writing the thread pointer would change what it means; no code
        // that an analysis follows does it.
        Opcode::MSR => {
            if let Arg::SystemReg(TPIDR_EL0) = instruction.operands[0] {
                out.flow = Flow::Stop;
            }
        }
        // Signing and checking the return address: the same address to the
        // analysis.
        Opcode::PACIASP
        | Opcode::PACIBSP
        | Opcode::PACIAZ
        | Opcode::PACIBZ
        | Opcode::PACIASPPC
        | Opcode::PACIBSPPC
        | Opcode::PACNBIASPPC
        | Opcode::PACNBIBSPPC
        | Opcode::AUTIASP
        | Opcode::AUTIBSP
        | Opcode::AUTIAZ
        | Opcode::AUTIBZ
        | Opcode::AUTIASPPC
        | Opcode::AUTIBSPPC
        | Opcode::AUTIASPPCR
        | Opcode::AUTIBSPPCR
        | Opcode::PACM
        | Opcode::PRFM
        | Opcode::PRFUM
        | Opcode::DMB(_)
        | Opcode::DSB(_)
        | Opcode::ISB
        | Opcode::SB
        | Opcode::SSBB
        | Opcode::PSSBB
        | Opcode::CLREX => {}
        Opcode::PACIA1716
        | Opcode::PACIB1716
        | Opcode::AUTIA1716
        | Opcode::AUTIB1716
        | Opcode::PACIA171615
        | Opcode::PACIB171615
        | Opcode::AUTIA171615
        | Opcode::AUTIB171615 => out.ops.push(Op::Clobber { dst: X17 }),
        Opcode::XPACLRI => out.ops.push(Op::Clobber { dst: LINK }),
        // Hint 40 is `chkfeat x16`.
        Opcode::HINT => {
            if let [Arg::ControlReg(5), Arg::Immediate(0), ..] = instruction.operands {
                out.ops.push(Op::Clobber { dst: X16 });
            }
        }
        _ => return false,
    }
    true
}

fn target(instruction: &Instruction, address: VirtAddr) -> Option<VirtAddr> {
    instruction.operands.iter().find_map(|arg| match arg {
        Arg::PCOffset(offset) => Some(relative(address, *offset)),
        _ => None,
    })
}

fn register(instruction: &Instruction) -> Option<Reg> {
    Gpr::of(instruction.operands[0])?.reg
}

fn link(out: &mut Lifted) {
    let next = relative(out.address, i64::from(INSTRUCTION_LEN));
    out.ops.push(Op::Move { dst: LINK, src: Operand::Pc(next), width: Width::W64 });
}

/// The target is evaluated after the effects: the link register as target
/// moves to a temporary first.
fn call_register(instruction: &Instruction, out: &mut Lifted) {
    let Some(mut reg) = register(instruction) else {
        out.flow = Flow::Stop;
        return;
    };
    if reg == LINK {
        let src = Operand::Reg(LINK);
        out.ops.push(Op::Move { dst: Reg::TEMP0, src, width: Width::W64 });
        reg = Reg::TEMP0;
    }
    link(out);
    out.flow = Flow::Call(Target::Reg(reg));
}

fn read_system_register(instruction: &Instruction, out: &mut Lifted) {
    let Some(dst) = register(instruction) else {
        return;
    };
    match instruction.operands[1] {
        Arg::SystemReg(TPIDR_EL0) => out.ops.push(Op::ThreadPointer { dst }),
        _ => clobber(Some(dst), out),
    }
}
