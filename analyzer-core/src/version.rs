//! CPython version numbers, as exact as a file tells them.

use core::{cmp::Ordering, fmt, num::ParseIntError, str::FromStr};

/// A CPython version: `3.12.1`, `3.14.0rc2`, or only `3.9` where nothing in
/// a file tells more.
///
/// Two versions are ordered only where what both say decides it, so
/// [`PartialOrd`] is implemented and `Ord` is not: `3.9` is before `3.10.0`
/// and neither before, after nor equal to `3.9.2`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PyVersion {
    /// `PY_MAJOR_VERSION`.
    pub major: u8,
    /// `PY_MINOR_VERSION`.
    pub minor: u8,
    /// `PY_MICRO_VERSION` and what follows it; absent when only `X.Y` is known.
    pub patch: Option<Patch>,
}

/// What follows `X.Y.` in a version.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Patch {
    /// `PY_MICRO_VERSION`.
    pub micro: u8,
    /// `PY_RELEASE_LEVEL`.
    pub level: ReleaseLevel,
    /// `PY_RELEASE_SERIAL`, 0 for a final release.
    pub serial: u8,
}

/// `PY_RELEASE_LEVEL` (CPython's `Include/patchlevel.h`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ReleaseLevel {
    /// `a`, 0xA.
    Alpha,
    /// `b`, 0xB.
    Beta,
    /// `rc` (`c` to 2.7), 0xC.
    Candidate,
    /// No suffix, 0xF.
    Final,
}

impl Patch {
    /// The final release with this micro version.
    #[must_use]
    pub const fn final_release(micro: u8) -> Self {
        Self { micro, level: ReleaseLevel::Final, serial: 0 }
    }
}

impl PyVersion {
    /// A version of which only `major.minor` is known.
    #[must_use]
    pub const fn series(major: u8, minor: u8) -> Self {
        Self { major, minor, patch: None }
    }

    /// The final release `major.minor.micro`.
    #[must_use]
    pub const fn release(major: u8, minor: u8, micro: u8) -> Self {
        Self { major, minor, patch: Some(Patch::final_release(micro)) }
    }

    /// The version a `PY_VERSION_HEX` stands for: major, minor and micro in
    /// the upper three bytes, then release level and serial in four bits each
    /// (CPython's `Include/patchlevel.h`). `None` when the release level is
    /// none of CPython's, or when major is not 2 or 3.
    #[must_use]
    pub const fn from_hex(hex: u32) -> Option<Self> {
        let [major, minor, micro, low] = hex.to_be_bytes();
        let level = match low >> 4 {
            0xa => ReleaseLevel::Alpha,
            0xb => ReleaseLevel::Beta,
            0xc => ReleaseLevel::Candidate,
            0xf => ReleaseLevel::Final,
            _ => return None,
        };
        if major != 2 && major != 3 {
            return None;
        }
        Some(Self { major, minor, patch: Some(Patch { micro, level, serial: low & 0xf }) })
    }

    /// `PY_VERSION_HEX` of this version; `None` when only `X.Y` is known or
    /// the serial does not fit its four bits.
    #[must_use]
    pub const fn hex(self) -> Option<u32> {
        let Some(Patch { micro, level, serial }) = self.patch else { return None };
        if serial > 0xf {
            return None;
        }
        let level = match level {
            ReleaseLevel::Alpha => 0xa0,
            ReleaseLevel::Beta => 0xb0,
            ReleaseLevel::Candidate => 0xc0,
            ReleaseLevel::Final => 0xf0,
        };
        Some(u32::from_be_bytes([self.major, self.minor, micro, level | serial]))
    }

    /// `PY_MICRO_VERSION`, where it is known.
    #[must_use]
    pub const fn micro(self) -> Option<u8> {
        match self.patch {
            Some(patch) => Some(patch.micro),
            None => None,
        }
    }

    /// Major and minor, which order as a pair.
    #[must_use]
    pub const fn minor_pair(self) -> (u8, u8) {
        (self.major, self.minor)
    }

    /// Whether this is `major.minor` or a later minor version.
    #[must_use]
    pub fn at_least(self, major: u8, minor: u8) -> bool {
        self.minor_pair() >= (major, minor)
    }

    /// Whether this is an alpha, beta or release candidate; `false` also when
    /// the patch level is not known.
    #[must_use]
    pub fn is_prerelease(self) -> bool {
        self.patch.is_some_and(|patch| patch.level != ReleaseLevel::Final)
    }

    /// Whether nothing both versions say tells them apart: `3.9` agrees with
    /// every `3.9.x`.
    #[must_use]
    pub fn agrees_with(self, other: Self) -> bool {
        self.minor_pair() == other.minor_pair()
            && match (self.patch, other.patch) {
                (Some(left), Some(right)) => left == right,
                _ => true,
            }
    }
}

impl PartialOrd for PyVersion {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match self.minor_pair().cmp(&other.minor_pair()) {
            Ordering::Equal => match (self.patch, other.patch) {
                (Some(left), Some(right)) => Some(left.cmp(&right)),
                (None, None) => Some(Ordering::Equal),
                _ => None,
            },
            order => Some(order),
        }
    }
}

impl fmt::Display for PyVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        let Some(Patch { micro, level, serial }) = self.patch else { return Ok(()) };
        write!(f, ".{micro}")?;
        match level {
            ReleaseLevel::Alpha => write!(f, "a{serial}"),
            ReleaseLevel::Beta => write!(f, "b{serial}"),
            ReleaseLevel::Candidate => write!(f, "rc{serial}"),
            ReleaseLevel::Final => Ok(()),
        }
    }
}

