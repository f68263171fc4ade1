//! Debugging information entries, as far as structures and their members need
//! them.
//!
//! Source: DWARF 5, section 7.5 (units, abbreviations, forms), which covers
//! versions 2 to 4; GNU's forms as in binutils' `include/dwarf2.def`.

use alloc::vec::Vec;

use gimli::constants::{self as dw, DwAt, DwForm, DwTag};

use crate::bytes::Cursor;

/// The sections that entries are read from; those that are not there are empty.
#[derive(Clone, Copy, Default)]
pub(super) struct Sections<'d> {
    pub(super) info: &'d [u8],
    pub(super) abbreviations: &'d [u8],
    pub(super) strings: &'d [u8],
    pub(super) line_strings: &'d [u8],
    pub(super) string_offsets: &'d [u8],
}

/// What one number of an abbreviation table stands for.
#[derive(Clone, Copy)]
struct Abbreviation {
    tag: DwTag,
    has_children: bool,
    /// Where its attributes are listed, in the section.
    attributes: usize,
}

/// One unit of `.debug_info`.
pub(super) struct Unit<'d> {
    sections: Sections<'d>,
    /// Up to the unit's end.
    info: &'d [u8],
    start: u64,
    /// Where its first entry is, in the section.
    pub(super) root: u64,
    version: u8,
    address_bytes: u8,
    offset_bytes: u8,
    /// By number, from 1.
    abbreviations: Vec<Option<Abbreviation>>,
    string_offsets_base: u64,
}

/// Numbers of one abbreviation table, at most; compilers count from 1 up.
const MOST_ABBREVIATIONS: u64 = 1 << 16;

/// One entry, as far as its attributes matter here.
#[derive(Clone, Copy)]
pub(super) struct Entry<'d> {
    pub(super) tag: DwTag,
    name: Value<'d>,
    pub(super) is_declaration: bool,
    /// Where the entry of its type is, in the section, if that is a number
    /// within the unit.
    pub(super) type_at: Option<u64>,
    /// `DW_AT_data_member_location`; the inner `None` is one that is no number.
    pub(super) location: Option<Option<u64>>,
    has_children: bool,
    sibling: Option<u64>,
    /// Where the next entry is, a child if it has any.
    next: u64,
}

/// What an attribute holds.
#[derive(Clone, Copy)]
enum Value<'d> {
    Number(u64),
    String(&'d [u8]),
    /// An offset in `.debug_str`.
    StringAt(u64),
    /// An offset in `.debug_line_str`.
    LineStringAt(u64),
    /// An offset from the unit's start.
    Reference(u64),
    /// The number of a string.
    StringNumber(u64),
    Other,
}

impl<'d> Sections<'d> {
    /// The unit at `start` of `.debug_info`, and where the next one is; no
    /// unit where it is of a kind or version that is not read.
    pub(super) fn unit(self, start: u64) -> Option<(Option<Unit<'d>>, u64)> {
        let mut cursor = Cursor::new(self.info, start)?;
        let (mut length, mut offset_bytes) = (cursor.number(4)?, 4);
        if length == 0xffff_ffff {
            (length, offset_bytes) = (cursor.number(8)?, 8);
        }
        let end = (cursor.at as u64).checked_add(length)?;
        let info = self.info.get(..usize::try_from(end).ok()?)?;
        Some((self.unit_in(info, start, cursor, offset_bytes), end))
    }

    fn unit_in(
        self,
        info: &'d [u8],
        start: u64,
        mut cursor: Cursor<'d>,
        offset_bytes: u8,
    ) -> Option<Unit<'d>> {
        cursor.bytes = info;
        let version = u8::try_from(cursor.number(2)?).ok()?;
        let (abbreviations_at, address_bytes) = match version {
            2..=4 => (cursor.number(offset_bytes)?, cursor.number(1)?),
            5 => {
                let kind = cursor.number(1)?;
                if kind != u64::from(dw::DW_UT_compile.0) && kind != u64::from(dw::DW_UT_partial.0)
                {
                    return None;
                }
                let address_bytes = cursor.number(1)?;
                (cursor.number(offset_bytes)?, address_bytes)
            }
            _ => return None,
        };
        let mut unit = Unit {
            sections: self,
            info,
            start,
            root: cursor.at as u64,
            version,
            address_bytes: u8::try_from(address_bytes).ok().filter(|bytes| *bytes <= 8)?,
            offset_bytes,
            abbreviations: self.abbreviations_at(abbreviations_at)?,
            // Behind the header of the first contribution.
            string_offsets_base: 8,
        };
        if let Some(base) = unit.root_string_offsets_base() {
            unit.string_offsets_base = base;
        }
        Some(unit)
    }

    fn abbreviations_at(self, start: u64) -> Option<Vec<Option<Abbreviation>>> {
        let mut cursor = Cursor::new(self.abbreviations, start)?;
        let mut all = Vec::new();
        loop {
            let number = cursor.leb128()?;
            if number == 0 {
                return Some(all);
            }
            let tag = DwTag(u16::try_from(cursor.leb128()?).ok()?);
            let has_children = cursor.number(1)? != 0;
            let attributes = cursor.at;
            while read_attribute(&mut cursor)?.is_some() {}
            let at = usize::try_from(number.min(MOST_ABBREVIATIONS)).ok()?;
            if all.len() <= at {
                all.resize(at.checked_add(1)?, None);
            }
            if let Some(slot) = all.get_mut(at) {
                *slot = Some(Abbreviation { tag, has_children, attributes });
            }
        }
    }
}

