//! *Symbols only*: four static variables by name, nothing from code.
//!
//! Describes `PyPerfUtil.cc` of PyPerf in the BPF Compiler Collection
//! (`examples/cpp/pyperf`, 0079941), which reads every `STT_OBJECT` symbol of
//! the file: `autoTLSkey`, `_PyThreadState_Current`, `gil_locked` and
//! `gil_last_holder` have to be there. From 3.7 on they are members of
//! `_PyRuntime`, and before that they are static, so that stripping a file or
//! renaming by link-time optimization loses them. (It looks at files named
//! `libpython3.6` only; that is left out here.)

use alloc::{format, vec::Vec};

use super::{Answer, Failure};
use crate::{
    addr::VirtAddr,
    image::{Image, SymbolKind},
};

const NAMES: [&str; 4] = ["autoTLSkey", "_PyThreadState_Current", "gil_locked", "gil_last_holder"];

pub(super) fn find(image: &Image<'_>) -> Result<Answer<VirtAddr>, Failure> {
    let statics = image.static_symbols_named(&NAMES);
    let address = |index: usize, name: &str| {
        statics
            .iter()
            .filter(|found| found.which == index && found.suffix.is_empty())
            .map(|found| found.symbol)
            .chain(image.dynamic_symbol(name))
            .find(|symbol| symbol.kind == SymbolKind::Object)
            .map(|symbol| symbol.address)
    };
    let found: Vec<Option<VirtAddr>> =
        NAMES.iter().enumerate().map(|(index, name)| address(index, name)).collect();
    let missing: Vec<&str> = NAMES
        .iter()
        .zip(&found)
        .filter(|(_, address)| address.is_none())
        .map(|(name, _)| *name)
        .collect();
    match found.first() {
        Some(Some(key)) if missing.is_empty() => Ok(Answer { value: *key, at: None }),
        _ => {
            let detail = format!("The file has no object symbol {}.", missing.join(" and no "));
            Err(Failure::new("symbol-missing", None, detail))
        }
    }
}
