//! The one list of diagnoses.
//!
//! Each has a stable code, a title, what a user can do about it, and a page
//! under `diagnoses/` that explains it. A code is never given another meaning
//! and never renamed; one that is no longer raised stays in the list.

use alloc::{borrow::ToOwned, string::String};

use crate::report::Diagnosis;

/// One diagnosis as documented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The stable code, found in [`Diagnosis::code`].
    pub code: &'static str,
    /// One line without a full stop.
    pub title: &'static str,
    /// What the user can do, in general; a report may be more exact.
    pub remedy: &'static str,
}

impl Entry {
    /// The page, as Markdown.
    ///
    /// Apart from the entry, so that a program that does not show pages does
    /// not carry them.
    #[must_use]
    pub fn page(&self) -> &'static str {
        ENTRIES
            .iter()
            .position(|entry| entry.code == self.code)
            .and_then(|index| PAGES.get(index).copied())
            .unwrap_or_default()
    }
}

macro_rules! diagnoses {
    ($($(#[$doc:meta])* $variant:ident = $code:literal, $title:literal, $remedy:literal;)*) => {
        /// Which diagnosis; names an [`Entry`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Code {
            $(#[doc = concat!("`", $code, "`: ", $title, ".")] $(#[$doc])* $variant,)*
        }

        const ENTRIES: &[Entry] = &[$(Entry {
            code: $code,
            title: $title,
            remedy: $remedy,
        },)*];

        /// The pages, in the order of [`ENTRIES`].
        const PAGES: &[&str] = &[$(include_str!(concat!("../diagnoses/", $code, ".md")),)*];

        impl Code {
            /// Every code, in the order of [`all`].
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The code as reports spell it.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }
        }
    };
}

diagnoses! {
    // The file.
    NotElf = "not-elf",
        "Not an ELF file",
        "Give the Python program or the libpython shared library as it is on the Linux machine.";
    Class32Bit = "class-32-bit",
        "A 32-bit ELF file",
        "Keyhole reads 64-bit images. Use a 64-bit build of this Python, or a profiler that handles 32-bit targets.";
    BigEndian = "big-endian",
        "A big-endian ELF file",
        "Keyhole reads little-endian images. There is no way around it for this build.";
    ArchUnsupported = "arch-unsupported",
        "An instruction set that is not analyzed",
        "Keyhole reads x86-64 and aarch64. There is no way around it for this build.";
    RelocatableFile = "relocatable-file",
        "An object file that was not linked yet",
        "Inspect the program or shared library that was linked from it.";
    CoreFile = "core-file",
        "A core dump",
        "Inspect the program and the libraries that the process had mapped; `file CORE` and `eu-unstrip -n --core CORE` name them.";
    DebugFileWithoutCode = "debug-file-without-code",
        "A debug file that holds no code",
        "Inspect the program or library that belongs to it; both have the same build id.";
    Truncated = "truncated",
        "The file is cut off",
        "Copy the file again and compare the sizes.";
    Malformed = "malformed",
        "The file contradicts itself",
        "Copy the file again. If it is as it was built, please report it with `readelf -lW FILE`.";
    Packed = "packed",
        "A packed program",
        "Unpack it (`upx -d`) and inspect the result.";
    NoSectionHeaders = "no-section-headers",
        "The section headers are gone",
        "Nothing needs to be done if a route was found. Otherwise inspect the file as it was before it was stripped.";
    NoDynamicSymbols = "no-dynamic-symbols",
        "No dynamic symbols",
        "Inspect the unstripped build of the same program, or a libpython of the same build.";
    StrippedStatic = "stripped-static",
        "A static program without symbols",
        "Inspect the unstripped build of the same program, or link it with `-Wl,--export-dynamic`.";
    Reproducer = "reproducer",
        "A reproducer cut from a larger file",
        "Nothing needs to be done. To analyze everything, inspect the file it was cut from.";

    // Which Python.
    NotPython = "not-python",
        "No Python runtime in this file",
        "Inspect the file that holds the runtime: `keyhole inspect --pid PID` finds it in a running process.";
    CLibrary = "c-library",
        "A C library, not Python",
        "Nothing needs to be done. The report says how this C library keeps thread-specific data.";
    Launcher = "launcher",
        "A launcher that only loads libpython",
        "Inspect the libpython shared library that it links to.";
    PythonEmbedded = "python-embedded",
        "Python is part of another program",
        "Nothing needs to be done: the runtime in this file is analyzed like any other.";
    BundlePyInstaller = "bundle-pyinstaller",
        "A PyInstaller bundle",
        "Start it and use `keyhole inspect --pid PID`, or unpack it with `pyi-archive_viewer` and inspect the libpython inside.";
    BundleNuitka = "bundle-nuitka",
        "A Nuitka onefile bundle",
        "Start it and use `keyhole inspect --pid PID`: the program it unpacks is the one to inspect.";
    BundleAppImage = "bundle-appimage",
        "An AppImage",
        "Unpack it with `FILE --appimage-extract` and inspect the libpython or program inside.";
    BundleAppendedArchive = "bundle-appended-archive",
        "A program with an archive behind it",
        "Start it and use `keyhole inspect --pid PID`, or unpack the archive (`unzip FILE`) and inspect what is inside.";
    TwoRuntimes = "two-runtimes",
        "Two Python runtimes together",
        "Read each runtime's state in the process and take the one that is initialized.";
    CopyRelocatedRuntime = "copy-relocated-runtime",
        "The program holds a copy of the library's runtime object",
        "Read `_PyRuntime` at the program's address, not at the library's.";
    VersionUnknown = "version-unknown",
        "The Python version is not told by the file",
        "A route that was found from code stands. Anything that depends on the version needs it from elsewhere: run `python --version` on the target machine.";
    VersionDisagreement = "version-disagreement",
        "Two places in the file name different versions",
        "Find out which build this is before using offsets that depend on the version.";
    VersionUnsupported = "version-unsupported",
        "A Python version that is not handled",
        "Keyhole handles CPython 2.7 and 3.3 to 3.15. Check for a newer Keyhole.";
    FreeThreaded = "free-threaded",
        "A free-threaded build",
        "Use offsets for free-threaded builds, and the state of each thread rather than the GIL.";
    DebugBuild = "debug-build",
        "A debug build",
        "Use offsets for debug builds.";

    // The way to the thread state.
    KeyInCalleeSavedRegister = "key-in-callee-saved-register",
        "The key's address waits in a callee-saved register",
        "Use the address in this report. A profiler that fails here has to follow register copies across calls.";
    OffsetBeforeBase = "offset-before-base",
        "The offset is loaded before its base is added",
        "Use the address in this report. A profiler that fails here has to add up what later instructions do to the register.";
    FirstCallIsCreatedTest = "first-call-is-created-test",
        "The first call only asks whether the key exists",
        "Nothing needs to be done. A profiler that stops at the first call sees the same argument, if it knows this function.";
    AnswerInColdCode = "answer-in-cold-code",
        "Part of the function lies far away from it",
        "Nothing needs to be done. A profiler must follow the jump out of the function, or step over it.";
    GetterFollowsCall = "getter-follows-call",
        "The answer is in a function that the getter calls",
        "Nothing needs to be done. A profiler must follow the call.";
    InstrumentedEntry = "instrumented-entry",
        "The function starts with a call to instrumentation",
        "Nothing needs to be done. A profiler must step over that call.";
    TlsInSharedLibrary = "tls-in-shared-library",
        "The thread-local variable lies in a shared library",
        "Read the GOT slot in the process, as the route says; the file alone does not fix the offset from the thread pointer.";
    NoKeyInPython27 = "no-key-2.7",
        "Python 2.7 has no pthread key",
        "Use the global route, and check the thread id of the state it reaches.";
    NoKeyInPython315 = "no-key-3.15",
        "Python 3.15 has no pthread key",
        "Use the thread-local route.";
    OffsetTableUnknown = "offset-table-unknown",
        "This build is not in the table of known offsets",
        "Nothing needs to be done if another strategy found the route. Otherwise report the build so that it can be added.";
    StrategiesDisagree = "strategies-disagree",
        "Strategies found different answers",
        "Do not use either before it is known which is right. Please report the build with `keyhole inspect --trace --format markdown`.";
    NoRoute = "no-route",
        "No way to the thread state was found",
        "The strategies say why each found nothing. Please report the build with `keyhole inspect --trace --format markdown`.";
    WorkLimitReached = "work-limit-reached",
        "The analysis stopped at its limit",
        "Treat the report as incomplete. Please report the build.";
    RuntimeNotBounded = "runtime-not-bounded",
        "The size of _PyRuntime is not told by the file",
        "Nothing needs to be done. The address was checked against the segment instead.";

    // Walking frames.
    EvalLoopSplit = "eval-loop-split",
        "The evaluation loop lies in several pieces",
        "Use every range in the report to recognise interpreter frames, not just the symbol's.";
    TailCallInterpreter = "tail-call-interpreter",
        "The interpreter is made of tail-calling functions",
        "Count one Python frame per entry frame, not per native frame of the evaluation loop.";
    LayoutUnknown = "layout-unknown",
        "The object layout of this build is not known",
        "The thread state can be reached, but its frames must not be walked with another version's offsets.";
}

/// Every diagnosis there is, by subject.
#[must_use]
pub const fn all() -> &'static [Entry] {
    ENTRIES
}

