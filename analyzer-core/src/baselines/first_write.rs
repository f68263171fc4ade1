//! *First write, linear*: the first `mov` or `lea` into the argument register
//! answers.
//!
//! Describes `decode_amd64.c` of the OpenTelemetry eBPF profiler as of
//! bd37e9c (2024). An immediate is taken for the address, a `rip`-relative
//! operand for its target, and `disp(reg)` for `_PyRuntime` plus displacement;
//! any other source is skipped. A call or jump before an answer ends the
//! search. Issue 251 there reports both ways in which this loses frames.

use alloc::format;

use super::{Answer, Failure, stub::KeySearch};
use crate::{
    addr::VirtAddr,
    code::x86_64::{
        Reader,
        decode::{Base, File, Instruction, Kind, Operand, Register},
    },
    image::Image,
};

/// A write that was not understood.
struct Skipped {
    at: VirtAddr,
    reason: &'static str,
    what: &'static str,
}

pub(super) fn find(image: &Image<'_>, has_runtime: bool) -> Result<Answer<VirtAddr>, Failure> {
    let search = KeySearch::new(image, has_runtime)?;
    let mut reader = Reader::new(search.stub.code, search.stub.address);
    let mut at = search.stub.address;
    let mut skipped = None;
    loop {
        let Ok(instruction) = reader.decode(at) else {
            let detail = "It finds neither a call nor an instruction it can decode.";
            return Err(Failure::new("code-ends", at, detail));
        };
        match instruction.kind() {
            Kind::Call | Kind::Jmp => return Err(no_answer(at, skipped.as_ref())),
            Kind::Mov | Kind::Lea if writes_argument(instruction) => {
                match value(instruction, search.runtime) {
                    Some(value) => return search.accept(Answer { value, at: Some(at) }),
                    None => skipped = skipped.or(Some(skip(at, instruction))),
                }
            }
            _ => {}
        }
        at = instruction.next();
    }
}

/// Number of the register of the first argument, `rdi`.
const ARGUMENT: u8 = 7;

fn writes_argument(instruction: &Instruction) -> bool {
    matches!(
        instruction.operand(0),
        Operand::Register(Register { file: File::Gpr64 | File::Gpr32, number: ARGUMENT })
    )
}

fn value(instruction: &Instruction, runtime: u64) -> Option<u64> {
    match instruction.operand(1) {
        Operand::Immediate(number) => Some(number),
        Operand::Memory(memory, _) if memory.displacement_bytes > 0 => match memory.base {
            Base::Rip => Some(memory.displacement),
            _ => (runtime != 0).then(|| runtime.wrapping_add(memory.displacement)),
        },
        _ => None,
    }
}

fn skip(at: VirtAddr, instruction: &Instruction) -> Skipped {
    let (reason, what) = match instruction.operand(1) {
        Operand::Register(_) => ("source-is-register", "copied from another register"),
        _ => ("source-not-understood", "read from an address it does not understand"),
    };
    Skipped { at, reason, what }
}

fn no_answer(call: VirtAddr, skipped: Option<&Skipped>) -> Failure {
    match skipped {
        Some(Skipped { at, reason, what }) => {
            let detail = format!(
                "The argument is {what}, so it goes on to the call or jump at {call}, which ends its search."
            );
            Failure::new(reason, *at, detail)
        }
        None => {
            let detail = "A call or jump comes before any write of the argument register.";
            Failure::new("call-before-write", call, detail)
        }
    }
}
