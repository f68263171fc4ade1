//! Reading the image by address.

use super::{Image, Range, Segment};
use crate::addr::VirtAddr;

/// Sections whose words hold link-time results and nothing writes to after
/// start-up, even where no `PT_GNU_RELRO` protects them.
const CONSTANT_SECTIONS: [&str; 2] = [".got", ".data.rel.ro"];

impl<'d> Image<'d> {
    /// The loadable segments, in order of address.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        self.segments.as_slice()
    }

    /// The loadable segment that holds `address`.
    #[must_use]
    pub fn segment_at(&self, address: VirtAddr) -> Option<&Segment> {
        self.segments.at(address)
    }

    /// File offset of the byte at `address`; `None` when the file holds none.
    #[must_use]
    pub fn file_offset(&self, address: VirtAddr) -> Option<u64> {
        self.segments.file_range(address).map(|(offset, _)| offset)
    }

    /// Address of the byte at a file offset; `None` when no segment loads it.
    #[must_use]
    pub fn address_of_offset(&self, offset: u64) -> Option<VirtAddr> {
        self.segments.address_of(offset)
    }

    /// The `len` bytes the file holds for `address`, all from one segment or
    /// from segments that continue each other.
    #[must_use]
    pub fn bytes(&self, address: VirtAddr, len: usize) -> Option<&'d [u8]> {
        let bytes = self.rest_from(address).get(..len)?;
        self.keep(address, len);
        Some(bytes)
    }

    /// Up to `max` bytes the file holds for `address`, to the end of its
    /// segment's content, or of the last segment that continues it.
    #[must_use]
    pub fn bytes_from(&self, address: VirtAddr, max: usize) -> &'d [u8] {
        let rest = self.rest_from(address);
        let bytes = rest.get(..max).unwrap_or(rest);
        self.keep(address, bytes.len());
        bytes
    }

    /// The first address from `address` on, below `end`, that the file holds a
    /// byte for.
    #[must_use]
    pub fn next_content(&self, address: VirtAddr, end: VirtAddr) -> Option<VirtAddr> {
        let segments = self.segments();
        let first = segments.partition_point(|segment| segment.address <= address);
        let from = segments.get(first.saturating_sub(1)..).unwrap_or_default().iter();
        let mut contents = from
            .map(|segment| Range::new(segment.address, segment.file_size))
            .take_while(|content| content.start < end);
        let next = contents.find(|content| address < content.end && content.size() > 0)?;
        Some(next.start.max(address)).filter(|&next| next < end)
    }

    /// All bytes from `address` to the end of its segment's content, or of the
    /// last segment that continues it.
    pub(super) fn rest_from(&self, address: VirtAddr) -> &'d [u8] {
        self.segments
            .file_range(address)
            .and_then(|(offset, size)| {
                let start = usize::try_from(offset).ok()?;
                let end = start.checked_add(usize::try_from(size).ok()?)?;
                self.data.get(start..end)
            })
            .unwrap_or_default()
    }

    /// The 32-bit word the file holds for `address`.
    #[must_use]
    pub fn u32_at(&self, address: VirtAddr) -> Option<u32> {
        self.bytes(address, 4)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
    }

    /// The 64-bit word the file holds for `address`.
    #[must_use]
    pub fn u64_at(&self, address: VirtAddr) -> Option<u64> {
        self.bytes(address, 8)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
    }

    /// Whether `address` lies in a writable segment (before `PT_GNU_RELRO`
    /// protection).
    #[must_use]
    pub fn is_writable(&self, address: VirtAddr) -> bool {
        self.segment_at(address).is_some_and(|segment| segment.writable)
    }

    /// Whether `address` lies in an executable segment.
    #[must_use]
    pub fn is_executable(&self, address: VirtAddr) -> bool {
        self.segment_at(address).is_some_and(|segment| segment.executable)
    }

    /// Whether memory at `address` keeps, once relocated, the value it starts
    /// with: in a segment that is not writable, in the `PT_GNU_RELRO` range,
    /// or, in a file without dynamic relocations or at fixed addresses, in a
    /// `.got` or `.data.rel.ro` section.
    #[must_use]
    pub fn is_constant(&self, address: VirtAddr) -> bool {
        let Some(segment) = self.segment_at(address) else { return false };
        if !segment.writable || self.relro.is_some_and(|relro| relro.contains(address)) {
            return true;
        }
        (self.is_fixed() || !self.has_dynamic())
            && CONSTANT_SECTIONS
                .iter()
                .any(|name| self.section(name).is_some_and(|section| section.contains(address)))
    }
}
