//! Finds the separate debug file of an image, where the GNU tools look.

use std::path::{Path, PathBuf};

use analyzer_core::report::Report;

use crate::file_bytes::FileBytes;

/// Where distributions install debug files.
const GLOBAL: &str = "/usr/lib/debug";

/// The debug file that belongs to the image at `path` and has its build id.
///
/// Looks under the build id, then for the name in `.gnu_debuglink` beside the
/// image, in `.debug` beside it, and under the same folder in the global
/// place (the order of gdb's manual, "Debugging Information in Separate
/// Files"). A file with another build id is passed over; an image without a
/// build id has no debug file that could be trusted.
pub(crate) fn find(path: &Path, report: &Report) -> Option<(PathBuf, FileBytes)> {
    let build_id = report.file.build_id.as_deref()?;
    candidates(path, build_id, report.image.as_ref()?.debug_link.as_deref()).find_map(|candidate| {
        let bytes = FileBytes::open(&candidate).ok()?;
        let its_id = analyzer_core::image::Image::parse(&bytes).ok()?.build_id()?;
        (hexadecimal(its_id) == build_id).then_some((candidate, bytes))
    })
}

fn candidates(path: &Path, build_id: &str, link: Option<&str>) -> impl Iterator<Item = PathBuf> {
    let by_id = (build_id.len() > 2 && build_id.is_ascii()).then(|| {
        let (first, rest) = build_id.split_at(2);
        Path::new(GLOBAL).join(".build-id").join(first).join(format!("{rest}.debug"))
    });
    // The link is a bare file name by definition; anything else is not followed.
    let link = link.filter(|name| !name.is_empty() && !name.contains('/') && *name != "..");
    let folder = path.canonicalize().ok().and_then(|path| path.parent().map(Path::to_owned));
    let by_link = link.zip(folder).into_iter().flat_map(|(link, folder)| {
        let below = folder.strip_prefix("/").map(Path::to_owned).unwrap_or_default();
        [
            folder.join(link),
            folder.join(".debug").join(link),
            Path::new(GLOBAL).join(below).join(link),
        ]
    });
    by_id.into_iter().chain(by_link)
}

fn hexadecimal(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_places_in_the_usual_order() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().canonicalize().expect("a real path");
        let image = folder.join("lib.so");
        std::fs::write(&image, b"").expect("written");
        let found: Vec<PathBuf> = candidates(&image, "abcdef", Some("lib.debug")).collect();
        assert_eq!(found[0], Path::new("/usr/lib/debug/.build-id/ab/cdef.debug"));
        assert_eq!(found[1], folder.join("lib.debug"));
        assert_eq!(found[2], folder.join(".debug/lib.debug"));
        assert!(found[3].starts_with("/usr/lib/debug") && found[3].ends_with("lib.debug"));
        assert_eq!(candidates(&image, "abcdef", Some("../../etc/passwd")).count(), 1);
    }
}
