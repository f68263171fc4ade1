//! Runs lifted effects on concrete numbers.

use std::collections::BTreeMap;

use analyzer_core::code::ir::{Address, BinaryOp, Op, Operand, Reg, Width};
use analyzer_core::report::Arch;

/// Where the instruction lies.
pub(crate) const CODE: u64 = 0x1_4000_0000;
const THREAD_POINTER: u64 = 40;

/// A number, as far as it is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Value {
    Unknown,
    Known(u64),
    Either(u64, u64),
}

impl Value {
    pub(crate) fn known(self) -> Option<u64> {
        match self {
            Self::Known(number) => Some(number),
            _ => None,
        }
    }

    pub(crate) fn may_be(self, number: u64) -> bool {
        match self {
            Self::Unknown => true,
            Self::Known(known) => known == number,
            Self::Either(left, right) => left == number || right == number,
        }
    }

    fn map(self, function: impl Fn(u64) -> u64) -> Self {
        match self {
            Self::Unknown => Self::Unknown,
            Self::Known(number) => Self::Known(function(number)),
            Self::Either(left, right) => Self::Either(function(left), function(right)),
        }
    }
}

/// Registers and memory.
#[derive(Clone)]
pub(crate) struct State {
    code: Vec<u8>,
    registers: [Value; Reg::COUNT],
    thread_pointer: u64,
    /// Bytes written; `None` is unknown.
    memory: BTreeMap<u64, Option<u8>>,
    /// Whether bytes not in `memory` may have changed.
    all_memory_unknown: bool,
}

/// Number of registers an emulator has.
pub(crate) fn registers(arch: Arch) -> u8 {
    match arch {
        Arch::X86_64 => 16,
        Arch::Aarch64 => 32,
    }
}

/// The bytes that hexadecimal digits stand for.
pub(crate) fn bytes_of(digits: &str) -> Vec<u8> {
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal digits"))
        .collect()
}

/// splitmix64's output function; as in `record.py`.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

/// What register `index` holds before; as in `record.py`.
fn value(seed: u64, index: u64) -> u64 {
    let random = mix(seed.wrapping_mul(64).wrapping_add(index));
    let rest = random >> 8;
    match random & 7 {
        0 => rest & 0x3f,
        1 => mix(random),
        2 => (rest & 0xff).wrapping_neg(),
        _ => 0x1000_0000 + (rest & 0xfff_ffff),
    }
}

/// The low `bits` bits, sign-extended.
fn sign_extend(number: u64, bits: u32) -> u64 {
    let shift = 64 - bits;
    (((number << shift) as i64) >> shift) as u64
}

impl State {
    pub(crate) fn before(arch: Arch, seed: u64, code: &[u8]) -> Self {
        let mut registers = [Value::Unknown; Reg::COUNT];
        for number in 0..self::registers(arch) {
            registers[usize::from(number)] = Value::Known(value(seed, u64::from(number)));
        }
        Self {
            code: code.to_vec(),
            registers,
            thread_pointer: value(seed, THREAD_POINTER),
            memory: BTreeMap::new(),
            all_memory_unknown: false,
        }
    }

    pub(crate) fn register(&self, reg: Reg) -> Value {
        self.registers[usize::from(reg.0)]
    }

