//! Reading what the program could not copy, pages that were not resident and
//! texts beyond its limits: from the process's memory, or, when the process is
//! gone, from the file that was loaded into it.
//!
//! The memory may hold anything by now: sizes are capped, types are checked
//! where they are known, and the fingerprint tells whether the code object is
//! still the one that was seen.

use agent_ebpf::{
    fingerprint,
    target::{Objects, STRING_BYTES},
};

use crate::discover::memory::ReadMemory;

/// Longest name, in bytes.
const NAME: u64 = 64 << 10;
/// Longest line table.
const LINES: u64 = 4 << 20;

/// A code object's parts.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) name: String,
    pub(crate) file: String,
    pub(crate) first_line: u32,
    pub(crate) lines: Vec<u8>,
}

/// The code object at an address. `print` is its fingerprint when it was seen;
/// `None` when the program could not read it.
pub(crate) fn code(
    memory: &dyn ReadMemory,
    objects: &Objects,
    address: u64,
    print: Option<u32>,
) -> Option<Parts> {
    let at = |offset: u32| address.wrapping_add(u64::from(offset));
    if objects.code_type != 0 && memory.word(at(objects.object_type)).ok()? != objects.code_type {
        return None;
    }
    let file = memory.word(at(objects.code_file)).ok()?;
    let name = memory.word(at(objects.code_name)).ok()?;
    let lines = memory.word(at(objects.code_lines)).ok()?;
    let first_line = memory.half(at(objects.code_first_line)).ok()?;
    if print.is_some_and(|print| print != fingerprint::code(file, name, lines, first_line)) {
        return None;
    }
    Some(Parts {
        name: string(memory, objects, name)?,
        file: string(memory, objects, file)?,
        first_line,
        lines: bytes(memory, objects, lines, LINES).unwrap_or_default(),
    })
}

/// The name of the type at an address.
pub(crate) fn class(memory: &dyn ReadMemory, objects: &Objects, address: u64) -> Option<String> {
    let name = memory.word(address.wrapping_add(u64::from(objects.type_name))).ok()?;
    let mut bytes = [0; 256];
    // A name near the end of its page: read what is there.
    let whole = memory.read(name, &mut bytes).is_ok();
    let size = if whole { bytes.len() } else { (4096 - (name as usize & 4095)).min(bytes.len()) };
    memory.read(name, bytes.get_mut(..size)?).ok()?;
    let end = bytes[..size].iter().position(|&byte| byte == 0)?;
    let name = String::from_utf8_lossy(&bytes[..end]);
    Some(name.rsplit('.').next().unwrap_or(&name).to_owned())
}

fn string(memory: &dyn ReadMemory, objects: &Objects, address: u64) -> Option<String> {
    if objects.string_style == STRING_BYTES {
        let bytes = bytes(memory, objects, address, NAME)?;
        return Some(String::from_utf8_lossy(&bytes).into_owned());
    }
    let at = |offset: u32| address.wrapping_add(u64::from(offset));
    if objects.string_type != 0 && memory.word(at(objects.object_type)).ok()? != objects.string_type
    {
        return None;
    }
    let length = memory.word(at(objects.string_length)).ok()?;
    let state = memory.half(at(objects.string_state)).ok()?;
    let bit = |bit: u32| state.checked_shr(bit).unwrap_or(0);
    let width = bit(objects.string_kind_shift) & 7;
    let data = if bit(objects.string_compact_bit) & 1 == 0 {
        memory.word(at(objects.string_compact_data)).ok()?
    } else if bit(objects.string_ascii_bit) & 1 != 0 {
        at(objects.string_ascii_data)
    } else {
        at(objects.string_compact_data)
    };
    let size = length.checked_mul(u64::from(width)).filter(|&size| size <= NAME)?;
    let mut bytes = vec![0; usize::try_from(size).ok()?];
    memory.read(data, &mut bytes).ok()?;
    let size = u32::try_from(size).ok()?;
    crate::sample::event::decode(agent_ebpf::event::Text { copied: size, size, width }, &bytes)
}

fn bytes(memory: &dyn ReadMemory, objects: &Objects, address: u64, limit: u64) -> Option<Vec<u8>> {
    let at = |offset: u32| address.wrapping_add(u64::from(offset));
    if objects.bytes_type != 0 && memory.word(at(objects.object_type)).ok()? != objects.bytes_type {
        return None;
    }
    let size = memory.word(at(objects.bytes_size)).ok().filter(|&size| size <= limit)?;
    let mut bytes = vec![0; usize::try_from(size).ok()?];
    memory.read(at(objects.bytes_data), &mut bytes).ok()?;
    Some(bytes)
}