/// Why a text is no version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VersionError {
    /// It does not begin with `2.` or `3.` and a minor number.
    NotAVersion,
    /// A number in it is above 255 or has no digits.
    BadNumber,
    /// Something other than a version's suffix follows.
    TrailingText,
}

impl fmt::Display for VersionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAVersion => "does not begin with 2. or 3. and a minor number",
            Self::BadNumber => "a number in it is missing or above 255",
            Self::TrailingText => "something other than a version follows",
        })
    }
}

impl core::error::Error for VersionError {}

impl From<ParseIntError> for VersionError {
    fn from(_: ParseIntError) -> Self {
        Self::BadNumber
    }
}

/// Reads `X.Y`, `X.Y.Z`, `X.Y.ZaN`, `X.Y.ZbN`, `X.Y.ZrcN` (or `cN`), each
/// optionally followed by the `+` that a development build carries, by a
/// space and more text (`sys.version` goes on after one), or by a NUL.
impl FromStr for PyVersion {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        let text = text.split([' ', '\0']).next().unwrap_or_default();
        let text = text.strip_suffix('+').unwrap_or(text);
        let (major, rest) = text.split_once('.').ok_or(VersionError::NotAVersion)?;
        let major = match major {
            "2" => 2,
            "3" => 3,
            _ => return Err(VersionError::NotAVersion),
        };
        let Some((minor, rest)) = rest.split_once('.') else {
            return Ok(Self::series(major, number(rest)?));
        };
        let minor = number(minor)?;
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (micro, suffix) = rest.split_at(digits);
        let (level, serial) = if suffix.is_empty() {
            (ReleaseLevel::Final, 0)
        } else if let Some(serial) = suffix.strip_prefix("rc").or_else(|| suffix.strip_prefix('c'))
        {
            (ReleaseLevel::Candidate, number(serial)?)
        } else if let Some(serial) = suffix.strip_prefix('a') {
            (ReleaseLevel::Alpha, number(serial)?)
        } else if let Some(serial) = suffix.strip_prefix('b') {
            (ReleaseLevel::Beta, number(serial)?)
        } else {
            return Err(VersionError::TrailingText);
        };
        Ok(Self { major, minor, patch: Some(Patch { micro: number(micro)?, level, serial }) })
    }
}

/// A number of decimal digits only (`u8::from_str` alone would take a sign).
fn number(digits: &str) -> Result<u8, VersionError> {
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(VersionError::TrailingText);
    }
    Ok(digits.parse()?)
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn text_round_trips() {
        for text in ["2.7.18", "3.9", "3.12.1", "3.14.0rc1", "3.15.0a7", "3.13.0b4", "3.255.255"] {
            assert_eq!(text.parse::<PyVersion>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_development_build_and_sys_version_are_read() {
        let candidate = "3.14.0rc1+".parse::<PyVersion>().unwrap();
        assert_eq!(candidate.to_string(), "3.14.0rc1");
        assert!(candidate.is_prerelease());
        assert_eq!("3.11.2 (main, Mar 5 2023) [GCC]".parse(), Ok(PyVersion::release(3, 11, 2)));
        assert_eq!("2.7.0c1".parse::<PyVersion>().unwrap().to_string(), "2.7.0rc1");
    }

    #[test]
    fn other_text_is_refused() {
        for (text, error) in [
            ("", VersionError::NotAVersion),
            ("1.2.11", VersionError::NotAVersion),
            ("3", VersionError::NotAVersion),
            ("3.", VersionError::BadNumber),
            ("3.x", VersionError::TrailingText),
            ("3.+9", VersionError::TrailingText),
            ("3.9.", VersionError::BadNumber),
            ("3.9.256", VersionError::BadNumber),
            ("3.9.2rc", VersionError::BadNumber),
            ("3.9.2-dev", VersionError::TrailingText),
            ("3.9.2.1", VersionError::TrailingText),
        ] {
            assert_eq!(text.parse::<PyVersion>(), Err(error), "{text}");
        }
    }

    #[test]
    fn hexadecimal_versions() {
        let version = PyVersion::from_hex(0x030d_00f0).unwrap();
        assert_eq!(version, PyVersion::release(3, 13, 0));
        assert_eq!(version.hex(), Some(0x030d_00f0));
        let candidate = PyVersion::from_hex(0x030e_00c2).unwrap();
        assert_eq!(candidate.to_string(), "3.14.0rc2");
        assert_eq!(PyVersion::from_hex(0x030d_0010), None);
        assert_eq!(PyVersion::from_hex(0), None);
        assert_eq!(PyVersion::series(3, 9).hex(), None);
    }

    #[test]
    fn order_only_where_it_is_decided() {
        let of = |text: &str| text.parse::<PyVersion>().unwrap();
        assert!(of("3.9") < of("3.10.0"));
        assert!(of("3.14.0rc1") < of("3.14.0"));
        assert!(of("3.14.0b4") < of("3.14.0rc1"));
        assert!(of("3.7.3") < of("3.7.4"));
        assert_eq!(of("3.9").partial_cmp(&of("3.9.2")), None);
        assert!(of("3.9").agrees_with(of("3.9.2")));
        assert!(!of("3.9.1").agrees_with(of("3.9.2")));
    }
}
