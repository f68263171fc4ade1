//! Which C library an image is, by what it defines and contains.

use core::str;

use crate::{
    addr::VirtAddr,
    image::{Image, Segment, Symbol},
    report::Libc,
    search::find_all,
};

/// Longest version text that is believed.
const LONGEST_VERSION: usize = 24;

/// The definition of a name in a library's dynamic symbols, or in the symbol
/// table of a static executable.
pub(super) fn defined<'d>(image: &Image<'d>, name: &str) -> Option<Symbol<'d>> {
    let symbol =
        if image.has_dynamic() { image.dynamic_symbol(name) } else { image.static_symbol(name) };
    symbol.filter(|symbol| symbol.defined)
}

/// glibc defines names nobody else does: its version function (libc), the
/// dynamic linker's state (ld.so), and to 2.33 in libpthread the private
/// names of the thread-specific data functions. musl says its name.
pub(super) fn libc(image: &Image<'_>) -> Option<Libc> {
    let has = |name| defined(image, name).is_some();
    if has("gnu_get_libc_version")
        || has("_rtld_global") && has("__tls_get_addr")
        || has("__pthread_getspecific") && has("__pthread_key_create")
    {
        return Some(Libc::Glibc);
    }
    let musl = has("pthread_getspecific")
        && has("__libc_start_main")
        && constants(image).any(|(start, bytes)| {
            const MARK: &[u8] = b"musl libc (";
            let found = find_all(bytes, MARK, 10).next();
            found.inspect(|&at| keep(image, start, at, MARK.len())).is_some()
        });
    musl.then_some(Libc::Musl)
}

/// The library's version in its own words.
pub(super) fn version<'d>(image: &Image<'d>, libc: Libc) -> Option<&'d str> {
    match libc {
        Libc::Glibc => glibc_version(image),
        Libc::Musl => musl_version(image),
    }
}

/// The version glibc tells debuggers, else the one in its banner.
fn glibc_version<'d>(image: &Image<'d>) -> Option<&'d str> {
    let told = defined(image, "__nptl_version")
        .or_else(|| image.static_symbol("nptl_version"))
        .and_then(|symbol| leading_version(image.bytes_from(symbol.address, LONGEST_VERSION)));
    told.or_else(|| {
        constants(image).find_map(|(start, bytes)| {
            const MARK: &[u8] = b" release version ";
            let at = find_all(bytes, MARK, 9).next()?;
            let version = bytes.get(at.checked_add(MARK.len())?..)?;
            keep(image, start, at, MARK.len().checked_add(LONGEST_VERSION)?.min(bytes.len() - at));
            leading_version(version)
        })
    })
}

/// musl's `__libc_version` has no exported symbol; its text is the only
/// string of the library that is a version. Two of them are none.
fn musl_version<'d>(image: &Image<'d>) -> Option<&'d str> {
    let mut versions = constants(image).flat_map(|(start, bytes)| {
        let mut at = 0_usize;
        bytes.split(|&byte| byte == 0).filter_map(move |text| {
            let text_at = at;
            at = at.saturating_add(text.len()).saturating_add(1);
            let version = leading_version(text)?;
            let whole = version.len() == text.len() || text.get(version.len()) == Some(&b'-');
            if !whole || !version.starts_with("1.") || version.matches('.').count() != 2 {
                return None;
            }
            // With the zeros before and behind it.
            let end = at.min(bytes.len());
            let text_at = text_at.saturating_sub(1);
            keep(image, start, text_at, end.saturating_sub(text_at));
            str::from_utf8(text).ok()
        })
    });
    let only = versions.next()?;
    versions.next().is_none().then_some(only)
}

/// Digits and the dots between them at the start of `bytes`.
fn leading_version(bytes: &[u8]) -> Option<&str> {
    let window = bytes.get(..LONGEST_VERSION).unwrap_or(bytes);
    let end = window.iter().position(|byte| !byte.is_ascii_digit() && *byte != b'.');
    let text = str::from_utf8(window.get(..end.unwrap_or(window.len()))?).ok()?;
    let text = text.strip_suffix('.').unwrap_or(text);
    let numbers = text.split('.').all(|number| !number.is_empty());
    (numbers && text.contains('.')).then_some(text)
}

/// What the file holds of each segment that is never written to, to search
/// in, and where that lies.
fn constants<'d>(image: &Image<'d>) -> impl Iterator<Item = (VirtAddr, &'d [u8])> {
    let constant = |segment: &&Segment| !segment.writable;
    image.segments().iter().filter(constant).map(|segment| {
        let size = usize::try_from(segment.file_size).unwrap_or(usize::MAX);
        let bytes = image.segment_bytes(segment);
        (segment.address, bytes.get(..size).unwrap_or(bytes))
    })
}

/// Notes that the answer depends on `len` of the bytes that lie at `start`,
/// from the one at `at` on.
fn keep(image: &Image<'_>, start: VirtAddr, at: usize, len: usize) {
    image.keep(VirtAddr(start.0.wrapping_add(at as u64)), len);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_digits_and_dots() {
        assert_eq!(leading_version(b"2.36.\nCopyright"), Some("2.36"));
        assert_eq!(leading_version(b"2.41.9000, by Roland"), Some("2.41.9000"));
        assert_eq!(leading_version(b"2.31\0"), Some("2.31"));
        assert_eq!(leading_version(b"1.2.5"), Some("1.2.5"));
        for none in [&b""[..], b"2", b"version", b"2..3", b".5"] {
            assert_eq!(leading_version(none), None, "{none:?}");
        }
    }
}
