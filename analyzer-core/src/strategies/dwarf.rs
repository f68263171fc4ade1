//! Routes from debug information: where `_PyRuntime`'s own type says its
//! members are.

mod entries;

use alloc::{format, string::ToString, vec::Vec};

use entries::{Entry, Sections, Unit};
use gimli::constants::{DW_TAG_member, DW_TAG_structure_type, DW_TAG_typedef};

use super::{
    Attempt, Subject,
    finding::{Finding, Reason},
};
use crate::{addr::VirtAddr, image::Image, report::Reaches};

/// `_PyRuntimeState` is a typedef of this structure (3.7 to 3.15,
/// `Include/internal/pycore_runtime.h`; in 3.7 `internal/pystate.h`).
const RUNTIME: &str = "pyruntimestate";

/// Units that are looked through at most: more than CPython has source files.
const MOST_UNITS: usize = 4096;

/// A way of member names, and what is found at its end.
struct Way {
    name: &'static str,
    /// The second is that of 3.12 and later.
    members: [&'static [&'static str]; 2],
    /// First and last minor version of CPython 3 that have the member.
    versions: (u8, u8),
    finding: fn(VirtAddr) -> Finding,
}

const WAYS: [Way; 2] = [
    Way {
        name: "dwarf:autoTSSkey",
        members: [&["gilstate", "autoTSSkey", "_key"], &["autoTSSkey", "_key"]],
        versions: (7, 14),
        finding: |address| Finding::Key { address },
    },
    Way {
        name: "dwarf:tstate_current",
        members: [&["gilstate", "tstate_current"], &[]],
        versions: (7, 11),
        finding: |address| Finding::Global { reaches: Reaches::Holder, address },
    },
];

pub(super) fn run<'a, 'd>(subject: &Subject<'a, 'd>, attempts: &mut Vec<Attempt<'a, 'd>>) {
    let image = subject.debug.unwrap_or(subject.image);
    let information = Information::of(image);
    let runtime = match &information {
        Some(information) => information.runtime().ok_or(Reason::NoMember),
        None => Err(Reason::NoDebugInformation),
    };
    if runtime.is_ok() {
        image.keep_members(RUNTIME, &[]);
    }
    for way in &WAYS {
        let (first, last) = way.versions;
        let exists = subject.version.is_none_or(|version| {
            version.at_least(3, first) && !version.at_least(3, last.saturating_add(1))
        });
        let offset = runtime.as_ref().map_err(|reason| *reason).and_then(|runtime| {
            if !exists {
                return Err(Reason::NotInVersion);
            }
            way.members
                .iter()
                .filter(|members| !members.is_empty())
                .find_map(|members| runtime.offset(members, image))
                .ok_or(Reason::NoMember)
        });
        let found = offset.and_then(|offset| {
            let runtime = subject.runtime.as_ref().ok_or(Reason::NoRuntime)?;
            let address = runtime.address.checked_add(offset).ok_or(Reason::NoMember)?;
            Ok((way.finding)(address))
        });
        attempts.push(Attempt {
            name: way.name.to_string(),
            found,
            detail: offset
                .ok()
                .map(|offset| format!("debug information puts it {offset} bytes into _PyRuntime")),
            evidence: None,
        });
    }
}

/// The debug information of one image.
struct Information<'d> {
    sections: Sections<'d>,
}

/// A structure type: the unit it is in, and its entry there.
struct Structure<'d> {
    unit: Unit<'d>,
    entry: Entry<'d>,
}

impl<'d> Information<'d> {
    /// `None` where there is none, or none that can be read: compressed
    /// sections (`SHF_COMPRESSED`) are not.
    fn of(image: &Image<'d>) -> Option<Self> {
        let data = |name: &str| {
            let section = image.section(name).filter(|section| !section.is_compressed());
            section.map_or(&[][..], |section| section.data)
        };
        let info = data(".debug_info");
        if info.is_empty() {
            return None;
        }
        image.keep_debug_information();
        let sections = Sections {
            info,
            abbreviations: data(".debug_abbrev"),
            strings: data(".debug_str"),
            line_strings: data(".debug_line_str"),
            string_offsets: data(".debug_str_offsets"),
        };
        Some(Self { sections })
    }

    /// The first definition of `_PyRuntime`'s type.
    fn runtime(&self) -> Option<Structure<'d>> {
        let mut start = 0;
        for _ in 0..MOST_UNITS {
            let (unit, next) = self.sections.unit(start)?;
            if let Some(unit) = unit {
                let root = unit.entry(unit.root)?;
                let found = unit.children(&root).find(|entry| {
                    entry.tag == DW_TAG_structure_type
                        && !entry.is_declaration
                        && unit.name(entry) == Some(RUNTIME.as_bytes())
                });
                if let Some(entry) = found {
                    return Some(Structure { unit, entry });
                }
            }
            start = next;
        }
        None
    }
}

impl<'d> Structure<'d> {
    /// Bytes from the start of the structure to what `members` lead to.
    fn offset(&self, members: &[&str], image: &Image<'_>) -> Option<u64> {
        let mut structure = self.entry;
        let mut total = 0_u64;
        let mut way = Vec::new();
        for (index, member) in members.iter().enumerate() {
            let (offset, type_at) = self.member(&structure, member)?;
            total = total.checked_add(offset)?;
            way.push((*member, offset));
            if index.checked_add(1)? < members.len() {
                structure = self.without_typedef(type_at?)?;
            }
        }
        image.keep_members(RUNTIME, &way);
        Some(total)
    }

    /// Offset of a member, and where its type's entry is.
    fn member(&self, structure: &Entry<'d>, name: &str) -> Option<(u64, Option<u64>)> {
        let member = self.unit.children(structure).find(|entry| {
            entry.tag == DW_TAG_member && self.unit.name(entry) == Some(name.as_bytes())
        })?;
        Some((member.location.unwrap_or(Some(0))?, member.type_at))
    }

    fn without_typedef(&self, mut at: u64) -> Option<Entry<'d>> {
        /// Typedefs of typedefs: CPython has one.
        const MOST: usize = 8;
        for _ in 0..MOST {
            let entry = self.unit.entry(at)?;
            if entry.tag != DW_TAG_typedef {
                return Some(entry);
            }
            at = entry.type_at?;
        }
        None
    }
}
