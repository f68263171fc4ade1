//! What a report's facts are called in sentences.

use analyzer_core::report::{
    Arch, BaselineOutcome, Flavour, ImageKind, Libc, Outcome, Reaches, Report, Route, Status,
    Strength, TlsModel,
};

use super::safe::plain;

/// How good an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Mixed,
    Bad,
}

/// The verdict in a word, as JSON spells it, without underscores.
pub(crate) fn status(status: Status) -> (&'static str, Tone) {
    match status {
        Status::Resolved => ("resolved", Tone::Good),
        Status::Conflict => ("conflict", Tone::Bad),
        Status::Unresolved => ("unresolved", Tone::Bad),
        Status::Launcher => ("launcher", Tone::Mixed),
        Status::NotPython => ("not Python", Tone::Mixed),
        Status::Unsupported => ("unsupported", Tone::Bad),
        Status::NotElf => ("not ELF", Tone::Mixed),
        Status::Damaged => ("damaged", Tone::Bad),
    }
}

/// The verdict in one sentence, without the word that [`status`] gives.
pub(crate) fn headline(report: &Report) -> String {
    match report.status {
        Status::Resolved => match report.routes.first() {
            Some(route) => format!("{}, {}.", summary(route), agreement(report)),
            None => "The thread state can be reached.".to_owned(),
        },
        Status::Conflict => {
            "Strategies disagree about where the thread state is; do not use either answer yet."
                .to_owned()
        }
        Status::Unresolved => {
            "This is a Python runtime, and no way to its thread states was found.".to_owned()
        }
        Status::Launcher => match launched(report) {
            Some(library) => format!("This only starts {}; inspect that library.", plain(library)),
            None => "This only starts a libpython; inspect that library.".to_owned(),
        },
        Status::NotPython => match &report.libc {
            Some(libc) => format!("This is a C library ({}), not a Python.", self::libc(libc.libc)),
            None => "There is no Python runtime in this file.".to_owned(),
        },
        Status::Unsupported | Status::NotElf | Status::Damaged => match report.diagnoses.first() {
            Some(finding) => plain(&finding.detail).into_owned(),
            None => "Nothing more can be said about this file.".to_owned(),
        },
    }
}

/// The libpython that a launcher links to.
fn launched(report: &Report) -> Option<&str> {
    let needed = &report.image.as_ref()?.needed;
    needed.iter().map(String::as_str).find(|name| name.starts_with("libpython"))
}

/// A route in half a sentence.
pub(crate) fn summary(route: &Route) -> String {
    match route {
        Route::PthreadKey { key_address, runtime_offset: Some(offset), .. } => {
            format!("The pthread key is at _PyRuntime+{offset:#x} ({key_address})")
        }
        Route::PthreadKey { key_address, .. } => format!("The pthread key is at {key_address}"),
        Route::ThreadLocal { tp_offset: Some(offset), .. } => {
            format!(
                "A thread-local variable at thread pointer {} holds the thread state",
                signed(*offset)
            )
        }
        Route::ThreadLocal { got_slot: Some(slot), model, .. } => {
            format!(
                "A thread-local variable ({}, GOT slot {slot}) holds the thread state",
                self::model(*model)
            )
        }
        Route::ThreadLocal { model, .. } => {
            format!("A thread-local variable ({}) holds the thread state", self::model(*model))
        }
        Route::Global { address, .. } => {
            format!("The global pointer at {address} leads to the thread state of the GIL's holder")
        }
    }
}

fn agreement(report: &Report) -> String {
    let agreeing = report
        .strategies
        .iter()
        .filter(|s| s.outcome == Outcome::Route && s.route == Some(0))
        .count();
    match agreeing {
        0 => "found without a strategy of its own".to_owned(),
        1 => "found by one strategy and confirmed by no other".to_owned(),
        count => format!("and {count} strategies agree"),
    }
}

/// `+ 0x10`, `- 0x8`.
pub(crate) fn signed(offset: i64) -> String {
    let sign = if offset < 0 { '-' } else { '+' };
    format!("{sign} {:#x}", offset.unsigned_abs())
}

