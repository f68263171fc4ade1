//! Debug information that tells of structures and their members, and nothing
//! else.
//!
//! Format: DWARF 4, section 7.5.

use alloc::{string::String, vec::Vec};

use gimli::constants::{
    DW_AT_data_member_location, DW_AT_name, DW_AT_type, DW_CHILDREN_no, DW_CHILDREN_yes,
    DW_FORM_ref4, DW_FORM_string, DW_FORM_udata, DW_TAG_compile_unit, DW_TAG_member,
    DW_TAG_structure_type,
};

use crate::{
    image::MemberPath,
    ordered::{Map, Set},
};

/// Numbers of the abbreviations.
const UNIT: u8 = 1;
const STRUCTURE: u8 = 2;
const NAMELESS_STRUCTURE: u8 = 3;
const MEMBER: u8 = 4;
const STRUCTURE_MEMBER: u8 = 5;

/// The members of a structure that are known, by name.
#[derive(Default)]
struct Structure<'p> {
    members: Map<&'p str, (u64, Structure<'p>)>,
}

/// The sections `.debug_abbrev` and `.debug_info`.
pub(super) fn sections(types: &Set<MemberPath>) -> [(&'static str, Vec<u8>); 2] {
    let mut structures: Map<&str, Structure<'_>> = Map::default();
    for (name, path) in types.iter() {
        let mut structure = structures.get_or_insert_with(name, Structure::default);
        for (member, offset) in path {
            let known = || (*offset, Structure::default());
            structure = &mut structure.members.get_or_insert_with(member, known).1;
        }
    }
    // Version 4, abbreviations at 0, addresses of 8 bytes; the length is set last.
    let mut information = alloc::vec![0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8, UNIT];
    for (name, structure) in structures.iter() {
        write_structure(&mut information, Some(name), structure);
    }
    information.push(0);
    let length = u32::try_from(information.len().saturating_sub(4)).unwrap_or(u32::MAX);
    if let Some(field) = information.first_chunk_mut() {
        *field = length.to_le_bytes();
    }
    [(".debug_abbrev", abbreviations()), (".debug_info", information)]
}

/// Writes the structures of the members, then the structure itself; returns
/// the offset of its entry in the unit. As deep as a way of members is long.
fn write_structure(
    information: &mut Vec<u8>,
    name: Option<&str>,
    structure: &Structure<'_>,
) -> u32 {
    let inner: Vec<Option<u32>> = structure
        .members
        .iter()
        .map(|(_, (_, inner))| {
            (!inner.members.is_empty()).then(|| write_structure(information, None, inner))
        })
        .collect();
    let at = u32::try_from(information.len()).unwrap_or(u32::MAX);
    match name {
        Some(name) => {
            information.push(STRUCTURE);
            write_string(information, name);
        }
        None => information.push(NAMELESS_STRUCTURE),
    }
    for ((name, (offset, _)), inner) in structure.members.iter().zip(inner) {
        information.push(if inner.is_some() { STRUCTURE_MEMBER } else { MEMBER });
        write_string(information, name);
        write_unsigned(information, *offset);
        if let Some(inner) = inner {
            information.extend(inner.to_le_bytes());
        }
    }
    information.push(0);
    at
}

fn abbreviations() -> Vec<u8> {
    let name = (DW_AT_name, DW_FORM_string);
    let offset = (DW_AT_data_member_location, DW_FORM_udata);
    let inner = (DW_AT_type, DW_FORM_ref4);
    let mut table = Vec::new();
    for (number, tag, children, attributes) in [
        (UNIT, DW_TAG_compile_unit, DW_CHILDREN_yes, &[][..]),
        (STRUCTURE, DW_TAG_structure_type, DW_CHILDREN_yes, &[name]),
        (NAMELESS_STRUCTURE, DW_TAG_structure_type, DW_CHILDREN_yes, &[]),
        (MEMBER, DW_TAG_member, DW_CHILDREN_no, &[name, offset]),
        (STRUCTURE_MEMBER, DW_TAG_member, DW_CHILDREN_no, &[name, offset, inner]),
    ] {
        table.push(number);
        write_unsigned(&mut table, tag.0.into());
        table.push(children.0);
        for (attribute, form) in attributes {
            write_unsigned(&mut table, attribute.0.into());
            write_unsigned(&mut table, form.0.into());
        }
        table.extend([0, 0]);
    }
    table.push(0);
    table
}

fn write_string(bytes: &mut Vec<u8>, string: &str) {
    let string: String = string.chars().filter(|&letter| letter != '\0').collect();
    bytes.extend(string.bytes());
    bytes.push(0);
}

/// Writes a number as unsigned LEB128.
fn write_unsigned(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(0x80 | (number & 0x7f) as u8);
        number >>= 7;
    }
    bytes.push(number as u8);
}