/// The next attribute of an abbreviation, with the number of an implicit
/// constant; the inner `None` is the list's end.
fn read_attribute(cursor: &mut Cursor<'_>) -> Option<Option<(DwAt, DwForm, u64)>> {
    let name = DwAt(u16::try_from(cursor.leb128()?).ok()?);
    let form = DwForm(u16::try_from(cursor.leb128()?).ok()?);
    let constant = if form == dw::DW_FORM_implicit_const { cursor.leb128()? } else { 0 };
    Some((name.0 != 0).then_some((name, form, constant)))
}

impl<'d> Unit<'d> {
    /// The entry at an offset of the section; `None` at the end of siblings,
    /// and where none can be read.
    pub(super) fn entry(&self, at: u64) -> Option<Entry<'d>> {
        let (abbreviation, mut cursor) = self.start(at)?;
        let mut entry = Entry {
            tag: abbreviation.tag,
            name: Value::Other,
            is_declaration: false,
            type_at: None,
            location: None,
            has_children: abbreviation.has_children,
            sibling: None,
            next: 0,
        };
        self.attributes(abbreviation, &mut cursor, |name, value| match (name, value) {
            (dw::DW_AT_name, name) => entry.name = name,
            (dw::DW_AT_declaration, _) => entry.is_declaration = true,
            (dw::DW_AT_type, Value::Reference(offset)) => {
                entry.type_at = self.start.checked_add(offset);
            }
            (dw::DW_AT_sibling, Value::Reference(offset)) => {
                // Only on, never back.
                entry.sibling = self.start.checked_add(offset).filter(|sibling| *sibling > at);
            }
            (dw::DW_AT_data_member_location, Value::Number(number)) => {
                entry.location = Some(Some(number));
            }
            (dw::DW_AT_data_member_location, _) => entry.location = Some(None),
            _ => {}
        })?;
        entry.next = cursor.at as u64;
        Some(entry)
    }

    /// What the entry at an offset of the section is abbreviated by, and where
    /// its attributes are.
    fn start(&self, at: u64) -> Option<(Abbreviation, Cursor<'d>)> {
        let mut cursor = Cursor::new(self.info, at)?;
        let number = usize::try_from(cursor.leb128()?).ok()?;
        Some(((*self.abbreviations.get(number)?)?, cursor))
    }

    /// The children of an entry that is given `before`, then the one behind it.
    pub(super) fn children(&self, parent: &Entry<'d>) -> impl Iterator<Item = Entry<'d>> {
        let mut next = parent.has_children.then_some(parent.next);
        core::iter::from_fn(move || {
            let child = self.entry(next?);
            next = child.as_ref().and_then(|child| self.after(child));
            child
        })
    }

    /// Where the entry behind `entry` and its children is.
    fn after(&self, entry: &Entry<'d>) -> Option<u64> {
        if !entry.has_children {
            return Some(entry.next);
        }
        if entry.sibling.is_some() {
            return entry.sibling;
        }
        let (mut at, mut depth) = (entry.next, 1_usize);
        while depth > 0 {
            match self.entry(at) {
                Some(inner) => {
                    depth = depth.checked_add(usize::from(inner.has_children))?;
                    at = inner.next;
                }
                None if self.info.get(usize::try_from(at).ok()?) == Some(&0) => {
                    depth -= 1;
                    at = at.checked_add(1)?;
                }
                None => return None,
            }
        }
        Some(at)
    }

    fn root_string_offsets_base(&self) -> Option<u64> {
        let (abbreviation, mut cursor) = self.start(self.root)?;
        let mut base = None;
        self.attributes(abbreviation, &mut cursor, |name, value| {
            if let (dw::DW_AT_str_offsets_base, Value::Number(number)) = (name, value) {
                base = Some(number);
            }
        })?;
        base
    }

    /// Reads the attributes of an entry at `cursor`, which is left behind them.
    fn attributes(
        &self,
        abbreviation: Abbreviation,
        cursor: &mut Cursor<'d>,
        mut take: impl FnMut(DwAt, Value<'d>),
    ) -> Option<()> {
        let mut listed = Cursor { bytes: self.sections.abbreviations, at: abbreviation.attributes };
        while let Some((name, form, constant)) = read_attribute(&mut listed)? {
            take(name, self.value(form, constant, cursor)?);
        }
        Some(())
    }

    /// Reads a value, and goes on behind it.
    fn value(&self, form: DwForm, constant: u64, cursor: &mut Cursor<'d>) -> Option<Value<'d>> {
        let form = match form {
            dw::DW_FORM_indirect => DwForm(u16::try_from(cursor.leb128()?).ok()?),
            form => form,
        };
        Some(match form {
            dw::DW_FORM_data1 => Value::Number(cursor.number(1)?),
            dw::DW_FORM_data2 => Value::Number(cursor.number(2)?),
            dw::DW_FORM_data4 => Value::Number(cursor.number(4)?),
            dw::DW_FORM_data8 => Value::Number(cursor.number(8)?),
            dw::DW_FORM_udata => Value::Number(cursor.leb128()?),
            dw::DW_FORM_implicit_const => Value::Number(constant),
            dw::DW_FORM_sec_offset => Value::Number(cursor.number(self.offset_bytes)?),
            dw::DW_FORM_ref1 => Value::Reference(cursor.number(1)?),
            dw::DW_FORM_ref2 => Value::Reference(cursor.number(2)?),
            dw::DW_FORM_ref4 => Value::Reference(cursor.number(4)?),
            dw::DW_FORM_ref8 => Value::Reference(cursor.number(8)?),
            dw::DW_FORM_ref_udata => Value::Reference(cursor.leb128()?),
            dw::DW_FORM_string => Value::String(cursor.string()?),
            dw::DW_FORM_strp => Value::StringAt(cursor.number(self.offset_bytes)?),
            dw::DW_FORM_line_strp => Value::LineStringAt(cursor.number(self.offset_bytes)?),
            dw::DW_FORM_strx | dw::DW_FORM_GNU_str_index => Value::StringNumber(cursor.leb128()?),
            dw::DW_FORM_strx1 => Value::StringNumber(cursor.number(1)?),
            dw::DW_FORM_strx2 => Value::StringNumber(cursor.number(2)?),
            dw::DW_FORM_strx3 => Value::StringNumber(cursor.number(3)?),
            dw::DW_FORM_strx4 => Value::StringNumber(cursor.number(4)?),
            form => {
                self.pass(form, cursor)?;
                Value::Other
            }
        })
    }

    /// Goes on behind a value that does not matter.
    fn pass(&self, form: DwForm, cursor: &mut Cursor<'d>) -> Option<()> {
        let bytes = match form {
            dw::DW_FORM_flag_present => 0,
            dw::DW_FORM_flag | dw::DW_FORM_addrx1 => 1,
            dw::DW_FORM_addrx2 => 2,
            dw::DW_FORM_addrx3 => 3,
            dw::DW_FORM_addrx4 | dw::DW_FORM_ref_sup4 => 4,
            dw::DW_FORM_ref_sig8 | dw::DW_FORM_ref_sup8 => 8,
            dw::DW_FORM_data16 => 16,
            dw::DW_FORM_addr => self.address_bytes.into(),
            dw::DW_FORM_ref_addr if self.version == 2 => self.address_bytes.into(),
            dw::DW_FORM_ref_addr
            | dw::DW_FORM_strp_sup
            | dw::DW_FORM_GNU_ref_alt
            | dw::DW_FORM_GNU_strp_alt => self.offset_bytes.into(),
            dw::DW_FORM_block1 => cursor.number(1)?,
            dw::DW_FORM_block2 => cursor.number(2)?,
            dw::DW_FORM_block4 => cursor.number(4)?,
            dw::DW_FORM_block | dw::DW_FORM_exprloc => cursor.leb128()?,
            dw::DW_FORM_sdata
            | dw::DW_FORM_addrx
            | dw::DW_FORM_GNU_addr_index
            | dw::DW_FORM_loclistx
            | dw::DW_FORM_rnglistx => {
                cursor.leb128()?;
                0
            }
            _ => return None,
        };
        cursor.skip(bytes)
    }

    /// The entry's name.
    pub(super) fn name(&self, entry: &Entry<'d>) -> Option<&'d [u8]> {
        let (section, at) = match entry.name {
            Value::String(name) => return Some(name),
            Value::StringAt(at) => (self.sections.strings, at),
            Value::LineStringAt(at) => (self.sections.line_strings, at),
            Value::StringNumber(number) => return self.string(number),
            Value::Number(_) | Value::Reference(_) | Value::Other => return None,
        };
        Cursor::new(section, at)?.string()
    }

    /// A string by its number.
    fn string(&self, number: u64) -> Option<&'d [u8]> {
        let at = number.checked_mul(self.offset_bytes.into())?;
        let at = at.checked_add(self.string_offsets_base)?;
        let offset = Cursor::new(self.sections.string_offsets, at)?.number(self.offset_bytes)?;
        Cursor::new(self.sections.strings, offset)?.string()
    }
}
