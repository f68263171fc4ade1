#![no_main]

#[path = "../../analyzer-core/tests/support/properties.rs"]
mod properties;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| properties::reproducer(bytes));
