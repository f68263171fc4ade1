//! Where the library that a launcher links to probably lies.

use std::path::{Path, PathBuf};

use analyzer_core::{
    diagnosis::Code,
    image::Image,
    report::{Report, Status},
};

use crate::file_bytes::FileBytes;

/// Folders beside the launcher's own, as installations lay them out.
const BESIDE: [&str; 3] = ["../lib", "../lib64", "."];

/// Folders that loaders look in. Those of one architecture are found below
/// the last two (`/usr/lib/x86_64-linux-gnu`).
const GLOBAL: [&str; 5] = ["/usr/local/lib", "/usr/lib64", "/lib64", "/usr/lib", "/lib"];

/// Puts the path of the library into the launcher's diagnosis, if it is found
/// on this machine.
///
/// The loader decides by run path, environment and cache; a file in a usual
/// folder with the very soname that is needed is nearly always the one.
pub(crate) fn point_to_library(path: &Path, report: &mut Report) {
    if report.status != Status::Launcher {
        return;
    }
    let Some(library) = library(path, report) else { return };
    let finding =
        report.diagnoses.iter_mut().find(|finding| finding.code == Code::Launcher.as_str());
    if let Some(finding) = finding {
        finding.remedy = format!("Inspect the library, which is probably {}.", library.display());
    }
}

fn library(path: &Path, report: &Report) -> Option<PathBuf> {
    let needed = &report.image.as_ref()?.needed;
    let name = needed.iter().find(|name| name.starts_with("libpython") && !name.contains('/'))?;
    let folder = path.canonicalize().ok()?.parent()?.to_owned();
    let beside = BESIDE.iter().map(|beside| folder.join(beside));
    let global = GLOBAL.iter().flat_map(|folder| with_architectures(Path::new(folder)));
    beside
        .chain(global)
        .map(|folder| folder.join(name))
        .find(|file| has_soname(file, name))
        .and_then(|file| file.canonicalize().ok())
}

/// The folder, and those below it that are for one architecture.
fn with_architectures(folder: &Path) -> Vec<PathBuf> {
    let below = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().contains("-linux-"))
        .map(|entry| entry.path());
    std::iter::once(folder.to_owned()).chain(below).collect()
}

fn has_soname(file: &Path, name: &str) -> bool {
    FileBytes::map_untrusted(file)
        .is_ok_and(|bytes| Image::parse(&bytes).is_ok_and(|image| image.soname() == Some(name)))
}

#[cfg(test)]
mod tests {
    use analyzer_core::{
        Options, analyze,
        report::{Arch, ImageKind},
        shrink::ElfBuilder,
    };

    use super::*;

    /// An installation: `bin/python3.12` that needs `lib/libpython3.12.so.1.0`.
    fn install(folder: &Path, soname: &str) -> PathBuf {
        let write = |path: &str, bytes: &[u8]| {
            let path = folder.join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("created");
            std::fs::write(&path, bytes).expect("written");
            path
        };
        let mut launcher = ElfBuilder::new(Arch::X86_64, ImageKind::Pie);
        launcher.needed("libpython3.12.so.1.0").import("Py_BytesMain");
        let mut library = ElfBuilder::new(Arch::X86_64, ImageKind::Shared);
        library.soname(soname);
        write("lib/libpython3.12.so.1.0", &library.build().expect("a library"));
        write("bin/python3.12", &launcher.build().expect("a launcher"))
    }

    fn remedy(launcher: &Path) -> String {
        let bytes = std::fs::read(launcher).expect("read");
        let mut report = analyze(&bytes, &Options::default());
        assert_eq!(report.status, Status::Launcher);
        point_to_library(launcher, &mut report);
        report.diagnoses.into_iter().map(|finding| finding.remedy).collect()
    }

    #[test]
    fn the_library_beside_the_launcher_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().canonicalize().expect("a real path");
        let launcher = install(&folder, "libpython3.12.so.1.0");
        let library = folder.join("lib/libpython3.12.so.1.0");
        assert!(remedy(&launcher).contains(library.to_str().expect("UTF-8")));
        // Started through a link, as from /usr/bin.
        let link = folder.join("python3");
        std::os::unix::fs::symlink(&launcher, &link).expect("linked");
        assert!(remedy(&link).contains(library.to_str().expect("UTF-8")));
    }

    #[test]
    fn a_file_of_that_name_that_is_another_library_is_not_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let launcher = install(folder.path(), "libsomething.so.1");
        assert!(!remedy(&launcher).contains(folder.path().to_str().expect("UTF-8")));
    }
}
