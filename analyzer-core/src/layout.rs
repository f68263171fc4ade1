//! Where CPython keeps what a profiler reads: byte offsets of structure
//! members, and the rules for walking frames.
//!
//! Two sources: the table in this crate, measured per version (its
//! `data/README.md` says how), and from 3.13 on `_Py_DebugOffsets`, by which a build
//! describes itself ([`debug_offsets`]); the latter is preferred.
//!
//! What is not proven is not known. A patch level between two measured ones
//! has the offset on which both agree, and where they do not agree none. A
//! patch level after the last or before the first measured one of its series
//! is not known unless the data gives a reason, nor are alphas, betas,
//! release candidates, and versions whose patch level the file does not tell.
//! No answer is ever taken from the nearest entry.

use core::fmt;

use crate::{
    report::{Arch, Flavour, Libc},
    version::PyVersion,
};

pub mod debug_offsets;
pub mod facts;
#[rustfmt::skip]
mod generated;
pub mod known_keys;
pub mod offsets;
mod table;
pub mod walk;

/// The layout of one build.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// One, or two where the C library is not known and may matter.
    readings: [Option<table::Reading>; 2],
}

/// The layout the table proves for a build.
///
/// `libc` matters on AArch64 only: glibc's `pthread_mutex_t` has 48 bytes
/// there, everywhere else (and in musl) it has 40. Where it is `None` on
/// AArch64, the members that come after a mutex are not known.
///
/// # Errors
///
/// Why nothing is known about the version. A successful answer may still
/// leave some structures open: see [`Layout::covers`].
pub fn lookup(
    version: PyVersion,
    flavour: Flavour,
    arch: Arch,
    libc: Option<Libc>,
) -> Result<Layout, Unknown> {
    let Some(patch) = version.patch else { return Err(Unknown::NoPatchLevel { version }) };
    if version.is_prerelease() {
        return Err(Unknown::Prerelease { version });
    }
    let flavour = match flavour {
        Flavour::Release => 0,
        Flavour::Debug => 1,
        Flavour::FreeThreaded => 2,
        Flavour::FreeThreadedDebug => 3,
    };
    let common = table::build_bit(flavour, false);
    let aarch64_glibc = table::build_bit(flavour, true);
    let builds = match (arch, libc) {
        (Arch::X86_64, _) | (Arch::Aarch64, Some(Libc::Musl)) => [common, 0],
        (Arch::Aarch64, Some(Libc::Glibc)) => [aarch64_glibc, 0],
        (Arch::Aarch64, None) => [common, aarch64_glibc],
    };
    let packed = table::pack(version.major, version.minor, patch.micro);
    let mut readings = [None; 2];
    for (reading, &build) in readings.iter_mut().zip(builds.iter().filter(|&&build| build != 0)) {
        *reading = table::Reading::of(build, packed);
        if reading.is_none() {
            return Err(unmeasured(version, build));
        }
    }
    Ok(Layout { readings })
}

fn unmeasured(version: PyVersion, build: u8) -> Unknown {
    let proven = table::proven(build, version.major, version.minor).map(|patches| {
        let [_, first] = patches.start().to_be_bytes();
        let [_, last] = patches.end().to_be_bytes();
        (first, last)
    });
    Unknown::Unmeasured { version, proven }
}

impl Layout {
    /// Offset in bytes of a member, named as in `data/cpython-layouts.csv`
    /// (`sizeof` is a structure's size); `None` when this build has no such
    /// member or its offset is not known.
    #[must_use]
    pub fn offset(&self, structure: &str, member: &str) -> Option<u64> {
        table::index(structure, member)
            .and_then(|index| table::offset(&self.readings, index))
            .map(u64::from)
    }

    /// Whether the table proves the layout of this structure, so that a
    /// member without an offset is one this build does not have, or one that
    /// moved between the two measured patch levels around it.
    #[must_use]
    pub fn covers(&self, structure: &str) -> bool {
        self.readings.iter().flatten().all(|reading| reading.covers(structure))
    }

    /// Every member this build has: structure, member, offset in bytes;
    /// ordered by name.
    pub fn members(&self) -> impl Iterator<Item = (&'static str, &'static str, u64)> + use<> {
        let readings = self.readings;
        table::indices().filter_map(move |index| {
            let (structure, member) = table::name(index)?;
            Some((structure, member, u64::from(table::offset(&readings, index)?)))
        })
    }
}

/// Why the table has no layout for a build.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unknown {
    /// Only major and minor version are known, and patch levels differ or
    /// may.
    NoPatchLevel {
        /// As far as it is known.
        version: PyVersion,
    },
    /// An alpha, beta or release candidate.
    Prerelease {
        /// Which.
        version: PyVersion,
    },
    /// Not measured, and nothing stands for it.
    Unmeasured {
        /// Which.
        version: PyVersion,
        /// First and last patch level of this series known for this flavour,
        /// if any.
        proven: Option<(u8, u8)>,
    },
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NoPatchLevel { version } => {
                write!(f, "the patch level of this {version} is not known")
            }
            Self::Prerelease { version } => {
                write!(f, "{version} is not a final release; only those were measured")
            }
            Self::Unmeasured { version, proven: None } => {
                write!(f, "no {}.{} of this flavour was measured", version.major, version.minor)
            }
            Self::Unmeasured { version, proven: Some((first, last)) } => {
                let PyVersion { major, minor, .. } = version;
                write!(
                    f,
                    "{version} was not measured; what is known reaches from \
                     {major}.{minor}.{first} to {major}.{minor}.{last}"
                )
            }
        }
    }
}

impl core::error::Error for Unknown {}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(version: &str, flavour: Flavour, arch: Arch) -> Result<Layout, Unknown> {
        lookup(version.parse().unwrap(), flavour, arch, Some(Libc::Glibc))
    }

    /// The last patch levels that ran somewhere have the layout of the last
    /// compiled ones, and what comes after them is refused.
    #[test]
    fn patch_levels_are_known_as_far_as_builds_of_them_ran() {
        for (compiled, ran, beyond) in [
            ("3.7.16", "3.7.17", "3.7.18"),
            ("3.8.18", "3.8.20", "3.8.21"),
            ("3.9.18", "3.9.23", "3.9.24"),
            ("3.10.13", "3.10.20", "3.10.21"),
            ("3.11.7", "3.11.17", "3.11.18"),
            ("3.12.6", "3.12.15", "3.12.16"),
        ] {
            for arch in [Arch::X86_64, Arch::Aarch64] {
                let [compiled, ran, beyond] =
                    [compiled, ran, beyond].map(|version| of(version, Flavour::Release, arch));
                let of_threads = |layout: Layout| {
                    let of_threads = layout.members().filter(|member| member.0 == "PyThreadState");
                    of_threads.collect::<alloc::vec::Vec<_>>()
                };
                let of_threads = [compiled.unwrap(), ran.unwrap()].map(of_threads);
                assert!(!of_threads[0].is_empty());
                assert_eq!(of_threads[0], of_threads[1], "{ran:?}");
                assert!(matches!(beyond, Err(Unknown::Unmeasured { .. })), "{beyond:?}");
            }
        }
    }

    #[test]
    fn only_release_builds_ran() {
        for (last, beyond) in [("3.11.7", "3.11.8"), ("3.12.10", "3.12.11")] {
            assert!(of(last, Flavour::Debug, Arch::X86_64).is_ok(), "{last}");
            assert!(of(beyond, Flavour::Debug, Arch::X86_64).is_err(), "{beyond}");
        }
    }
}
