//! Function bounds from unwind tables.

use alloc::vec::Vec;

use gimli::{
    BaseAddresses, CieOrFde, CommonInformationEntry, EhFrame, EhFrameHdr, EhFrameOffset,
    EndianSlice, LittleEndian, Pointer, UnwindSection,
};
use object::{LittleEndian as LE, elf};

use super::{Image, Range};
use crate::addr::VirtAddr;
use crate::ordered::sort_by_key;

type Frames<'d> = EhFrame<EndianSlice<'d, LittleEndian>>;
type Common<'d> = CommonInformationEntry<EndianSlice<'d, LittleEndian>>;

/// Largest common entry (CIE) that is read, in bytes; real ones have some
/// dozen. It is read again for each entry that refers to it.
const LARGEST_COMMON: u32 = 256;

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
        let bases = BaseAddresses::default().set_eh_frame_hdr(header_at.0);
        let header = EhFrameHdr::new(self.rest_from(header_at), LittleEndian);
        let header = header.parse(&bases, 8).ok()?;
        let Pointer::Direct(frames_at) = header.eh_frame_ptr() else { return None };
        let Pointer::Direct(entry_at) = header.table()?.lookup(address.0, &bases).ok()? else {
            return None;
        };
        let bytes = self.rest_from(VirtAddr(frames_at));
        let frames = EhFrame::new(bytes, LittleEndian);
        let bases = bases.set_eh_frame(frames_at);
        let into = usize::try_from(entry_at.checked_sub(frames_at)?).ok()?;
        let entry = frames.fde_from_offset(&bases, into.into(), common(bytes)).ok()?;
        let range = Range::new(VirtAddr(entry.initial_address()), entry.len());
        range.contains(address).then_some(range)
    }

    /// Every range of the `.eh_frame` section, up to the first entry that
    /// cannot be read, in order of address.
    fn read_unwind_ranges(&self) -> Vec<Range> {
        let Some(section) = self.section(".eh_frame") else { return Vec::new() };
        let frames = EhFrame::new(section.data, LittleEndian);
        let bases = BaseAddresses::default().set_eh_frame(section.address.0);
        let mut entries = frames.entries(&bases);
        let mut ranges = Vec::new();
        while let Ok(Some(entry)) = entries.next() {
            let CieOrFde::Fde(entry) = entry else { continue };
            if let Ok(entry) = entry.parse(common(section.data)) {
                ranges.push(Range::new(VirtAddr(entry.initial_address()), entry.len()));
            }
        }
        sort_by_key(&mut ranges, |range| (range.start.0, 0));
        ranges
    }
}

/// Reads the common entry at an offset of the section `bytes`.
fn common<'d>(
    bytes: &'d [u8],
) -> impl FnMut(&Frames<'d>, &BaseAddresses, EhFrameOffset<usize>) -> gimli::Result<Common<'d>> {
    move |frames, bases, offset| {
        let length = bytes.get(offset.0..).and_then(|rest| rest.first_chunk::<4>());
        match length.map(|length| u32::from_le_bytes(*length)) {
            Some(length) if length <= LARGEST_COMMON => frames.cie_from_offset(bases, offset),
            _ => Err(gimli::Error::NotCieId(offset.0 as u64)),
        }
    }
}
