//! What a file says about itself: names, notes, links.

use object::{LittleEndian as LE, elf};

use super::{
    Image,
    note::{self, Note},
    section::slice_clamped,
    symbol::string_at,
};

/// Note segments that are searched; real files have at most three.
const MOST_NOTE_SEGMENTS: usize = 16;

/// Libraries a file may need; the largest programs need some hundred.
pub const MOST_NEEDED: usize = 1024;

/// Owner of the note by which a reproducer says what it is.
pub(crate) const REPRODUCER_OWNER: &str = "Keyhole";

/// Type of that note. Its contents are text for people.
pub(crate) const REPRODUCER_NOTE: u32 = 1;

impl<'d> Image<'d> {
    /// `DT_SONAME`.
    #[must_use]
    pub fn soname(&self) -> Option<&'d str> {
        self.dynamic_string(self.dynamic.soname?)
    }

    /// `DT_NEEDED`, in order: the first [`MOST_NEEDED`], without names that
    /// cannot be read.
    pub fn needed(&self) -> impl Iterator<Item = &'d str> {
        self.dynamic.needed().take(MOST_NEEDED).filter_map(|offset| self.dynamic_string(offset))
    }

    /// Value of the first dynamic entry with a tag.
    pub(crate) fn dynamic_entry(&self, tag: elf::DynamicTag) -> Option<u64> {
        let entry = self.dynamic.entries.iter().find(|entry| entry.d_tag.get(LE) == tag)?;
        Some(entry.d_val.get(LE))
    }

    fn dynamic_string(&self, offset: u64) -> Option<&'d str> {
        let strings = self.rest_from(self.dynamic.strings?);
        let size = usize::try_from(self.dynamic.strings_size).unwrap_or(usize::MAX);
        string_at(strings.get(..size).unwrap_or(strings), offset)
    }

    /// `PT_INTERP`: path of the dynamic linker.
    #[must_use]
    pub fn interpreter(&self) -> Option<&'d str> {
        let program = self.program(elf::PT_INTERP)?;
        string_at(self.program_bytes(program), 0)
    }

    /// Every note of the note segments, or where there are none, of the note
    /// sections.
    pub fn notes(&self) -> impl Iterator<Item = Note<'d>> {
        let in_segments = self
            .program_headers
            .iter()
            .filter(|program| program.p_type.get(LE) == elf::PT_NOTE)
            .take(MOST_NOTE_SEGMENTS)
            .flat_map(|program| note::notes(self.program_bytes(program), program.p_align.get(LE)));
        let has_segment = self.program(elf::PT_NOTE).is_some();
        let in_sections = (!has_segment)
            .then(|| self.section_table().of_kind(elf::SHT_NOTE))
            .into_iter()
            .flatten()
            .take(MOST_NOTE_SEGMENTS)
            .flat_map(|section| note::notes(section.data, 4));
        in_segments.chain(in_sections)
    }

    /// Whether the file says it is a reproducer: small, and cut from another
    /// file by the `shrink` module.
    #[must_use]
    pub fn is_reproducer(&self) -> bool {
        self.notes()
            .any(|note| note.owner == REPRODUCER_OWNER.as_bytes() && note.kind == REPRODUCER_NOTE)
    }

    /// The GNU build id.
    #[must_use]
    pub fn build_id(&self) -> Option<&'d [u8]> {
        self.notes()
            .find(|note| note.owner == elf::ELF_NOTE_GNU && note.kind == elf::NT_GNU_BUILD_ID.0)
            .map(|note| note.description)
    }

    /// File name and CRC-32 of the separate debug file (`.gnu_debuglink`).
    #[must_use]
    pub fn debug_link(&self) -> Option<(&'d str, u32)> {
        let data = self.section(".gnu_debuglink")?.data;
        let name = string_at(data, 0)?;
        let crc_at = name.len().checked_add(1)?.checked_next_multiple_of(4)?;
        let crc = data.get(crc_at..)?.first_chunk::<4>()?;
        Some((name, u32::from_le_bytes(*crc)))
    }

    pub(super) fn program(&self, kind: elf::ProgramType) -> Option<&'d elf::ProgramHeader64<LE>> {
        self.program_headers.iter().find(|program| program.p_type.get(LE) == kind)
    }

    fn program_bytes(&self, program: &elf::ProgramHeader64<LE>) -> &'d [u8] {
        slice_clamped(self.data, program.p_offset.get(LE), program.p_filesz.get(LE))
    }
}
