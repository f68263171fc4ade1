//! Vector moves that compilers put between everything else: they write a
//! vector register, which the lifted form does not know, or memory.

use iced_x86::{Instruction, Mnemonic, OpKind};

use super::operand::{Part, address, clobber_memory};
use crate::code::ir::Lifted;

/// Lifts the instruction if it is one of these.
pub(super) fn lift(instruction: &Instruction, out: &mut Lifted) -> bool {
    match instruction.mnemonic() {
        Mnemonic::Movaps
        | Mnemonic::Movups
        | Mnemonic::Movapd
        | Mnemonic::Movupd
        | Mnemonic::Movdqa
        | Mnemonic::Movdqu
        | Mnemonic::Movss
        | Mnemonic::Movsd
        | Mnemonic::Movlps
        | Mnemonic::Movhps
        | Mnemonic::Movlpd
        | Mnemonic::Movhpd
        | Mnemonic::Movd
        | Mnemonic::Movq
        | Mnemonic::Movlhps
        | Mnemonic::Movhlps
        | Mnemonic::Pxor
        | Mnemonic::Xorps
        | Mnemonic::Xorpd
        | Mnemonic::Punpcklqdq
        | Mnemonic::Vmovaps
        | Mnemonic::Vmovups
        | Mnemonic::Vmovdqa
        | Mnemonic::Vmovdqu
        | Mnemonic::Vpxor => {}
        _ => return false,
    }
    // Masked stores and the string instruction `movsd` are for the fallback.
    if instruction.has_op_mask() {
        return false;
    }
    match instruction.op0_kind() {
        OpKind::Register => Part::of(instruction.op0_register()).is_none(),
        OpKind::Memory => {
            clobber_memory(address(instruction), instruction.memory_size().size(), out);
            true
        }
        _ => false,
    }
}
