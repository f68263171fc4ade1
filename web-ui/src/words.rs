//! The report's terms in words.

pub(crate) mod instruction;
pub(crate) mod strategy;
pub(crate) mod value;
pub(crate) mod verdict;
pub(crate) mod walk;

use analyzer_core::addr::VirtAddr;
use analyzer_core::report::{
    Arch, Flavour, ImageKind, Libc, Reaches, Report, Route, Status, Strength, TlsModel,
};

/// `performance.now()`, or 0 where the page has no clock.
pub(crate) fn now() -> f64 {
    gloo_utils::window().performance().map_or(0.0, |clock| clock.now())
}

/// `30.4 MB`.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..999_950 => format!("{} KB", tenths(bytes.saturating_add(50) / 100)),
        _ => format!("{} MB", tenths(bytes.saturating_add(50_000) / 100_000)),
    }
}

/// Milliseconds as `12.3`, without the code that prints any number exactly.
pub(crate) fn milliseconds(time: f64) -> String {
    tenths((time.max(0.0) * 10.0).round() as u64)
}

/// `123` as `12.3`.
fn tenths(number: u64) -> String {
    format!("{}.{}", number / 10, number % 10)
}

/// `_PyRuntime + 0x60c`, or the address where there is no runtime.
pub(crate) fn place(address: VirtAddr, runtime_offset: Option<u64>) -> String {
    runtime_offset.map_or_else(|| address.to_string(), |offset| format!("_PyRuntime + {offset:#x}"))
}

/// The instruction set as people write it.
pub(crate) fn arch(arch: Arch) -> &'static str {
    match arch {
        Arch::X86_64 => "x86-64",
        Arch::Aarch64 => "AArch64",
    }
}

/// The register that is the thread pointer.
pub(crate) fn thread_pointer(arch: Arch) -> &'static str {
    match arch {
        Arch::X86_64 => "fs base",
        Arch::Aarch64 => "tpidr_el0",
    }
}

pub(crate) fn kind(kind: ImageKind) -> &'static str {
    match kind {
        ImageKind::Shared => "shared library",
        ImageKind::Pie => "position-independent executable",
        ImageKind::Executable => "executable at fixed addresses",
        ImageKind::Relocatable => "relocatable object",
        ImageKind::Core => "core dump",
        ImageKind::Other => "ELF file",
    }
}

pub(crate) fn libc(libc: Libc) -> &'static str {
    match libc {
        Libc::Glibc => "glibc",
        Libc::Musl => "musl",
    }
}

pub(crate) fn flavour(flavour: Flavour) -> &'static str {
    match flavour {
        Flavour::Release => "release",
        Flavour::Debug => "debug",
        Flavour::FreeThreaded => "free-threaded",
        Flavour::FreeThreadedDebug => "free-threaded debug",
    }
}

pub(crate) fn model(model: TlsModel) -> &'static str {
    match model {
        TlsModel::LocalExec => "local-exec",
        TlsModel::InitialExec => "initial-exec",
        TlsModel::GeneralDynamic => "general-dynamic",
        TlsModel::LocalDynamic => "local-dynamic",
        TlsModel::Descriptor => "TLS descriptor",
    }
}

pub(crate) fn strength(strength: Strength) -> &'static str {
    match strength {
        Strength::Corroborated => "corroborated",
        Strength::Single => "single source",
        Strength::Contested => "contested",
    }
}

pub(crate) fn reaches(reaches: Reaches) -> &'static str {
    match reaches {
        Reaches::Owned => "the state this thread owns, kept while the GIL is released",
        Reaches::Attached => "the state attached to this thread, null while the GIL is released",
        Reaches::Holder => "the state of whichever thread holds the GIL",
    }
}

/// A route's kind, what it reaches, and how strongly it stands.
pub(crate) fn route_parts(route: &Route) -> (&'static str, Reaches, Strength) {
    match *route {
        Route::PthreadKey { reaches, strength, .. } => ("pthread key", reaches, strength),
        Route::ThreadLocal { reaches, strength, .. } => {
            ("thread-local variable", reaches, strength)
        }
        Route::Global { reaches, strength, .. } => ("global pointer", reaches, strength),
    }
}

/// A route's answer, short enough for a table.
pub(crate) fn route_answer(route: &Route) -> String {
    match route {
        Route::PthreadKey { key_address, runtime_offset, .. } => {
            place(*key_address, *runtime_offset)
        }
        Route::ThreadLocal { model: m, module_offset, tp_offset, got_slot, .. } => {
            match (tp_offset, module_offset, got_slot) {
                (Some(offset), ..) => format!("thread pointer {}", signed(*offset)),
                (None, Some(offset), _) => format!("TLS block + {offset:#x}"),
                (None, None, Some(slot)) => format!("offset in GOT slot {slot}"),
                (None, None, None) => model(*m).to_owned(),
            }
        }
        Route::Global { address, runtime_offset, .. } => place(*address, *runtime_offset),
    }
}

/// `+ 0x10`, `- 0x8`.
pub(crate) fn signed(offset: i64) -> String {
    let sign = if offset < 0 { '−' } else { '+' };
    format!("{sign} {:#x}", offset.unsigned_abs())
}

pub(crate) fn status(status: Status) -> &'static str {
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

/// `CPython 3.12.1, x86-64 shared library, glibc, stripped`.
pub(crate) fn build(report: &Report) -> Vec<String> {
    let mut parts = Vec::new();
    if let Some(python) = &report.python {
        let version = python.version.as_deref().unwrap_or("of unknown version");
        parts.push(format!("CPython {version}"));
        if python.flavour != Flavour::Release {
            parts.push(flavour(python.flavour).to_owned());
        }
    }
    if let Some(image) = &report.image {
        parts.push(format!("{} {}", arch(image.arch), kind(image.kind)));
        if let Some(known) = image.libc {
            parts.push(libc(known).to_owned());
        }
        parts.push(if image.stripped { "stripped" } else { "with symbol table" }.to_owned());
    }
    parts.push(size(report.file.size));
    parts
}

/// A number up to twelve as a word.
pub(crate) fn count(number: usize) -> String {
    const WORDS: [&str; 13] = [
        "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
        "eleven", "twelve",
    ];
    WORDS.get(number).map_or_else(|| number.to_string(), |word| (*word).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_have_one_decimal() {
        for (bytes, text) in [
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
        assert_eq!(milliseconds(12.34), "12.3");
        assert_eq!(milliseconds(-0.5), "0.0");
        assert_eq!(milliseconds(f64::NAN), "0.0");
    }
}