/// What the file is, in a line.
pub(crate) fn identity(report: &Report) -> String {
    let mut parts = Vec::new();
    if let Some(python) = &report.python {
        let version = python.version.as_deref().map_or_else(|| "of unknown version".into(), plain);
        parts.push(format!("CPython {version}"));
        parts.push(flavour(python.flavour).to_owned());
    }
    if let Some(image) = &report.image {
        let mut form = format!("{} for {}", kind(image.kind), arch(image.arch));
        if let Some(libc) = image.libc {
            form += &format!(" and {}", self::libc(libc));
        }
        parts.push(form);
        if image.stripped {
            parts.push("stripped".to_owned());
        }
        if !image.section_headers {
            parts.push("no section headers".to_owned());
        }
    }
    parts.push(size(report.file.size));
    parts.join(", ")
}

/// `29.0 MiB`.
fn size(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match UNITS.iter().find(|(_, unit)| bytes >= *unit) {
        // One digit after the point needs no more precision than f64 has.
        #[expect(clippy::cast_precision_loss, reason = "shown with one digit after the point")]
        Some((name, unit)) => format!("{:.1} {name}", bytes as f64 / *unit as f64),
        None if bytes == 1 => "1 byte".to_owned(),
        None => format!("{bytes} bytes"),
    }
}

pub(crate) fn flavour(flavour: Flavour) -> &'static str {
    match flavour {
        Flavour::Release => "release build",
        Flavour::Debug => "debug build",
        Flavour::FreeThreaded => "free-threaded build",
        Flavour::FreeThreadedDebug => "free-threaded debug build",
    }
}

fn kind(kind: ImageKind) -> &'static str {
    match kind {
        ImageKind::Shared => "shared library",
        ImageKind::Pie => "position-independent executable",
        ImageKind::Executable => "executable at fixed addresses",
        ImageKind::Relocatable => "object file",
        ImageKind::Core => "core dump",
        ImageKind::Other => "ELF file",
    }
}

fn arch(arch: Arch) -> &'static str {
    match arch {
        Arch::X86_64 => "x86-64",
        Arch::Aarch64 => "aarch64",
    }
}

pub(crate) fn libc(libc: Libc) -> &'static str {
    match libc {
        Libc::Glibc => "glibc",
        Libc::Musl => "musl",
    }
}

/// The register that holds the thread pointer.
fn thread_pointer(report: &Report) -> &'static str {
    match report.image.as_ref().map(|image| image.arch) {
        Some(Arch::Aarch64) => "TPIDR_EL0",
        Some(Arch::X86_64) | None => "fs base",
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

/// Which state a route reaches, in a sentence.
pub(crate) fn reaches(route: &Route) -> &'static str {
    let (Route::PthreadKey { reaches, .. }
    | Route::ThreadLocal { reaches, .. }
    | Route::Global { reaches, .. }) = route;
    match reaches {
        Reaches::Owned => {
            "Reaches the state that the thread owns, also while it has released the GIL."
        }
        Reaches::Attached => {
            "Reaches the state that is attached to the thread; null while it has released the GIL."
        }
        Reaches::Holder => "Reaches the state of whichever thread holds the GIL.",
    }
}

pub(crate) fn strength(route: &Route) -> (&'static str, Tone) {
    let (Route::PthreadKey { strength, .. }
    | Route::ThreadLocal { strength, .. }
    | Route::Global { strength, .. }) = route;
    match strength {
        Strength::Corroborated => ("corroborated", Tone::Good),
        Strength::Single => ("found once", Tone::Mixed),
        Strength::Contested => ("contested", Tone::Bad),
    }
}

