//! The report's terms, and numbers, as people write them.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};

use analyzer_core::report::{
    Arch, BaselineOutcome, BaselineResult, Flavour, ImageKind, Libc, Outcome, Reaches, Status,
    Strength, TlsModel,
};

use crate::Tone;

/// The verdict in a word, as the JSON spells it but for underscores.
#[must_use]
pub fn status(status: Status) -> &'static str {
    match status {
        Status::Resolved => "resolved",
        Status::Conflict => "conflict",
        Status::Unresolved => "unresolved",
        Status::Launcher => "launcher",
        Status::NotPython => "not Python",
        Status::Unsupported => "unsupported",
        Status::NotElf => "not ELF",
        Status::Damaged => "damaged",
    }
}

/// The instruction set.
#[must_use]
pub fn arch(arch: Arch) -> &'static str {
    match arch {
        Arch::X86_64 => "x86-64",
        Arch::Aarch64 => "AArch64",
    }
}

/// The register that is the thread pointer.
#[must_use]
pub fn thread_pointer(arch: Arch) -> &'static str {
    match arch {
        Arch::X86_64 => "fs base",
        Arch::Aarch64 => "tpidr_el0",
    }
}

/// What kind of ELF file it is.
#[must_use]
pub fn kind(kind: ImageKind) -> &'static str {
    match kind {
        ImageKind::Shared => "shared library",
        ImageKind::Pie => "position-independent executable",
        ImageKind::Executable => "executable at fixed addresses",
        ImageKind::Relocatable => "relocatable object",
        ImageKind::Core => "core dump",
        ImageKind::Other => "ELF file",
    }
}

/// The C library.
#[must_use]
pub fn libc(libc: Libc) -> &'static str {
    match libc {
        Libc::Glibc => "glibc",
        Libc::Musl => "musl",
    }
}

/// How the Python was configured.
#[must_use]
pub fn flavour(flavour: Flavour) -> &'static str {
    match flavour {
        Flavour::Release => "release",
        Flavour::Debug => "debug",
        Flavour::FreeThreaded => "free-threaded",
        Flavour::FreeThreadedDebug => "free-threaded debug",
    }
}

/// A TLS access model, as the psABIs call it.
#[must_use]
pub fn model(model: TlsModel) -> &'static str {
    match model {
        TlsModel::LocalExec => "local-exec",
        TlsModel::InitialExec => "initial-exec",
        TlsModel::GeneralDynamic => "general-dynamic",
        TlsModel::LocalDynamic => "local-dynamic",
        TlsModel::Descriptor => "TLS descriptor",
    }
}

/// How strongly a route stands.
#[must_use]
pub fn strength(strength: Strength) -> (&'static str, Tone) {
    match strength {
        Strength::Corroborated => ("corroborated", Tone::Good),
        Strength::Single => ("single source", Tone::Mixed),
        Strength::Contested => ("contested", Tone::Bad),
    }
}

/// Which state a route reaches.
#[must_use]
pub fn reaches(reaches: Reaches) -> &'static str {
    match reaches {
        Reaches::Owned => "the state this thread owns, kept while the GIL is released",
        Reaches::Attached => "the state attached to this thread, null while the GIL is released",
        Reaches::Holder => "the state of whichever thread holds the GIL",
    }
}

/// How a strategy ended.
#[must_use]
pub fn outcome(outcome: Outcome) -> (&'static str, Tone) {
    match outcome {
        Outcome::Route => ("route", Tone::Good),
        Outcome::None => ("nothing", Tone::Bad),
        Outcome::NotApplicable => ("does not apply", Tone::Neutral),
    }
}

/// How a baseline would end.
#[must_use]
pub fn baseline(outcome: BaselineOutcome) -> (&'static str, Tone) {
    match outcome {
        BaselineOutcome::Right => ("right", Tone::Good),
        BaselineOutcome::Wrong => ("wrong", Tone::Bad),
        BaselineOutcome::Fails => ("fails", Tone::Bad),
        BaselineOutcome::Unverified => ("unverified", Tone::Mixed),
        BaselineOutcome::NotApplicable => ("does not apply", Tone::Neutral),
    }
}

/// What a baseline answers, if it does.
#[must_use]
pub fn baseline_answer(result: &BaselineResult) -> Option<String> {
    match (result.tp_offset, result.value) {
        (Some(offset), _) => Some(format!("thread pointer {}", signed(offset))),
        (None, value) => value.map(|value| value.to_string()),
    }
}

/// Bytes, as `30.4 MB`: decimal units.
#[must_use]
pub fn size(bytes: u64) -> String {
    match bytes {
        1 => "1 byte".to_owned(),
        0..1_000 => format!("{bytes} bytes"),
        1_000..999_950 => format!("{} KB", tenths(bytes.saturating_add(50) / 100)),
        _ => format!("{} MB", tenths(bytes.saturating_add(50_000) / 100_000)),
    }
}

/// `123` as `12.3`, without the code that prints any fraction exactly.
#[must_use]
pub fn tenths(number: u64) -> String {
    format!("{}.{}", number / 10, number % 10)
}

/// `+ 0x10`, `- 0x8`.
#[must_use]
pub fn signed(offset: i64) -> String {
    let sign = if offset < 0 { '-' } else { '+' };
    format!("{sign} {:#x}", offset.unsigned_abs())
}

/// A number up to twelve as a word.
#[must_use]
pub fn count(number: usize) -> String {
    const WORDS: [&str; 13] = [
        "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
        "eleven", "twelve",
    ];
    WORDS.get(number).map_or_else(|| number.to_string(), |word| (*word).to_owned())
}

/// The text with its first letter in upper case, if that is one of ASCII.
#[must_use]
pub fn capital(text: &str) -> String {
    let mut text = text.to_owned();
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_one_decimal() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (999, "999 bytes"),
            (1_000, "1.0 KB"),
            (1_049, "1.0 KB"),
            (1_050, "1.1 KB"),
            (999_949, "999.9 KB"),
            (999_950, "1.0 MB"),
            (30_449_999, "30.4 MB"),
            (u64::MAX, "18446744073709.5 MB"),
        ] {
            assert_eq!(size(bytes), text, "{bytes}");
        }
    }

    #[test]
    fn distances_have_a_sign_apart() {
        assert_eq!(signed(0x10), "+ 0x10");
        assert_eq!(signed(-8), "- 0x8");
        assert_eq!(signed(i64::MIN), "- 0x8000000000000000");
    }

    #[test]
    fn only_an_ascii_letter_is_raised() {
        assert_eq!(capital("no one"), "No one");
        assert_eq!(capital("größe"), "Größe");
        assert_eq!(capital("ö"), "ö");
        assert_eq!(capital(""), "");
    }
}
