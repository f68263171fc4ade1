//! ELF notes.

use object::{LittleEndian as LE, elf, pod};

/// Notes looked at before a search gives up; real files have a handful.
const MOST_NOTES: usize = 256;

/// One note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note<'d> {
    /// Its owner's name without the terminating zero, for instance `GNU`.
    pub owner: &'d [u8],
    /// `n_type`, whose meaning depends on the owner.
    pub kind: u32,
    /// Its contents.
    pub description: &'d [u8],
}

/// The notes in the bytes of a note segment or section, up to the first that
/// is cut off; `align` is the segment's `p_align` (8 for property notes, else 4).
pub(super) fn notes(bytes: &[u8], align: u64) -> impl Iterator<Item = Note<'_>> {
    let align = if align == 8 { 8 } else { 4 };
    let mut rest = bytes;
    core::iter::from_fn(move || {
        let (header, _) = pod::from_bytes::<elf::NoteHeader64<LE>>(rest).ok()?;
        let name_size = header.n_namesz.get(LE) as usize;
        let description_size = header.n_descsz.get(LE) as usize;
        let name_start = size_of::<elf::NoteHeader64<LE>>();
        let name_end = name_start.checked_add(name_size)?;
        let description_start = name_end.checked_next_multiple_of(align)?;
        let description_end = description_start.checked_add(description_size)?;
        let name = rest.get(name_start..name_end)?;
        let note = Note {
            owner: name.strip_suffix(&[0]).unwrap_or(name),
            kind: header.n_type.get(LE).0,
            description: rest.get(description_start..description_end)?,
        };
        rest = description_end
            .checked_next_multiple_of(align)
            .and_then(|next| rest.get(next..))
            .unwrap_or_default();
        Some(note)
    })
    .take(MOST_NOTES)
}
