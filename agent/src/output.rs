//! The formats a profile can be written in.

mod collapsed;
mod firefox;
mod label;
mod pprof;
mod speedscope;
mod summary;
mod svg;
mod text;

use std::{fmt, io::Write};

use anyhow::Result;
use clap::ValueEnum;

use crate::profile::Profile;

/// A format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// One line for each different stack, and how often it was seen
    Collapsed,
    /// Flame graph to look at in a browser
    Svg,
    /// JSON for <https://speedscope.app>
    Speedscope,
    /// Compressed protocol buffer for pprof and many services
    Pprof,
    /// JSON for <https://profiler.firefox.com>
    Firefox,
    /// Every sample with its states and its stack
    Text,
    /// Functions by their share of time
    Summary,
}

/// Formats by the end of a file's name; the first that fits counts.
const EXTENSIONS: &[(&str, Format)] = &[
    (".speedscope.json", Format::Speedscope),
    (".firefox.json", Format::Firefox),
    (".json", Format::Speedscope),
    (".pb.gz", Format::Pprof),
    (".pprof", Format::Pprof),
    (".svg", Format::Svg),
    (".folded", Format::Collapsed),
    (".collapsed", Format::Collapsed),
    (".summary.txt", Format::Summary),
    (".txt", Format::Text),
];

impl Format {
    /// The format that a file's name asks for.
    pub(crate) fn of_file_name(name: &str) -> Option<Self> {
        EXTENSIONS.iter().find(|(end, _)| name.ends_with(end)).map(|&(_, format)| format)
    }

    /// The usual end of a file's name.
    pub(crate) fn extension(self) -> &'static str {
        EXTENSIONS.iter().find(|&&(_, format)| format == self).map_or("", |(end, _)| end)
    }

    /// Whether it is not to be read on a terminal.
    pub(crate) fn is_binary(self) -> bool {
        self == Self::Pprof
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value();
        f.write_str(value.as_ref().map_or("", |value| value.get_name()))
    }
}

/// How names are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Style {
    /// Tell the lines of one function apart.
    pub(crate) lines: bool,
    /// Show files by module name.
    pub(crate) modules: bool,
    /// Begin stacks with their process.
    pub(crate) processes: bool,
    /// Begin stacks with their thread.
    pub(crate) threads: bool,
}

/// Writes a profile.
///
/// # Errors
/// The destination cannot be written.
pub(crate) fn write(
    format: Format,
    profile: &Profile,
    style: &Style,
    out: &mut dyn Write,
) -> Result<()> {
    match format {
        Format::Collapsed => collapsed::write(profile, style, out),
        Format::Svg => svg::write(profile, style, out),
        Format::Speedscope => speedscope::write(profile, style, out),
        Format::Pprof => pprof::write(profile, style, out),
        Format::Firefox => firefox::write(profile, style, out),
        Format::Text => text::write(profile, style, out),
        Format::Summary => summary::write(profile, style, out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_extension_counts() {
        assert_eq!(Format::of_file_name("a.speedscope.json"), Some(Format::Speedscope));
        assert_eq!(Format::of_file_name("a.firefox.json"), Some(Format::Firefox));
        assert_eq!(Format::of_file_name("profile.pb.gz"), Some(Format::Pprof));
        assert_eq!(Format::of_file_name("profile.gz"), None);
        for format in Format::value_variants() {
            assert_eq!(Format::of_file_name(&format!("x{}", format.extension())), Some(*format));
        }
    }
}
