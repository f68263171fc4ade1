//! The layout as the report tells it.

use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString as _},
    vec::Vec,
};

use super::{Layout, Unknown, debug_offsets::DebugOffsets};
use crate::{
    addr::VirtAddr,
    ordered::Map,
    report::{Flavour, GilFacts, LayoutFacts, LayoutMember, LayoutSource},
    version::PyVersion,
};

/// The offsets a frame walker needs, from the build's own record where there
/// is one and from the table for the rest.
///
/// `debug` is a record of 3.13 or later that was read; `refused` says why
/// there is none where one was to be expected.
#[must_use]
pub fn layout_facts(
    debug: Option<&DebugOffsets>,
    table: Result<Layout, Unknown>,
    refused: Option<&str>,
) -> LayoutFacts {
    let mut members = Map::default();
    if let Ok(table) = table {
        for (structure, member, offset) in table.members() {
            members.insert((structure, member), offset);
        }
    }
    if let Some(debug) = debug {
        for (structure, member, offset) in debug.members() {
            members.insert((structure, member), offset);
        }
    }
    let mut notes: Vec<String> = refused.map(ToOwned::to_owned).into_iter().collect();
    let source = match (debug, &table) {
        (Some(debug), Ok(table)) => {
            notes.extend(debug.disagreements(table).map(|disagreement| disagreement.to_string()));
            LayoutSource::DebugOffsets
        }
        (Some(_), Err(unknown)) => {
            notes.push(format!("what the record does not tell is missing: {unknown}"));
            LayoutSource::DebugOffsets
        }
        (None, Ok(table)) => {
            if !table.covers("_PyRuntimeState") {
                notes.push(
                    "the layout of _PyRuntime and of the interpreters is not known".to_owned(),
                );
            }
            LayoutSource::Table
        }
        (None, Err(unknown)) => {
            notes.push(unknown.to_string());
            LayoutSource::Unknown
        }
    };
    let members = members
        .into_entries()
        .into_iter()
        .map(|((structure, member), offset)| LayoutMember {
            structure: structure.to_owned(),
            member: member.to_owned(),
            offset,
        })
        .collect();
    LayoutFacts { source, members, note: (!notes.is_empty()).then(|| notes.join("; ")) }
}

/// Where the GIL's state is kept; `None` when the version or its layout is
/// not known.
///
/// `runtime` is the link-time address of `_PyRuntime`, `symbol` gives the
/// link-time address of a symbol that may be local to a file of CPython. In
/// 2.7 the GIL is a lock without a readable state: both statics are absent
/// and the holder is the owner of `_PyThreadState_Current`.
pub fn gil_facts(
    version: PyVersion,
    flavour: Flavour,
    debug: Option<&DebugOffsets>,
    table: Option<&Layout>,
    runtime: Option<VirtAddr>,
    symbol: impl Fn(&str) -> Option<VirtAddr>,
) -> Option<GilFacts> {
    match version.minor_pair() {
        (2, 7) => Some(GilFacts::Statics { locked: None, last_holder: None }),
        (3, 2..=6) => Some(GilFacts::Statics {
            locked: symbol("gil_locked"),
            last_holder: symbol("gil_last_holder"),
        }),
        (3, 7..=11) => {
            let at = |member| runtime?.checked_add(table?.offset("_PyRuntimeState", member)?);
            Some(GilFacts::Runtime {
                locked: at("ceval.gil.locked")?,
                last_holder: at("ceval.gil.last_holder")?,
            })
        }
        (3, 12..) => {
            let at = |member| {
                let structure = "PyInterpreterState";
                let own = debug.and_then(|debug| debug.offset(structure, member));
                own.or_else(|| table?.offset(structure, member))
            };
            let structure = at("_gil")?;
            Some(GilFacts::Interpreter {
                gil_pointer: at("ceval.gil")?,
                locked: at("_gil.locked")?.checked_sub(structure)?,
                last_holder: at("_gil.last_holder")?.checked_sub(structure)?,
                optional: matches!(flavour, Flavour::FreeThreaded | Flavour::FreeThreadedDebug),
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        layout::lookup,
        report::{Arch, Libc},
    };

    fn table(version: &str, flavour: Flavour, arch: Arch) -> Result<Layout, Unknown> {
        lookup(version.parse().unwrap(), flavour, arch, Some(Libc::Glibc))
    }

    fn gil(version: &str, flavour: Flavour, arch: Arch) -> Option<GilFacts> {
        let table = table(version, flavour, arch).ok();
        let symbol = |name: &str| (name == "gil_locked").then_some(VirtAddr(0x80));
        let runtime = Some(VirtAddr(0x1000));
        gil_facts(version.parse().unwrap(), flavour, None, table.as_ref(), runtime, symbol)
    }

    #[test]
    fn the_gil_is_where_its_version_keeps_it() {
        let release = Flavour::Release;
        assert_eq!(
            gil("3.6.15", release, Arch::X86_64),
            Some(GilFacts::Statics { locked: Some(VirtAddr(0x80)), last_holder: None })
        );
        for arch in [Arch::X86_64, Arch::Aarch64] {
            let (locked, last_holder) = (VirtAddr(0x1000 + 368), VirtAddr(0x1000 + 360));
            assert_eq!(
                gil("3.9.2", release, arch),
                Some(GilFacts::Runtime { locked, last_holder })
            );
        }
        for (version, flavour, gil_pointer, last_holder, locked, optional) in [
            ("3.12.6", release, 384, 8, 16, false),
            ("3.13.5", release, 16, 8, 16, false),
            ("3.14.10", Flavour::FreeThreaded, 16, 16, 24, true),
            ("3.15.2", Flavour::FreeThreadedDebug, 16, 16, 24, true),
        ] {
            let expected = GilFacts::Interpreter { gil_pointer, locked, last_holder, optional };
            assert_eq!(gil(version, flavour, Arch::Aarch64), Some(expected), "{version}");
        }
    }

    #[test]
    fn an_unknown_layout_gives_no_gil_and_says_why() {
        assert_eq!(gil("3.9.99", Flavour::Release, Arch::X86_64), None);
        let facts = layout_facts(None, table("3.9.99", Flavour::Release, Arch::X86_64), None);
        assert_eq!(facts.source, LayoutSource::Unknown);
        assert!(facts.members.is_empty());
        assert!(facts.note.unwrap().contains("3.9.0 to 3.9.23"));
    }

    #[test]
    fn facts_from_the_table() {
        let facts = layout_facts(None, table("3.10.2", Flavour::Release, Arch::X86_64), None);
        assert_eq!(facts.source, LayoutSource::Table);
        assert!(facts.note.is_some(), "_PyRuntime of 3.10.2 is not known");
        let of =
            |structure: &str| facts.members.iter().filter(|m| m.structure == structure).count();
        assert!(of("PyCodeObject") >= 8);
        assert_eq!(of("_PyRuntimeState"), 0);
    }
}
