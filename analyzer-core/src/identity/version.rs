//! The version, from ordered sources.

use alloc::{string::String, string::ToString, vec::Vec};

use super::{runtime::COOKIE, soname};
use crate::{
    addr::VirtAddr,
    dataflow::{Action, Call, Explorer, Observer, Settings, Terms, Value},
    image::Image,
    report::{RuntimeFacts, VersionSource},
    search::find_all,
    version::PyVersion,
};

/// One source's name, what it says, and the version that is.
type Source = (VersionSource, Option<PyVersion>);

pub(super) fn sources(
    image: &Image<'_>,
    runtime: Option<&RuntimeFacts>,
    thorough: bool,
) -> Vec<Source> {
    let ask: [(&str, &Ask<'_>); 5] = [
        ("_Py_DebugOffsets", &|| hex_word(debug_offsets_word(image, runtime?)?)),
        ("Py_Version", &|| hex_word(image.u64_at(image.symbol("Py_Version")?.address)?)),
        ("Py_GetVersion", &|| version_text(image)),
        ("soname", &|| library_name(image.soname()?)),
        ("needed", &|| image.needed().find_map(library_name)),
    ];
    let mut found: Vec<Source> = Vec::new();
    let is_known = |found: &[Source]| found.iter().any(|(_, version)| version.is_some());
    for (name, ask) in ask {
        if (thorough || !is_known(&found))
            && let Some(said) = ask()
        {
            found.push(source(name, said));
        }
    }
    // A text anywhere in the file is asked only when all else fails.
    if !is_known(&found)
        && let Some(said) = library_path(image)
    {
        found.push(source("library path", said));
    }
    found
}

/// What a source says, and the version that is.
type Said = (String, Option<PyVersion>);
type Ask<'a> = dyn Fn() -> Option<Said> + 'a;

fn source(name: &str, (value, version): Said) -> Source {
    (VersionSource { source: name.to_string(), value }, version)
}

fn hex_word(word: u64) -> Option<Said> {
    let hex = u32::try_from(word).ok()?;
    let version = PyVersion::from_hex(hex)?;
    Some((version.to_string(), Some(version)))
}

/// `_Py_DebugOffsets.version`, the word behind the cookie (3.13 and later).
fn debug_offsets_word(image: &Image<'_>, runtime: &RuntimeFacts) -> Option<u64> {
    if image.bytes(runtime.address, COOKIE.len())? != COOKIE {
        return None;
    }
    image.u64_at(runtime.address.checked_add(8)?)
}

fn library_name(name: &str) -> Option<Said> {
    let library = soname::parse(name)?;
    Some((name.to_string(), Some(library.version)))
}

/// The text that `Py_GetVersion` formats: its call
/// `PyOS_snprintf(version, sizeof(version), "%.80s (%.80s) %.80s", PY_VERSION, …)`
/// has it as fourth argument (2.7 to 3.15, `Python/getversion.c`).
fn version_text(image: &Image<'_>) -> Option<Said> {
    let [entry, snprintf] = image.exports(&["Py_GetVersion", "PyOS_snprintf"]);
    let mut format = Format { snprintf: snprintf.map(|symbol| symbol.address), text: None };
    let mut explorer =
        Explorer::new(image, Settings { budget: 400, depth: 2, ..Settings::default() });
    explorer.explore(entry?.address, &mut format);
    let address = explorer.terms.as_address(format.text?, image.is_fixed())?;
    let text = c_string(image, address)?;
    let version = text.parse().ok()?;
    Some((text.to_string(), Some(version)))
}

/// Waits for the call that formats the version.
#[derive(Debug)]
struct Format {
    snprintf: Option<VirtAddr>,
    text: Option<Value>,
}

impl Observer for Format {
    fn call(&mut self, call: &Call<'_>, _terms: &Terms) -> Action {
        let named = call.callee.name == Some("PyOS_snprintf");
        if named || call.callee.address.is_some() && call.callee.address == self.snprintf {
            let [_, _, _, text] = call.args;
            self.text = Some(text);
            return Action::Sink;
        }
        // `_Py_InitVersion` and the like are followed; the functions that
        // compute the other arguments only return strings.
        if call.tail { Action::Follow } else { Action::Skip }
    }
}

fn c_string<'d>(image: &Image<'d>, address: VirtAddr) -> Option<&'d str> {
    const LONGEST: usize = 80;
    let bytes = image.bytes_from(address, LONGEST);
    let end = bytes.iter().position(|byte| *byte == 0)?;
    core::str::from_utf8(bytes.get(..end)?).ok()
}

/// `lib/python3.9` in a read-only segment, the default of `sys.path` (2.7 to
/// 3.15, `Modules/getpath.c`), where every occurrence names the same version.
fn library_path(image: &Image<'_>) -> Option<Said> {
    const MARK: &[u8] = b"lib/python";
    let mut found: Option<PyVersion> = None;
    for segment in image.segments().iter().filter(|segment| !segment.writable) {
        let bytes = image.segment_bytes(segment);
        for at in find_all(bytes, MARK, 3) {
            let text = bytes.get(at.wrapping_add(MARK.len())..)?;
            let end = text
                .iter()
                .position(|byte| !byte.is_ascii_digit() && *byte != b'.')
                .unwrap_or(text.len());
            let len = MARK.len().wrapping_add(end).wrapping_add(1);
            image.keep(VirtAddr(segment.address.0.wrapping_add(at as u64)), len);
            let Some(version) = text
                .get(..end)
                .and_then(|text| core::str::from_utf8(text).ok())
                .and_then(|text| text.parse().ok())
            else {
                continue;
            };
            if found.is_some_and(|found| found != version) {
                return None;
            }
            found = Some(version);
        }
    }
    found.map(|version| (alloc::format!("lib/python{version}"), Some(version)))
}
