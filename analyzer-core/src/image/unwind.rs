//! Function bounds from unwind tables.
//!
//! Layouts: LSB core 5.0, "Exception Frames" (`.eh_frame`, `.eh_frame_hdr`,
//! encodings of pointers).

use alloc::vec::Vec;

use gimli::constants::{self as dw, DwEhPe};
use object::{LittleEndian as LE, elf};

use super::{Image, Range};
use crate::{
    addr::VirtAddr,
    bytes::{Cursor, sign_extended},
    ordered::sort_by_key,
};

/// Largest common entry (CIE) that is read, in bytes; real ones have some
/// dozen. It is read again for each entry that refers to it.
const LARGEST_COMMON: u64 = 256;

/// How the search table's rows are encoded by every linker: an address, then
/// that of its entry, each relative to the header.
const ROW: DwEhPe = DwEhPe(dw::DW_EH_PE_datarel.0 | dw::DW_EH_PE_sdata4.0);

/// Bytes of an unwind table and the link-time address of the first.
#[derive(Clone, Copy)]
struct Table<'d> {
    bytes: &'d [u8],
    address: VirtAddr,
}

impl<'d> Table<'d> {
    /// `count` bytes from offset `at`, at most 8, as an unsigned number.
    fn number(&self, at: u64, count: u8) -> Option<u64> {
        Cursor::new(self.bytes, at)?.number(count)
    }

    /// A pointer at offset `at`, and the offset behind it; `None` for a kind
    /// that function bounds do not have.
    fn pointer(&self, at: u64, encoding: DwEhPe) -> Option<(u64, u64)> {
        let (count, is_signed) = match encoding.format() {
            dw::DW_EH_PE_absptr | dw::DW_EH_PE_udata8 | dw::DW_EH_PE_sdata8 => (8, false),
            dw::DW_EH_PE_udata2 => (2, false),
            dw::DW_EH_PE_udata4 => (4, false),
            dw::DW_EH_PE_sdata2 => (2, true),
            dw::DW_EH_PE_sdata4 => (4, true),
            _ => return None,
        };
        let value = self.number(at, count)?;
        let value = if is_signed { sign_extended(value, count) } else { value };
        let base = match encoding.application() {
            dw::DW_EH_PE_absptr => 0,
            dw::DW_EH_PE_pcrel => self.address.0.wrapping_add(at),
            dw::DW_EH_PE_datarel => self.address.0,
            _ => return None,
        };
        (!encoding.is_indirect())
            .then_some((value.wrapping_add(base), at.checked_add(count.into())?))
    }

    /// The record at offset `at`: where its contents are, where the next is;
    /// `None` at the end of all.
    fn record(&self, at: u64) -> Option<(u64, u64)> {
        let (mut length, mut start) = (self.number(at, 4)?, at.checked_add(4)?);
        if length == 0xffff_ffff {
            (length, start) = (self.number(start, 8)?, start.checked_add(8)?);
        }
        let next = start.checked_add(length)?;
        (length > 0 && next <= self.bytes.len() as u64).then_some((start, next))
    }

    /// The addresses that the record (FDE) with these contents covers; `None`
    /// for a common entry, and where something cannot be read.
    fn range(&self, contents: u64) -> Option<Range> {
        let back = self.number(contents, 4)?;
        let common = contents.checked_sub(back).filter(|_| back > 0)?;
        let encoding = self.encoding(common)?;
        let (start, after) = self.pointer(contents.checked_add(4)?, encoding)?;
        // A length has the same format and is relative to nothing.
        let (size, _) = self.pointer(after, DwEhPe(encoding.format().0))?;
        Some(Range::new(VirtAddr(start), size))
    }

