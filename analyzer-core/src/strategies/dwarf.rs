//! Routes from debug information: where `_PyRuntime`'s own type says its
//! members are.

use alloc::{format, string::ToString, vec::Vec};

use gimli::{
    AttributeValue, DebuggingInformationEntry, Dwarf, EndianSlice, LittleEndian, Reader as _, Unit,
    UnitOffset,
};

use super::{
    Attempt, Subject,
    finding::{Finding, Reason},
};
use crate::{addr::VirtAddr, image::Image, report::Reaches};

type Slice<'d> = EndianSlice<'d, LittleEndian>;
type Entry<'a, 'd> = DebuggingInformationEntry<Slice<'d>>;

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
    dwarf: Dwarf<Slice<'d>>,
}

/// A structure type: the unit it is in, and where there.
struct Structure<'i, 'd> {
    information: &'i Information<'d>,
    unit: Unit<Slice<'d>>,
    offset: UnitOffset,
}

impl<'d> Information<'d> {
    /// `None` where there is none, or none that can be read: compressed
    /// sections (`SHF_COMPRESSED`) are not.
    fn of(image: &Image<'d>) -> Option<Self> {
        let data = |name: &str| {
            let section = image.section(name).filter(|section| !section.is_compressed());
            EndianSlice::new(section.map_or(&[][..], |section| section.data), LittleEndian)
        };
        if data(".debug_info").is_empty() {
            return None;
        }
        image.keep_debug_information();
        let dwarf = Dwarf::load(|id| Ok::<_, gimli::Error>(data(id.name()))).ok()?;
        Some(Self { dwarf })
    }

    /// The first definition of `_PyRuntime`'s type.
    fn runtime(&self) -> Option<Structure<'_, 'd>> {
        let mut headers = self.dwarf.units();
        for _ in 0..MOST_UNITS {
            let header = headers.next().ok()??;
            let Ok(unit) = self.dwarf.unit(header) else { continue };
            if let Some(offset) = self.find_structure(&unit) {
                return Some(Structure { information: self, unit, offset });
            }
        }
        None
    }

    fn find_structure(&self, unit: &Unit<Slice<'d>>) -> Option<UnitOffset> {
        let mut tree = unit.entries_tree(None).ok()?;
        let mut children = tree.root().ok()?.children();
        while let Some(child) = children.next().ok()? {
            let entry = child.entry();
            if entry.tag() == gimli::DW_TAG_structure_type
                && entry.attr_value(gimli::DW_AT_declaration).is_none()
                && self.name(unit, entry).is_some_and(|name| name == RUNTIME.as_bytes())
            {
                return Some(entry.offset());
            }
        }
        None
    }

    fn name(&self, unit: &Unit<Slice<'d>>, entry: &Entry<'_, 'd>) -> Option<&'d [u8]> {
        let name = entry.attr_value(gimli::DW_AT_name)?;
        self.dwarf.attr_string(unit, name).ok().map(|name| name.slice())
    }
}

impl Structure<'_, '_> {
    /// Bytes from the start of the structure to what `members` lead to.
    fn offset(&self, members: &[&str], image: &Image<'_>) -> Option<u64> {
        let mut structure = self.offset;
        let mut total = 0_u64;
        let mut way = Vec::new();
        for (index, member) in members.iter().enumerate() {
            let (offset, member_type) = self.member(structure, member)?;
            total = total.checked_add(offset)?;
            way.push((*member, offset));
            if index.checked_add(1)? < members.len() {
                structure = self.without_typedef(member_type?)?;
            }
        }
        image.keep_members(RUNTIME, &way);
        Some(total)
    }

    fn member(&self, structure: UnitOffset, name: &str) -> Option<(u64, Option<UnitOffset>)> {
        let mut tree = self.unit.entries_tree(Some(structure)).ok()?;
        let mut children = tree.root().ok()?.children();
        while let Some(child) = children.next().ok()? {
            let entry = child.entry();
            let its_name = self.information.name(&self.unit, entry);
            if entry.tag() != gimli::DW_TAG_member || its_name != Some(name.as_bytes()) {
                continue;
            }
            let offset = match entry.attr_value(gimli::DW_AT_data_member_location) {
                Some(value) => value.udata_value()?,
                None => 0,
            };
            return Some((offset, type_of(entry)));
        }
        None
    }

    fn without_typedef(&self, mut at: UnitOffset) -> Option<UnitOffset> {
        /// Typedefs of typedefs: CPython has one.
        const MOST: usize = 8;
        for _ in 0..MOST {
            let entry = self.unit.entry(at).ok()?;
            if entry.tag() != gimli::DW_TAG_typedef {
                return Some(at);
            }
            at = type_of(&entry)?;
        }
        None
    }
}

fn type_of(entry: &Entry<'_, '_>) -> Option<UnitOffset> {
    match entry.attr_value(gimli::DW_AT_type)? {
        AttributeValue::UnitRef(offset) => Some(offset),
        _ => None,
    }
}
