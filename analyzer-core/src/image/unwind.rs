//! Function bounds from unwind tables.

use gimli::{
    BaseAddresses, EhFrame, EhFrameHdr, EndianSlice, LittleEndian, Pointer, UnwindSection,
};
use object::{LittleEndian as LE, elf};

use super::{Image, Range};
use crate::addr::VirtAddr;

impl Image<'_> {
    /// The addresses of the unwind entry (`.eh_frame` FDE) that covers
    /// `address`, found through the search table of `PT_GNU_EH_FRAME`. A
    /// function split into hot and cold parts has an entry for each.
    #[must_use]
    pub fn unwind_range(&self, address: VirtAddr) -> Option<Range> {
        let header_at = self.program(elf::PT_GNU_EH_FRAME)?.p_vaddr.get(LE);
        let header_bytes = self.rest_from(VirtAddr(header_at));
        let bases = BaseAddresses::default().set_eh_frame_hdr(header_at);
        let header = EhFrameHdr::new(header_bytes, LittleEndian).parse(&bases, 8).ok()?;
        let Pointer::Direct(frames_at) = header.eh_frame_ptr() else { return None };
        let Pointer::Direct(entry_at) = header.table()?.lookup(address.0, &bases).ok()? else {
            return None;
        };
        let frames = EhFrame::new(self.rest_from(VirtAddr(frames_at)), LittleEndian);
        let bases = bases.set_eh_frame(frames_at);
        let entry = frames
            .fde_from_offset(
                &bases,
                usize::try_from(entry_at.checked_sub(frames_at)?).ok()?.into(),
                EhFrame::<EndianSlice<'_, LittleEndian>>::cie_from_offset,
            )
            .ok()?;
        let range = Range::new(VirtAddr(entry.initial_address()), entry.len());
        range.contains(address).then_some(range)
    }
}