    /// How the records that refer to the common entry at offset `at` encode
    /// addresses.
    fn encoding(&self, at: u64) -> Option<DwEhPe> {
        let (contents, next) = self.record(at)?;
        if next.checked_sub(contents)? > LARGEST_COMMON || self.number(contents, 4)? != 0 {
            return None;
        }
        let bytes = self.bytes.get(..usize::try_from(next).ok()?)?;
        let mut cursor = Cursor::new(bytes, contents.checked_add(4)?)?;
        let version = cursor.number(1)?;
        let augmentation = cursor.string()?;
        // Alignment factors, and the return address's register.
        cursor.leb128()?;
        cursor.leb128()?;
        if version == 1 {
            cursor.skip(1)?;
        } else {
            cursor.leb128()?;
        }
        let Some((b'z', letters)) = augmentation.split_first() else {
            return augmentation.is_empty().then_some(dw::DW_EH_PE_absptr);
        };
        cursor.leb128()?;
        for letter in letters {
            match letter {
                b'R' => return u8::try_from(cursor.number(1)?).ok().map(DwEhPe),
                b'L' => cursor.skip(1)?,
                b'P' => {
                    let personality = DwEhPe(u8::try_from(cursor.number(1)?).ok()?);
                    let format = DwEhPe(personality.format().0);
                    let (_, after) = self.pointer(cursor.at as u64, format)?;
                    cursor = Cursor::new(bytes, after)?;
                }
                b'S' | b'B' => {}
                _ => return None,
            }
        }
        Some(dw::DW_EH_PE_absptr)
    }
}

impl<'d> Image<'d> {
    /// The addresses of the unwind entry (`.eh_frame` FDE) that covers
    /// `address`. A function split into hot and cold parts has an entry for each.
    ///
    /// Found through the search table of `PT_GNU_EH_FRAME`, which needs no
    /// section headers. Static executables are linked without that table:
    /// there the `.eh_frame` section, if section headers tell where it is, is
    /// read through on the first call.
    #[must_use]
    pub fn unwind_range(&self, address: VirtAddr) -> Option<Range> {
        let range = self.find_unwind_range(address)?;
        self.note_unwind(range);
        Some(range)
    }

    /// Notes that an answer depends on the unwind entry that covers `address`.
    pub fn keep_unwind_range(&self, address: VirtAddr) {
        if self.is_recording()
            && let Some(range) = self.find_unwind_range(address)
        {
            self.note_unwind(range);
        }
    }

    fn note_unwind(&self, range: Range) {
        self.note(|record| {
            record.unwind.insert(range);
        });
    }

    fn find_unwind_range(&self, address: VirtAddr) -> Option<Range> {
        match self.program(elf::PT_GNU_EH_FRAME) {
            Some(program) => self.searched_range(VirtAddr(program.p_vaddr.get(LE)), address),
            None => {
                let ranges = self.unwind_ranges.get_or_init(|| self.read_unwind_ranges());
                let after = ranges.partition_point(|range| range.start <= address);
                ranges.get(after.checked_sub(1)?).copied().filter(|range| range.contains(address))
            }
        }
    }

    fn searched_range(&self, header_at: VirtAddr, address: VirtAddr) -> Option<Range> {
        let header = Table { bytes: self.rest_from(header_at), address: header_at };
        let [version, frames, count, rows] = *header.bytes.first_chunk()?;
        if version != 1 || DwEhPe(rows) != ROW {
            return None;
        }
        let (frames_at, after) = header.pointer(4, DwEhPe(frames))?;
        let (count, rows_at) = header.pointer(after, DwEhPe(count))?;
        let row = |number: u64| {
            let at = rows_at.checked_add(number.checked_mul(8)?)?;
            let (start, after) = header.pointer(at, ROW)?;
            Some((start, header.pointer(after, ROW)?.0))
        };
        // The last row that does not start behind the address.
        let (mut low, mut high) = (0, count.min(header.bytes.len() as u64 / 8));
        while low < high {
            let middle = low.midpoint(high);
            if row(middle)?.0 <= address.0 {
                low = middle.checked_add(1)?;
            } else {
                high = middle;
            }
        }
        let (_, entry_at) = row(low.checked_sub(1)?)?;
        let frames_at = VirtAddr(frames_at);
        let frames = Table { bytes: self.rest_from(frames_at), address: frames_at };
        let (contents, _) = frames.record(entry_at.checked_sub(frames_at.0)?)?;
        frames.range(contents).filter(|range| range.contains(address))
    }

    /// Every range of the `.eh_frame` section, up to the first entry that
    /// cannot be read, in order of address.
    fn read_unwind_ranges(&self) -> Vec<Range> {
        let Some(section) = self.section(".eh_frame") else { return Vec::new() };
        let frames = Table { bytes: section.data, address: section.address };
        let (mut ranges, mut at) = (Vec::new(), 0);
        while let Some((contents, next)) = frames.record(at) {
            ranges.extend(frames.range(contents));
            at = next;
        }
        sort_by_key(&mut ranges, |range| (range.start.0, 0));
        ranges
    }
}
