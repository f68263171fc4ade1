//! What the OpenTelemetry decoders read, and the checks they make of an
//! answer (`interpreter/python/python.go`, the same in 2024 and 2026).

use alloc::format;

use super::{Answer, Failure};
use crate::{addr::VirtAddr, image::Image};

/// The function whose first call has the key as its argument.
const GILSTATE_GETTER: &str = "PyGILState_GetThisThreadState";
/// Bytes of it that are read.
const WINDOW: u64 = 64;
/// How far behind `_PyRuntime` an answer may lie.
const REACH: u64 = 4096;

/// The start of a function.
pub(super) struct Stub<'d> {
    pub(super) address: VirtAddr,
    pub(super) code: &'d [u8],
}

impl<'d> Stub<'d> {
    /// At most `window` bytes of the function `name`, which has to be in the
    /// dynamic symbol table.
    pub(super) fn read(image: &Image<'d>, name: &str, window: u64) -> Result<Self, Failure> {
        let symbol = image.dynamic_symbol(name).ok_or_else(|| {
            Failure::new("no-entry-symbol", None, format!("{name} is no dynamic symbol."))
        })?;
        let len = usize::try_from(symbol.size.min(window)).unwrap_or(0);
        let code = image.bytes(symbol.address, len).unwrap_or_default();
        if code.is_empty() {
            let detail = format!("The file holds no code for {name}.");
            return Err(Failure::new("no-entry-code", symbol.address, detail));
        }
        Ok(Self { address: symbol.address, code })
    }
}

/// Where to find the key: the getter's code, and the address of `_PyRuntime`,
/// which is 0 before 3.7.
pub(super) struct KeySearch<'d> {
    pub(super) stub: Stub<'d>,
    pub(super) runtime: u64,
}

impl<'d> KeySearch<'d> {
    pub(super) fn new(image: &Image<'d>, has_runtime: bool) -> Result<Self, Failure> {
        let runtime = match image.dynamic_symbol("_PyRuntime") {
            Some(symbol) => symbol.address.0,
            None if has_runtime => {
                let detail = "_PyRuntime is no dynamic symbol.";
                return Err(Failure::new("no-runtime-symbol", None, detail));
            }
            None => 0,
        };
        Ok(Self { stub: Stub::read(image, GILSTATE_GETTER, WINDOW)?, runtime })
    }

    /// Checks alignment and distance, and steps over `Py_tss_t`'s first
    /// member where the answer is 8-aligned.
    pub(super) fn accept(&self, answer: Answer<u64>) -> Result<Answer<VirtAddr>, Failure> {
        let Answer { value, at } = answer;
        if value % 4 != 0 {
            let detail = format!("{value:#x} is no address of an int.");
            return Err(Failure::new("misaligned", at, detail));
        }
        if self.runtime == 0 && value != 0 {
            return Ok(Answer { value: VirtAddr(value), at });
        }
        let distance = value.wrapping_sub(self.runtime);
        if distance == 0 || distance >= REACH {
            let detail = format!("{value:#x} does not lie within 4 KiB of _PyRuntime.");
            return Err(Failure::new("distance-check", at, detail));
        }
        let value = if value % 8 == 0 { value.wrapping_add(4) } else { value };
        Ok(Answer { value: VirtAddr(value), at })
    }
}
