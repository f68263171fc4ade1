//! The files of the page, taken in when keyhole is built.

/// One file: path below the page's root, and content.
pub(super) type File = (&'static str, &'static [u8]);

// `FILES: &[File]`, sorted by path; empty when the page had not been built.
include!(concat!(env!("OUT_DIR"), "/site.rs"));

/// The content of a file by its path.
pub(super) fn file(path: &str) -> Option<&'static [u8]> {
    let index = FILES.binary_search_by_key(&path, |(name, _)| name).ok()?;
    FILES.get(index).map(|(_, content)| *content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_found_by_its_path() {
        for (path, content) in FILES {
            assert_eq!(file(path), Some(*content), "{path}");
        }
        assert_eq!(file("no-such-file"), None);
    }
}
