//! What one operation does to the values of registers.

use super::{Explorer, low_u32};
use crate::{
    addr::VirtAddr,
    code::ir::{Address, BinaryOp, Index, Op, Operand, Width},
    dataflow::{
        state::{Held, State},
        value::{Term, Value, low_bits},
    },
};

impl Explorer<'_, '_> {
    pub(super) fn op(&mut self, op: &Op, state: &mut State) {
        match *op {
            Op::Move { dst, src, width } => {
                let value = self.operand(src, state);
                self.set_truncated(dst, value, width, state);
            }
            Op::Binary { op, dst, left, right, width } => {
                let value = self.binary(op, left, right, width, state);
                self.set_truncated(dst, value, width, state);
            }
            Op::Extend { dst, src, from, signed, width } => {
                let value = self.operand(src, state);
                let low = self.terms.mask(value, from.mask());
                let value = if signed { self.sign_extended(value, low, from) } else { low };
                self.set_truncated(dst, value, width, state);
            }
            Op::Lea { dst, address, width } => {
                let value = self.address(&address, state);
                self.set_truncated(dst, value, width, state);
            }
            Op::Load { dst, address, size, signed, width } => {
                let address = self.address(&address, state);
                let held = self.load(address, size, signed, state);
                self.read(held);
                self.set_truncated(dst, held.value, width, state);
            }
            Op::Store { address, src, size } => {
                let address = self.address(&address, state);
                let value = self.operand(src, state);
                let value = if size < 8 { self.terms.mask(value, low_bits(size)) } else { value };
                self.store(address, Held { value, by: self.step }, size.into(), state);
            }
            Op::Select { dst, left, right, width } => {
                let left = self.operand(left, state);
                let right = self.operand(right, state);
                let value = self.terms.join(left, right);
                self.set_truncated(dst, value, width, state);
            }
            Op::ThreadPointer { dst } => {
                let value = self.terms.value(Term::ThreadPointer);
                self.set(dst, value, state);
            }
            Op::Clobber { dst } => self.set(dst, Value::UNKNOWN, state),
            Op::ClobberMemory { address, size } => {
                let address = self.address(&address, state);
                self.store(address, Held::UNKNOWN, size.into(), state);
            }
            Op::ClobberAllMemory => state.forget_memory(),
        }
    }

    fn sign_extended(&mut self, value: Value, low: Value, from: Width) -> Value {
        let bits = u32::from(from.bytes()).wrapping_mul(8);
        let extended = self.terms.sign_extend(low, bits);
        if extended.is_known() { extended } else { self.terms.sign_extend(value, bits) }
    }

    fn binary(
        &mut self,
        op: BinaryOp,
        left: Operand,
        right: Operand,
        width: Width,
        state: &State,
    ) -> Value {
        if left == right && matches!(op, BinaryOp::Xor | BinaryOp::Sub) {
            return Value::number(0);
        }
        let same = left == right;
        let left = self.operand(left, state);
        let right = self.operand(right, state);
        let numbers = left.as_number().zip(right.as_number());
        match op {
            BinaryOp::Add => self.terms.add(left, right),
            BinaryOp::Sub => self.terms.sub(left, right),
            BinaryOp::And | BinaryOp::Or if same => left,
            BinaryOp::And => match (left.as_number(), right.as_number()) {
                (_, Some(mask)) => self.terms.mask(left, mask),
                (Some(mask), _) => self.terms.mask(right, mask),
                _ => Value::UNKNOWN,
            },
            BinaryOp::Or | BinaryOp::Xor => match (op, numbers) {
                (BinaryOp::Or, Some((a, b))) => Value::number(a | b),
                (_, Some((a, b))) => Value::number(a ^ b),
                _ if right == Value::number(0) => left,
                _ if left == Value::number(0) => right,
                _ => Value::UNKNOWN,
            },
            BinaryOp::Shl => match right.as_number() {
                Some(by @ 0..64) => self.terms.scale(left, 1_u64.wrapping_shl(low_u32(by))),
                _ => Value::UNKNOWN,
            },
            BinaryOp::Shr => match right.as_number().and_then(|by| u8::try_from(by).ok()) {
                Some(by @ 0..64) => {
                    let low = self.terms.mask(left, width.mask());
                    self.terms.shift_right(low, by)
                }
                _ => Value::UNKNOWN,
            },
            BinaryOp::Sar => match (right.as_number(), left.as_number()) {
                (Some(by @ 0..64), Some(number)) => {
                    let bits = u32::from(width.bytes()).wrapping_mul(8);
                    let signed = self.terms.sign_extend(Value::number(number), bits);
                    let shifted =
                        signed.offset().cast_signed().wrapping_shr(low_u32(by)).cast_unsigned();
                    Value::number(shifted)
                }
                _ => Value::UNKNOWN,
            },
            BinaryOp::Mul => match (left.as_number(), right.as_number()) {
                (_, Some(factor)) => self.terms.scale(left, factor),
                (Some(factor), _) => self.terms.scale(right, factor),
                _ => Value::UNKNOWN,
            },
        }
    }

    pub(super) fn operand(&mut self, operand: Operand, state: &State) -> Value {
        match operand {
            Operand::Reg(reg) => {
                let held = state.reg(reg);
                // What moved the stack pointer is no step on the way of a value.
                if reg != self.abi.sp {
                    self.read(held);
                }
                held.value
            }
            Operand::Const(number) => Value::number(number),
            Operand::Pc(address) => self.address_value(address),
        }
    }

    /// The value of a link-time address: a number where addresses are fixed.
    pub(super) fn address_value(&mut self, address: VirtAddr) -> Value {
        if self.image.is_fixed() { Value::number(address.0) } else { self.terms.image(address) }
    }

    pub(super) fn address(&mut self, address: &Address, state: &State) -> Value {
        let mut value = self.operand(address.base, state).plus(address.displacement);
        if let Some(index) = address.index {
            let index = self.index(index, state);
            value = self.terms.add(value, index);
        }
        if address.thread_pointer {
            let thread_pointer = self.terms.value(Term::ThreadPointer);
            value = self.terms.add(thread_pointer, value);
        }
        value
    }

    fn index(&mut self, index: Index, state: &State) -> Value {
        let value = self.operand(Operand::Reg(index.reg), state);
        let low = self.terms.mask(value, index.width.mask());
        let value = if index.signed && index.width != Width::W64 {
            self.sign_extended(value, low, index.width)
        } else {
            low
        };
        self.terms.scale(value, 1_u64.wrapping_shl(index.shift.into()))
    }
}
