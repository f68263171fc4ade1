//! What the lifted form says an instruction does, against what a CPU emulator
//! does: registers and memory the form claims to know must be right, and all
//! that changed must be known or clobbered.
//!
//! The vectors are recorded by `lift/record.py`. Point `LIFT_VECTORS_X86_64`
//! or `LIFT_VECTORS_AARCH64` at a larger recording to check that instead.

#[path = "lift/interpreter.rs"]
mod interpreter;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use analyzer_core::addr::VirtAddr;
use analyzer_core::code::ir::{Flow, Lifted, Reg, Target};
use analyzer_core::code::{lift, text};
use analyzer_core::report::Arch;
use interpreter::{CODE, State, Value};

/// One line of a recording.
struct Vector {
    code: Vec<u8>,
    seed: u64,
    next: u64,
    registers: BTreeMap<u8, u64>,
    memory: BTreeMap<u64, u8>,
}

impl Vector {
    fn parse(line: &str) -> Self {
        let number = |digits: &str| u64::from_str_radix(digits, 16).expect("a number");
        let [code, seed, next, registers, memory] =
            line.split_whitespace().collect::<Vec<_>>()[..].try_into().expect("five fields");
        let changes = |list: &str| -> Vec<(String, String)> {
            list.split(',')
                .filter_map(|change| change.split_once('='))
                .map(|(place, new)| (place.to_owned(), new.to_owned()))
                .collect()
        };
        let mut bytes = BTreeMap::new();
        for (start, run) in changes(memory) {
            for (distance, byte) in interpreter::bytes_of(&run).into_iter().enumerate() {
                bytes.insert(number(&start) + distance as u64, byte);
            }
        }
        Self {
            code: interpreter::bytes_of(code),
            seed: number(seed),
            next: number(next),
            registers: changes(registers)
                .into_iter()
                .map(|(reg, new)| (reg.parse().expect("a register"), number(&new)))
                .collect(),
            memory: bytes,
        }
    }

    /// What is wrong with the lifted form, if anything; and whether it knew
    /// every register that changed.
    fn check(&self, arch: Arch, lifted: &Lifted) -> Result<bool, String> {
        let before = State::before(arch, self.seed, &self.code);
        let mut state = before.clone();
        for op in &lifted.ops {
            state.execute(op);
        }
        if usize::from(lifted.len) != self.code.len() {
            return Err(format!("length {} instead of {}", lifted.len, self.code.len()));
        }
        let mut precise = true;
        for number in 0..interpreter::registers(arch) {
            let expected =
                self.registers.get(&number).copied().or(before.register(Reg(number)).known());
            let found = state.register(Reg(number));
            if !found.may_be(expected.expect("every register starts known")) {
                return Err(format!("register {number} is {found:x?} instead of {expected:x?}"));
            }
            precise &= found.known().is_some() || !self.registers.contains_key(&number);
        }
        for address in self.memory.keys().copied().chain(state.written()) {
            let expected =
                self.memory.get(&address).copied().unwrap_or_else(|| before.byte_before(address));
            let found = state.byte(address);
            if found.is_some_and(|found| found != expected) {
                return Err(format!("byte at {address:x} is {found:x?} instead of {expected:x}"));
            }
        }
        self.check_flow(lifted, &state)?;
        Ok(precise)
    }

    fn check_flow(&self, lifted: &Lifted, after: &State) -> Result<(), String> {
        let following = CODE + self.code.len() as u64;
        let target = |target: &Target| match target {
            Target::Address(address) => Value::Known(address.0),
            Target::Reg(reg) => after.register(*reg),
            Target::Memory(address) => after.load(address, 8),
        };
        let right = match &lifted.flow {
            Flow::Next => self.next == following,
            Flow::Jump(to) | Flow::Call(to) => target(to).may_be(self.next),
            Flow::Branch(to) => self.next == following || self.next == to.0,
            Flow::Return => true,
            Flow::Stop => false,
        };
        if right { Ok(()) } else { Err(format!("goes to {:x}: {:x?}", self.next, lifted.flow)) }
    }
}

fn check_all(arch: Arch, recorded: &str, override_variable: &str) {
    let from_file = std::env::var(override_variable)
        .ok()
        .map(|path| std::fs::read_to_string(path).expect("a recording"));
    let (mut count, mut precise, mut undecodable) = (0u32, 0u32, 0u32);
    let mut failures = BTreeMap::<String, (u32, String)>::new();
    let mut lifted = Lifted::new();
    for line in from_file.as_deref().unwrap_or(recorded).lines() {
        let vector = Vector::parse(line);
        let address = VirtAddr(CODE);
        let disassembly = text::format(arch, &vector.code, address, &|_| None);
        let result = match lift(arch, &vector.code, address, &mut lifted) {
            Ok(()) => vector.check(arch, &lifted),
            Err(_) => {
                undecodable += 1;
                if from_file.is_some() {
                    println!("undecodable: {}", line.split(' ').next().unwrap_or_default());
                }
                continue;
            }
        };
        count += 1;
        match result {
            Ok(known) => precise += u32::from(known),
            Err(error) => {
                let mnemonic = disassembly.split(' ').next().unwrap_or_default().to_owned();
                let entry = failures.entry(mnemonic).or_default();
                entry.0 += 1;
                entry.1 = format!("{disassembly}: {error}\n  {line}\n  {:x?}", lifted.ops);
            }
        }
    }
    println!(
        "{count} checked, all changed registers known for {precise}; {undecodable} not decoded"
    );
    let mut message = String::new();
    for (mnemonic, (count, example)) in &failures {
        writeln!(message, "{count} {mnemonic}, for instance {example}").expect("a string");
    }
    assert!(failures.is_empty(), "{message}");
    assert!(count > 500, "only {count} vectors");
    assert!(precise * 2 > count, "the form knows too little: {precise} of {count}");
}

#[test]
fn x86_64_agrees_with_an_emulator() {
    check_all(Arch::X86_64, include_str!("lift/vectors/x86_64.txt"), "LIFT_VECTORS_X86_64");
}

#[test]
fn aarch64_agrees_with_an_emulator() {
    check_all(Arch::Aarch64, include_str!("lift/vectors/aarch64.txt"), "LIFT_VECTORS_AARCH64");
}
