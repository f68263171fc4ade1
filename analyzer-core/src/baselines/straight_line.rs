//! *Symbolic, straight line*: registers as expressions, straight through
//! conditional jumps, up to the first call or jump.
//!
//! Describes `amd64_decode.go` with `asm/amd` and `asm/expression` of the
//! OpenTelemetry eBPF profiler as of b442421 (2026). Every word loaded from a
//! fixed address is taken for the address of `_PyRuntime`. The first call may
//! be one that has nothing to do with the key; stack slots are not followed.

use alloc::format;

use super::{
    Answer, Failure,
    registers::{Registers, Value},
    stub::KeySearch,
};
use crate::{
    addr::VirtAddr,
    code::x86_64::{
        Reader,
        decode::{File, Kind, Register},
    },
    image::Image,
};

/// The register of the first argument.
const RDI: Register = Register { file: File::Gpr64, number: 7 };

pub(super) fn find(image: &Image<'_>, has_runtime: bool) -> Result<Answer<VirtAddr>, Failure> {
    let search = KeySearch::new(image, has_runtime)?;
    let mut reader = Reader::new(search.stub.code, search.stub.address);
    let mut registers = Registers::new();
    let mut at = search.stub.address;
    loop {
        let Ok(instruction) = reader.decode(at) else {
            let detail = "The 64 bytes it reads, or the function, end before a call or jump.";
            return Err(Failure::new("code-ends", at, detail));
        };
        if matches!(instruction.kind(), Kind::Call | Kind::Jmp) {
            break;
        }
        registers.step(instruction);
        at = instruction.next();
    }
    let (value, written) = registers.get(RDI);
    let value = match value {
        Value::Number(number) => number,
        Value::Word { address } => address,
        Value::Pointer { plus } | Value::PointedWord { plus } if plus != 0 => {
            search.runtime.wrapping_add(plus)
        }
        _ => {
            let detail = format!("At the call or jump at {at} the argument is nothing it knows.");
            return Err(Failure::new("argument-not-understood", written.unwrap_or(at), detail));
        }
    };
    search.accept(Answer { value, at: written })
}
