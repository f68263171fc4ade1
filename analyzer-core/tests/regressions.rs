//! Replays every input that fuzzing once found, from `fuzz/regressions`.
//!
//! A case is a text file, `PROPERTY/NAME.hex`: lines that start with `#` say
//! what it is, the others are bytes in hexadecimal.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

#[path = "support/properties.rs"]
mod properties;

/// A case that took unbounded work must not come back; a debug build on a
/// busy machine stays far below this.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn what_fuzzing_found_stays_fixed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/regressions");
    let mut replayed = 0;
    for property in fs::read_dir(&folder).expect("the folder of regressions is there") {
        let property = property.expect("the folder can be read").path();
        if !property.is_dir() {
            continue;
        }
        let name = property.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let check = properties::by_name(name)
            .unwrap_or_else(|| panic!("{} is named after no property", property.display()));
        for case in fs::read_dir(&property).expect("the folder can be read") {
            let case = case.expect("the folder can be read").path();
            let text = fs::read_to_string(&case).expect("a case is text");
            println!("{}", case.display());
            let start = Instant::now();
            check(&bytes(&text));
            assert!(start.elapsed() < PATIENCE, "{} took {:?}", case.display(), start.elapsed());
            replayed += 1;
        }
    }
    assert!(replayed > 0, "no case in {}", folder.display());
}

/// The bytes of a case.
fn bytes(text: &str) -> Vec<u8> {
    let digits: String = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .flat_map(str::chars)
        .filter(|c| !c.is_whitespace())
        .collect();
    assert!(digits.len().is_multiple_of(2), "an odd number of digits");
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal"))
        .collect()
}