/// How a profiler walks the route, station by station.
pub(crate) fn walk(report: &Report, route: &Route) -> Vec<String> {
    let pointer = thread_pointer(report);
    let block = |offset: Option<u64>| match offset {
        Some(offset) => format!("{offset:#x} bytes into it"),
        None => "at the offset that the slot tells".to_owned(),
    };
    match route {
        Route::PthreadKey { key_address, .. } => vec![
            format!(
                "Once per process: read the int at {key_address} plus the load bias. It is the key."
            ),
            format!(
                "For each sample: look the key up in the C library's thread-specific data behind the thread pointer ({pointer}), as pthread_getspecific does. The value is the PyThreadState."
            ),
        ],
        Route::ThreadLocal { tp_offset: Some(offset), .. } => vec![format!(
            "For each sample: read the pointer at thread pointer ({pointer}) {}. It is the PyThreadState.",
            signed(*offset)
        )],
        Route::ThreadLocal { model: TlsModel::LocalExec, module_offset, .. } => vec![format!(
            "For each sample: find the program's own TLS block from the thread pointer ({pointer}); the pointer to the PyThreadState lies {}.",
            block(*module_offset)
        )],
        Route::ThreadLocal {
            model: TlsModel::InitialExec,
            got_slot,
            module_offset,
            slot_offset,
            ..
        } => vec![
            format!(
                "Once per process: read the word {}, which the loader has filled. {}",
                at_slot(*got_slot),
                distance("It", *module_offset, *slot_offset)
            ),
            format!(
                "For each sample: read the pointer at thread pointer ({pointer}) plus that distance. It is the PyThreadState."
            ),
        ],
        Route::ThreadLocal {
            model: TlsModel::Descriptor,
            got_slot,
            module_offset,
            slot_offset,
            ..
        } => vec![
            format!(
                "Once per process: read the two words {}. Where the loader placed the block at a fixed distance: {} Else the second word leads to the module's number and the offset.",
                at_slot(*got_slot),
                distance("the second word", *module_offset, *slot_offset)
            ),
            format!(
                "For each sample: add the distance to the thread pointer ({pointer}), or find the module's block through the thread's DTV; the pointer to the PyThreadState lies {}.",
                block(*module_offset)
            ),
        ],
        Route::ThreadLocal {
            model: TlsModel::GeneralDynamic | TlsModel::LocalDynamic,
            got_slot,
            module_offset,
            ..
        } => vec![
            format!(
                "Once per process: read the word {}. It is the module's number, written by the loader.",
                at_slot(*got_slot)
            ),
            format!(
                "For each sample: find the module's block through the thread's DTV ({pointer}), as __tls_get_addr does; the pointer to the PyThreadState lies {}. A thread without the block has never run Python.",
                block(*module_offset)
            ),
        ],
        Route::Global { address, .. } => vec![format!(
            "For each sample: read the pointer at {address} plus the load bias. Take it only if the thread id in that PyThreadState is the sampled thread's."
        )],
    }
}

/// What a word with a distance from the thread pointer is, where it may belong
/// to another variable than Python's.
fn distance(word: &str, module_offset: Option<u64>, slot_offset: Option<u64>) -> String {
    let difference = module_offset
        .zip(slot_offset)
        .map_or(0, |(variable, slot)| variable.wrapping_sub(slot).cast_signed());
    if difference == 0 {
        format!("{word} is the variable's distance from the thread pointer.")
    } else {
        format!(
            "{word} is another variable's distance from the thread pointer; Python's lies {} from there.",
            signed(difference)
        )
    }
}

fn at_slot(slot: Option<analyzer_core::addr::VirtAddr>) -> String {
    match slot {
        Some(slot) => format!("at {slot} plus the load bias"),
        None => "in the GOT that the getter's code uses".to_owned(),
    }
}

/// How a strategy ended: a mark, a word, and how good that is.
pub(crate) fn outcome(outcome: Outcome) -> (&'static str, Tone) {
    match outcome {
        Outcome::Route => ("route", Tone::Good),
        Outcome::None => ("nothing", Tone::Bad),
        Outcome::NotApplicable => ("does not apply", Tone::Mixed),
    }
}

/// How a baseline would end.
pub(crate) fn baseline(outcome: BaselineOutcome) -> (&'static str, Tone) {
    match outcome {
        BaselineOutcome::Right => ("right", Tone::Good),
        BaselineOutcome::Wrong => ("wrong", Tone::Bad),
        BaselineOutcome::Fails => ("fails", Tone::Bad),
        BaselineOutcome::Unverified => ("unverified", Tone::Mixed),
        BaselineOutcome::NotApplicable => ("does not apply", Tone::Mixed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_distances() {
        assert_eq!(size(1), "1 byte");
        assert_eq!(size(1023), "1023 bytes");
        assert_eq!(size(30_431_088), "29.0 MiB");
        assert_eq!(signed(-8), "- 0x8");
        assert_eq!(signed(i64::MIN), "- 0x8000000000000000");
    }
}
