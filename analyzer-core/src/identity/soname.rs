//! What a library's name says: `libpython3.13td.so.1.0`.

use crate::search::find_all;
use crate::version::PyVersion;

/// Version and ABI flags of a library name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LibraryName {
    /// Major and minor.
    pub(super) version: PyVersion,
    /// `d` among the ABI flags.
    pub(super) debug: bool,
    /// `t` among the ABI flags (3.13 and later).
    pub(super) free_threaded: bool,
}

/// Reads `libpythonX.Y<flags>.so…` (CPython's `LDVERSION`; flags `d`, `m`, `t`, `u`).
pub(super) fn parse(name: &str) -> Option<LibraryName> {
    let name = name.rsplit('/').next()?.strip_prefix("libpython")?;
    let end = find_all(name.as_bytes(), b".so", 0).next()?;
    let name = name.get(..end)?;
    let flags_at = name.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(name.len());
    let (version, flags) = name.split_at_checked(flags_at)?;
    if !flags.chars().all(|flag| matches!(flag, 'd' | 'm' | 't' | 'u')) {
        return None;
    }
    Some(LibraryName {
        version: version.parse().ok()?,
        debug: flags.contains('d'),
        free_threaded: flags.contains('t'),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_follow_the_version() {
        let name = parse("libpython3.13td.so.1.0").unwrap();
        assert_eq!(name.version, PyVersion::series(3, 13));
        assert!(name.debug && name.free_threaded);
        let name = parse("libpython3.6m.so.1.0").unwrap();
        assert!(!name.debug && !name.free_threaded);
        assert_eq!(parse("libpython3.so"), None);
        assert_eq!(parse("libpython3.8-pyston2.3.so.1.0"), None);
    }
}