/// The diagnosis with this code.
#[must_use]
pub fn find(code: &str) -> Option<&'static Entry> {
    ENTRIES.iter().find(|entry| entry.code == code)
}

/// A finding of this kind; `detail` says what was found in this very file.
///
/// The remedy is the general one; where the file tells more (which library to
/// look at), the caller replaces it.
#[must_use]
pub fn new(code: Code, detail: impl Into<String>) -> Diagnosis {
    // The macro writes codes and entries in one order, so this always finds one.
    let (title, remedy) = find(code.as_str()).map_or(("", ""), |entry| (entry.title, entry.remedy));
    Diagnosis {
        code: code.as_str().to_owned(),
        title: title.to_owned(),
        detail: detail.into(),
        remedy: remedy.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use alloc::{collections::BTreeSet, format, string::ToString, vec::Vec};

    use super::*;

    #[test]
    fn codes_are_unique_and_spelled_alike() {
        let codes: BTreeSet<&str> = all().iter().map(|entry| entry.code).collect();
        assert_eq!(codes.len(), all().len());
        for code in codes {
            assert!(
                code.bytes().all(|byte| byte.is_ascii_lowercase()
                    || byte.is_ascii_digit()
                    || b"-.".contains(&byte)),
                "{code}"
            );
        }
    }

    #[test]
    fn every_code_makes_a_finding() {
        for &code in Code::ALL {
            let finding = new(code, "here");
            let entry = find(&finding.code).expect("listed");
            assert_eq!(
                (finding.title.as_str(), finding.remedy.as_str()),
                (entry.title, entry.remedy)
            );
            assert!(!finding.title.is_empty() && !finding.title.ends_with('.'));
            assert!(finding.remedy.ends_with('.'));
            assert_eq!(finding.detail, "here");
        }
    }

    #[test]
    fn pages_have_the_same_parts() {
        for entry in all() {
            let headings: Vec<&str> =
                entry.page().lines().filter(|line| line.starts_with('#')).collect();
            assert_eq!(
                headings,
                [
                    format!("# {}", entry.title).as_str(),
                    "## What it means",
                    "## Why it happens",
                    "## What to do",
                    "## Example"
                ],
                "{}",
                entry.code
            );
            assert!(
                entry.page().contains(&format!("`{}`", entry.code)),
                "{} does not name its code",
                entry.code
            );
            assert!(
                entry.page().ends_with('\n') && !entry.page().ends_with("\n\n"),
                "{}",
                entry.code
            );
        }
    }

    #[test]
    fn pages_and_codes_are_one_to_one() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/diagnoses");
        let pages: BTreeSet<_> = std::fs::read_dir(folder)
            .expect("the folder of pages")
            .map(|entry| {
                entry.expect("a readable entry").file_name().to_string_lossy().into_owned()
            })
            .collect();
        let codes: BTreeSet<_> = all().iter().map(|entry| entry.code.to_string() + ".md").collect();
        assert_eq!(pages, codes);
    }

    #[test]
    fn an_unknown_code_is_not_found() {
        assert_eq!(find("no-such-code"), None);
    }
}
