//! Where `_PyRuntime` holds the things a route leads to, by version.
//!
//! These answers rest on the version alone and on no code, so they
//! corroborate or contradict what the code says; a build whose `_PyRuntime`
//! has another size than the measured one gets none.

use core::fmt;

use super::{Layout, Unknown, lookup};
use crate::{
    report::{Arch, Flavour, Libc},
    version::PyVersion,
};

/// Offset in bytes from the start of `_PyRuntime` to the `int` of the gilstate
/// pthread key (3.7 to 3.14).
///
/// `runtime_size` is the size of `_PyRuntime` where the file tells it.
/// The key is the member `_key` of a `Py_tss_t`, 4 bytes after the flag it
/// begins with (CPython's `Include/cpython/pythread.h`).
///
/// # Errors
///
/// Why there is none, or why it is not known.
pub fn known_key_offset(
    version: PyVersion,
    flavour: Flavour,
    arch: Arch,
    libc: Option<Libc>,
    runtime_size: Option<u64>,
) -> Result<u64, Reason> {
    let member = match version.minor_pair() {
        (2, _) | (3, ..=6) => return Err(Reason::NoRuntime),
        (3, 7..=11) => "gilstate.autoTSSkey",
        (3, 12..=14) => "autoTSSkey",
        // 3.15 replaced the key by a thread-local variable; what comes later
        // is for lookup to refuse.
        _ => {
            lookup(version, flavour, arch, libc)?;
            return Err(Reason::NoSuchMember);
        }
    };
    let tss = in_runtime(version, flavour, arch, libc, runtime_size, member)?;
    tss.checked_add(4).ok_or(Reason::NotCovered)
}

/// Offset in bytes from the start of `_PyRuntime` to the pointer to the
/// thread state of the GIL's holder (`gilstate.tstate_current`, 3.7 to 3.11).
///
/// # Errors
///
/// As for [`known_key_offset`].
pub fn known_holder_offset(
    version: PyVersion,
    flavour: Flavour,
    arch: Arch,
    libc: Option<Libc>,
    runtime_size: Option<u64>,
) -> Result<u64, Reason> {
    match version.minor_pair() {
        (2, _) | (3, ..=6) => Err(Reason::NoRuntime),
        (3, 7..=11) => {
            in_runtime(version, flavour, arch, libc, runtime_size, "gilstate.tstate_current")
        }
        _ => Err(Reason::NoSuchMember),
    }
}

fn in_runtime(
    version: PyVersion,
    flavour: Flavour,
    arch: Arch,
    libc: Option<Libc>,
    runtime_size: Option<u64>,
    member: &str,
) -> Result<u64, Reason> {
    let layout = lookup(version, flavour, arch, libc)?;
    check_size(&layout, runtime_size)?;
    layout.offset("_PyRuntimeState", member).ok_or(Reason::NotCovered)
}

/// To 3.11 `_PyRuntime` has one size per version; later it holds the main
/// interpreter, whose size depends on how CPython was configured.
fn check_size(layout: &Layout, found: Option<u64>) -> Result<(), Reason> {
    match (layout.offset("_PyRuntimeState", "sizeof"), found) {
        (Some(measured), Some(found)) if measured != found => {
            Err(Reason::OtherSize { measured, found })
        }
        _ => Ok(()),
    }
}

/// Why an offset is not known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// Before 3.7 there is no `_PyRuntime`; key and pointer are variables of
    /// their own.
    NoRuntime,
    /// `_PyRuntime` of this version has no such member.
    NoSuchMember,
    /// The version is not in the table.
    Unknown(Unknown),
    /// The version is in the table, but `_PyRuntime` was not measured for it
    /// or depends on the C library, which is not known.
    NotCovered,
    /// `_PyRuntime` has another size than the one that was measured.
    OtherSize {
        /// Bytes in the table.
        measured: u64,
        /// Bytes in the file.
        found: u64,
    },
}

impl Reason {
    /// A stable code.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::NoRuntime => "no-runtime",
            Self::NoSuchMember => "no-such-member",
            Self::Unknown(_) => "version-not-known",
            Self::NotCovered => "runtime-not-known",
            Self::OtherSize { .. } => "runtime-size-differs",
        }
    }
}

impl From<Unknown> for Reason {
    fn from(unknown: Unknown) -> Self {
        Self::Unknown(unknown)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRuntime => f.write_str("there is no _PyRuntime before 3.7"),
            Self::NoSuchMember => f.write_str("_PyRuntime of this version has no such member"),
            Self::Unknown(unknown) => unknown.fmt(f),
            Self::NotCovered => {
                f.write_str("the layout of _PyRuntime is not known for this version and C library")
            }
            Self::OtherSize { measured, found } => {
                write!(f, "_PyRuntime has {found} bytes and not the {measured} that were measured")
            }
        }
    }
}

impl core::error::Error for Reason {}

#[cfg(test)]
mod tests {
    use super::*;

    const DEBUG: Flavour = Flavour::Debug;
    const RELEASE: Flavour = Flavour::Release;
    const X86: Arch = Arch::X86_64;
    const ARM: Arch = Arch::Aarch64;

    fn key(version: &str, flavour: Flavour, arch: Arch, libc: Libc) -> Result<u64, Reason> {
        known_key_offset(version.parse().unwrap(), flavour, arch, Some(libc), None)
    }

