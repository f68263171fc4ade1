//! Lifting and printing bytes nobody meant: no panic, and every effect is
//! well-formed.

use analyzer_core::addr::VirtAddr;
use analyzer_core::code::ir::{Address, Flow, Lifted, Op, Operand, Reg, Target};
use analyzer_core::code::{MAX_INSTRUCTION_LEN, lift, text};
use analyzer_core::report::Arch;
use proptest::prelude::*;

/// Which registers hold something: an architecture's from the start, a
/// temporary once it is written.
struct Defined {
    registers: u8,
    temporaries: [bool; 2],
}

impl Defined {
    fn is(&self, reg: Reg) -> bool {
        match reg {
            Reg::TEMP0 => self.temporaries[0],
            Reg::TEMP1 => self.temporaries[1],
            Reg(number) => number < self.registers,
        }
    }

    fn define(&mut self, reg: Reg) -> bool {
        match reg {
            Reg::TEMP0 => self.temporaries[0] = true,
            Reg::TEMP1 => self.temporaries[1] = true,
            Reg(number) => return number < self.registers,
        }
        true
    }

    fn operand(&self, operand: &Operand) -> bool {
        !matches!(operand, Operand::Reg(reg) if !self.is(*reg))
    }

    fn address(&self, address: &Address) -> bool {
        self.operand(&address.base)
            && address.index.is_none_or(|index| self.is(index.reg) && index.shift <= 4)
    }

    fn effect(&mut self, op: &Op) -> bool {
        let word = |size: u8| matches!(size, 1 | 2 | 4 | 8);
        match op {
            Op::Move { dst, src, .. } | Op::Extend { dst, src, .. } => {
                self.operand(src) && self.define(*dst)
            }
            Op::Binary { dst, left, right, .. } | Op::Select { dst, left, right, .. } => {
                self.operand(left) && self.operand(right) && self.define(*dst)
            }
            Op::Lea { dst, address, .. } => {
                !address.thread_pointer && self.address(address) && self.define(*dst)
            }
            Op::Load { dst, address, size, .. } => {
                word(*size) && self.address(address) && self.define(*dst)
            }
            Op::Store { address, src, size } => {
                word(*size) && self.operand(src) && self.address(address)
            }
            Op::ThreadPointer { dst } | Op::Clobber { dst } => self.define(*dst),
            Op::ClobberMemory { address, size } => (1..=64).contains(size) && self.address(address),
            Op::ClobberAllMemory => true,
        }
    }

    fn target(&self, flow: &Flow) -> bool {
        match flow {
            Flow::Jump(to) | Flow::Call(to) => match to {
                Target::Address(_) => true,
                Target::Memory(address) => self.address(address),
                Target::Reg(reg) => self.is(*reg),
            },
            Flow::Next | Flow::Branch(_) | Flow::Return | Flow::Stop => true,
        }
    }
}

/// Opcode maps, with REX, VEX and EVEX prefixes.
const STARTS: &[&[u8]] = &[
    &[0x0f],
    &[0x48, 0x0f],
    &[0x0f, 0x38],
    &[0x0f, 0x3a],
    &[0x48],
    &[0x41],
    &[0xc4],
    &[0xc5],
    &[0x62],
];

fn check(arch: Arch, bytes: &[u8], address: u64) -> Result<(), TestCaseError> {
    let mut lifted = Lifted::new();
    let printed =
        text::format(arch, bytes, VirtAddr(address), &|at: VirtAddr| Some(at.to_string()));
    prop_assert!(!printed.is_empty());
    let Ok(()) = lift(arch, bytes, VirtAddr(address), &mut lifted) else {
        prop_assert_eq!(printed, "(bad)");
        return Ok(());
    };
    let len = usize::from(lifted.len);
    prop_assert!((1..=MAX_INSTRUCTION_LEN).contains(&len) && len <= bytes.len());
    let registers = if arch == Arch::X86_64 { 16 } else { 32 };
    let mut defined = Defined { registers, temporaries: [false; 2] };
    for op in &lifted.ops {
        prop_assert!(defined.effect(op), "{printed}: {op:?}");
    }
    prop_assert!(defined.target(&lifted.flow), "{printed}: {:?}", lifted.flow);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 20_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn x86_64(bytes in prop::collection::vec(any::<u8>(), 0..20), address in any::<u64>()) {
        check(Arch::X86_64, &bytes, address)?;
    }

    /// Prefixes and opcode maps are rare among random bytes.
    #[test]
    fn x86_64_with_prefixes(
        prefixes in prop::collection::vec(
            prop::sample::select(&[0x66u8, 0x67, 0xf2, 0xf3, 0xf0, 0x2e, 0x64, 0x65][..]),
            0..3,
        ),
        start in prop::sample::select(STARTS),
        rest in any::<[u8; 12]>(),
        address in any::<u64>(),
    ) {
        let bytes = [&prefixes, start, &rest].concat();
        check(Arch::X86_64, &bytes, address)?;
    }

    #[test]
    fn aarch64(bytes in prop::collection::vec(any::<u8>(), 0..6), address in any::<u64>()) {
        check(Arch::Aarch64, &bytes, address)?;
    }

    #[test]
    fn aarch64_words(word in any::<u32>(), address in any::<u64>()) {
        check(Arch::Aarch64, &word.to_le_bytes(), address)?;
    }
}
