//! Where `_PyRuntime` lies.

use crate::{
    addr::VirtAddr,
    image::Image,
    report::{RuntimeFacts, RuntimeSource},
};

/// First eight bytes of `_PyRuntime` from 3.13 (`_Py_DebugOffsets.cookie`,
/// `Include/internal/pycore_debug_offsets.h`).
pub(super) const COOKIE: &[u8; 8] = b"xdebugpy";

pub(super) fn find(image: &Image<'_>) -> Option<RuntimeFacts> {
    if let Some(symbol) = image.symbol("_PyRuntime") {
        let size = (symbol.size != 0).then_some(symbol.size);
        return Some(RuntimeFacts { address: symbol.address, size, source: RuntimeSource::Symbol });
    }
    // From 3.10 the section holds `_PyRuntime` and nothing else.
    if let Some(section) = image.section(".PyRuntime") {
        return Some(RuntimeFacts {
            address: section.address,
            size: Some(section.size),
            source: RuntimeSource::Section,
        });
    }
    cookie(image).map(|address| RuntimeFacts { address, size: None, source: RuntimeSource::Cookie })
}

/// Looks for the cookie at aligned addresses of writable segments. Two of them
/// are no answer.
pub(super) fn cookie(image: &Image<'_>) -> Option<VirtAddr> {
    let mut found = None;
    for segment in image.segments().iter().filter(|segment| segment.writable) {
        let bytes = image.segment_bytes(segment);
        let misalignment = usize::try_from(segment.address.0.wrapping_neg() % 8).unwrap_or(0);
        let words = bytes.get(misalignment..).unwrap_or_default().chunks_exact(8);
        for (index, _) in (0_u64..).zip(words).filter(|(_, word)| word == COOKIE) {
            let offset = index.checked_mul(8)?.checked_add(misalignment as u64)?;
            let address = segment.address.checked_add(offset)?;
            image.keep(address, COOKIE.len());
            if found.replace(address).is_some() {
                return None;
            }
        }
    }
    found
}