    /// Offsets seen in the machine code of shipped builds.
    #[test]
    fn keys_that_code_uses() {
        for (version, flavour, arch, libc, offset) in [
            ("3.7.0", RELEASE, X86, Libc::Glibc, 1420),
            ("3.7.3", RELEASE, X86, Libc::Glibc, 1420),
            ("3.7.4", RELEASE, X86, Libc::Glibc, 1508),
            ("3.7.16", RELEASE, X86, Libc::Glibc, 1508),
            ("3.8.18", RELEASE, X86, Libc::Glibc, 1396),
            ("3.9.2", RELEASE, X86, Libc::Glibc, 588),
            ("3.9.2", RELEASE, ARM, Libc::Glibc, 604),
            ("3.9.2", DEBUG, ARM, Libc::Glibc, 604),
            ("3.9.2", RELEASE, ARM, Libc::Musl, 588),
            ("3.10.4", RELEASE, X86, Libc::Glibc, 588),
            ("3.10.13", RELEASE, X86, Libc::Musl, 588),
            ("3.11.2", RELEASE, X86, Libc::Glibc, 596),
            ("3.11.2", RELEASE, ARM, Libc::Glibc, 612),
            ("3.12.1", RELEASE, X86, Libc::Glibc, 1548),
            ("3.12.3", RELEASE, ARM, Libc::Glibc, 1548),
            ("3.12.10", DEBUG, X86, Libc::Glibc, 1548),
            ("3.13.5", RELEASE, ARM, Libc::Glibc, 2164),
            ("3.13.5", Flavour::FreeThreaded, X86, Libc::Glibc, 2164),
            ("3.14.10", DEBUG, X86, Libc::Glibc, 2340),
        ] {
            assert_eq!(
                key(version, flavour, arch, libc),
                Ok(offset),
                "{version} {flavour:?} {arch:?}"
            );
        }
    }

    /// Where running builds of patch levels that were not compiled had them
    /// (`data/cpython-runs.csv`).
    #[test]
    fn keys_that_running_builds_had() {
        for (version, arch, libc, offset) in [
            ("3.7.17", X86, Libc::Glibc, 1508),
            ("3.7.17", ARM, Libc::Glibc, 1524),
            ("3.8.20", ARM, Libc::Glibc, 1412),
            ("3.9.23", X86, Libc::Glibc, 588),
            ("3.9.21", ARM, Libc::Glibc, 604),
            ("3.10.20", X86, Libc::Glibc, 588),
            ("3.10.16", ARM, Libc::Glibc, 604),
            ("3.11.17", X86, Libc::Glibc, 596),
            ("3.11.17", ARM, Libc::Glibc, 612),
            ("3.11.17", ARM, Libc::Musl, 596),
            ("3.12.15", ARM, Libc::Glibc, 1548),
        ] {
            assert_eq!(key(version, RELEASE, arch, libc), Ok(offset), "{version} {arch:?}");
        }
    }

    #[test]
    fn what_is_not_measured_is_not_known() {
        let reason = |version| key(version, RELEASE, X86, Libc::Glibc).unwrap_err().code();
        assert_eq!(reason("3.6.15"), "no-runtime");
        assert_eq!(reason("2.7.18"), "no-runtime");
        assert_eq!(reason("3.9"), "version-not-known");
        assert_eq!(reason("3.9.99"), "version-not-known");
        assert_eq!(reason("3.14.0rc1"), "version-not-known");
        assert_eq!(reason("3.15.2"), "no-such-member");
        assert_eq!(reason("3.16.0"), "version-not-known");
        assert_eq!(reason("3.10.3"), "runtime-not-known", "only object layouts are known there");
        assert_eq!(
            key("3.10.20", RELEASE, ARM, Libc::Glibc).unwrap_err().code(),
            "runtime-not-known",
            "no glibc build for AArch64 ran"
        );
        assert_eq!(
            key("3.9.2", Flavour::FreeThreaded, X86, Libc::Glibc).unwrap_err().code(),
            "version-not-known"
        );
    }

    #[test]
    fn the_c_library_matters_where_the_mutex_does() {
        let unknown =
            |version: &str| known_key_offset(version.parse().unwrap(), RELEASE, ARM, None, None);
        assert_eq!(unknown("3.9.2"), Err(Reason::NotCovered));
        assert_eq!(unknown("3.12.1"), Ok(1548), "no mutex before the key");
    }

    #[test]
    fn a_runtime_of_another_size_is_not_the_measured_one() {
        let sized =
            |size| known_key_offset(PyVersion::release(3, 9, 18), RELEASE, X86, None, Some(size));
        assert_eq!(sized(656), Ok(588));
        assert_eq!(sized(664), Err(Reason::OtherSize { measured: 656, found: 664 }));
    }

    #[test]
    fn holders() {
        let holder = |version: &str, arch| {
            known_holder_offset(version.parse().unwrap(), RELEASE, arch, Some(Libc::Glibc), None)
        };
        assert_eq!(holder("3.7.3", X86), Ok(1392));
        assert_eq!(holder("3.7.16", ARM), Ok(1496));
        assert_eq!(holder("3.11.7", X86), Ok(576));
        assert_eq!(holder("3.12.1", X86), Err(Reason::NoSuchMember));
        assert_eq!(holder("3.6.15", X86), Err(Reason::NoRuntime));
    }
}
