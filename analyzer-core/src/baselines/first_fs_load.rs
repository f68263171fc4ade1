//! *First `fs:` load within ±4 KiB answers*.
//!
//! Describes `extractTLSOffsetFromCodeAMD64` of the OpenTelemetry eBPF
//! profiler as of b442421 (2026), which reads `_PyThreadState_GetCurrent` for
//! 3.13 and later: of the executable's own variable (local-exec) it finds the
//! offset; a shared library, whose code calls `__tls_get_addr`, has none, and
//! code relaxed from another model (`fs:0`, then an addition) is not
//! understood.

use alloc::format;

use super::{
    Answer, Failure,
    registers::{Registers, Value},
    stub::Stub,
};
use crate::{
    code::x86_64::{
        Reader,
        decode::{FS, Instruction, Kind, Operand, Register},
    },
    image::Image,
};

/// The function that is read, and how many bytes of it.
pub(super) const ATTACHED_GETTER: &str = "_PyThreadState_GetCurrent";
pub(super) const WINDOW: u64 = 512;
/// Largest distance from the thread pointer that is believed.
const REACH: u64 = 4096;

pub(super) fn find(image: &Image<'_>) -> Result<Answer<i64>, Failure> {
    let stub = Stub::read(image, ATTACHED_GETTER, WINDOW)?;
    let mut reader = Reader::new(stub.code, stub.address);
    let mut registers = Registers::new();
    let mut at = stub.address;
    let mut rejected = None;
    let mut call = None;
    while let Ok(instruction) = reader.decode(at) {
        registers.step(instruction);
        if let Some(target) = thread_word_target(instruction) {
            let value = registers.get(target).0;
            if let Value::ThreadWord { offset } = value {
                // The decoder keeps the low 32 bits, with their sign.
                let offset = i64::from(offset as u32 as i32);
                if offset != 0 && offset.unsigned_abs() < REACH {
                    return Ok(Answer { value: offset, at: Some(at) });
                }
            }
            rejected = rejected.or(Some(at));
        }
        if instruction.kind() == Kind::Call {
            call = call.or(Some(at));
        }
        at = instruction.next();
    }
    Err(match (rejected, call) {
        (Some(load), _) => {
            let detail = "The load is not at a fixed, small distance other than zero.";
            Failure::new("offset-not-in-load", load, detail)
        }
        (None, Some(call)) => {
            let detail = format!("{ATTACHED_GETTER} calls for the variable's address.");
            Failure::new("no-fs-load", call, detail)
        }
        (None, None) => {
            let detail = format!("{ATTACHED_GETTER} has no load relative to fs.");
            Failure::new("no-fs-load", None, detail)
        }
    })
}

/// The register that a `mov` loads relative to `fs`.
fn thread_word_target(instruction: &Instruction) -> Option<Register> {
    match (instruction.kind(), instruction.operand(0), instruction.operand(1)) {
        (Kind::Mov, Operand::Register(target), Operand::Memory(memory, _))
            if memory.segment == Some(FS) =>
        {
            Some(target)
        }
        _ => None,
    }
}