    /// A byte before the instruction; as in `record.py`.
    pub(crate) fn byte_before(&self, address: u64) -> u8 {
        address
            .checked_sub(CODE)
            .and_then(|distance| self.code.get(usize::try_from(distance).ok()?).copied())
            .unwrap_or((address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8)
    }

    pub(crate) fn byte(&self, address: u64) -> Option<u8> {
        match self.memory.get(&address) {
            Some(byte) => *byte,
            None if self.all_memory_unknown => None,
            None => Some(self.byte_before(address)),
        }
    }

    pub(crate) fn written(&self) -> Vec<u64> {
        self.memory.keys().copied().collect()
    }

    fn operand(&self, operand: &Operand) -> Value {
        match operand {
            Operand::Reg(reg) => self.register(*reg),
            Operand::Const(number) => Value::Known(*number),
            Operand::Pc(address) => Value::Known(address.0),
        }
    }

    fn address(&self, address: &Address) -> Option<u64> {
        let mut sum = self.operand(&address.base).known()?.wrapping_add(address.displacement);
        if address.thread_pointer {
            sum = sum.wrapping_add(self.thread_pointer);
        }
        if let Some(index) = address.index {
            let number = self.register(index.reg).known()?;
            let bits = u32::from(index.width.bytes()) * 8;
            let extended =
                if index.signed { sign_extend(number, bits) } else { number & index.width.mask() };
            sum = sum.wrapping_add(extended << index.shift);
        }
        Some(sum)
    }

    pub(crate) fn load(&self, address: &Address, size: u8) -> Value {
        let Some(start) = self.address(address) else {
            return Value::Unknown;
        };
        let mut number = 0u64;
        for distance in (0..u64::from(size)).rev() {
            match self.byte(start.wrapping_add(distance)) {
                Some(byte) => number = number << 8 | u64::from(byte),
                None => return Value::Unknown,
            }
        }
        Value::Known(number)
    }

    fn set(&mut self, dst: Reg, value: Value, width: Width) {
        self.registers[usize::from(dst.0)] = value.map(|number| number & width.mask());
    }

    fn write(&mut self, address: &Address, bytes: impl Iterator<Item = Option<u8>>) {
        match self.address(address) {
            Some(start) => {
                for (distance, byte) in bytes.enumerate() {
                    self.memory.insert(start.wrapping_add(distance as u64), byte);
                }
            }
            None => self.forget_memory(),
        }
    }

    fn forget_memory(&mut self) {
        self.memory.clear();
        self.all_memory_unknown = true;
    }

    pub(crate) fn execute(&mut self, op: &Op) {
        match op {
            Op::Move { dst, src, width } => self.set(*dst, self.operand(src), *width),
            Op::Binary { op, dst, left, right, width } => {
                let (left, right) = (self.operand(left), self.operand(right));
                let value = match (left.known(), right.known()) {
                    (Some(left), Some(right)) => Value::Known(binary(*op, left, right, *width)),
                    _ => Value::Unknown,
                };
                self.set(*dst, value, *width);
            }
            Op::Extend { dst, src, from, signed, width } => {
                let bits = u32::from(from.bytes()) * 8;
                let value = self.operand(src).map(|number| {
                    if *signed { sign_extend(number, bits) } else { number & from.mask() }
                });
                self.set(*dst, value, *width);
            }
            Op::Lea { dst, address, width } => {
                assert!(!address.thread_pointer, "an address is never relative to the thread");
                let value = self.address(address).map_or(Value::Unknown, Value::Known);
                self.set(*dst, value, *width);
            }
            Op::Load { dst, address, size, signed, width } => {
                let bits = u32::from(*size) * 8;
                let value = self.load(address, *size);
                let value = if *signed { value.map(|n| sign_extend(n, bits)) } else { value };
                self.set(*dst, value, *width);
            }
            Op::Store { address, src, size } => {
                let value = self.operand(src).known();
                let bytes = (0..u32::from(*size))
                    .map(|distance| value.map(|number| (number >> (8 * distance)) as u8));
                self.write(address, bytes);
            }
            Op::Select { dst, left, right, width } => {
                let value = match (self.operand(left).known(), self.operand(right).known()) {
                    (Some(left), Some(right)) => Value::Either(left, right),
                    _ => Value::Unknown,
                };
                self.set(*dst, value, *width);
            }
            Op::ThreadPointer { dst } => {
                self.set(*dst, Value::Known(self.thread_pointer), Width::W64);
            }
            Op::Clobber { dst } => self.set(*dst, Value::Unknown, Width::W64),
            Op::ClobberMemory { address, size } => {
                self.write(address, std::iter::repeat_n(None, *size as usize));
            }
            Op::ClobberAllMemory => self.forget_memory(),
        }
    }
}

fn binary(op: BinaryOp, left: u64, right: u64, width: Width) -> u64 {
    let bits = u32::from(width.bytes()) * 8;
    let shift = right as u32;
    match op {
        BinaryOp::Add => left.wrapping_add(right),
        BinaryOp::Sub => left.wrapping_sub(right),
        BinaryOp::And => left & right,
        BinaryOp::Or => left | right,
        BinaryOp::Xor => left ^ right,
        BinaryOp::Mul => left.wrapping_mul(right),
        BinaryOp::Shl => left.checked_shl(shift).unwrap_or(0),
        BinaryOp::Shr => (left & width.mask()).checked_shr(shift).unwrap_or(0),
        BinaryOp::Sar => (sign_extend(left, bits) as i64).checked_shr(shift).unwrap_or(-1) as u64,
    }
}
