//! Loadable segments: which address is which byte of the file.

use alloc::vec::Vec;

use crate::addr::VirtAddr;
use crate::ordered::sort_by_key;

/// Segments over which one table may be spread.
const MOST_CONTINUED: usize = 16;

/// A range of link-time addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Range {
    /// Its first address.
    pub start: VirtAddr,
    /// The address after its last byte; never below `start`.
    pub end: VirtAddr,
}

impl Range {
    /// The range of `size` bytes from `start`, cut at the end of the address space.
    #[must_use]
    pub fn new(start: VirtAddr, size: u64) -> Self {
        Self { start, end: VirtAddr(start.0.saturating_add(size)) }
    }

    /// Whether `address` lies inside.
    #[must_use]
    pub fn contains(&self, address: VirtAddr) -> bool {
        self.start <= address && address < self.end
    }

    /// Its size in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.end.0.saturating_sub(self.start.0)
    }
}

/// One `PT_LOAD` segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// `p_vaddr`: link-time address of its first byte.
    pub address: VirtAddr,
    /// `p_memsz`: bytes it takes in memory, cut at the end of the address space.
    pub memory_size: u64,
    /// `p_offset`: file offset of its first byte.
    pub offset: u64,
    /// Bytes of it that the file really holds: at most `p_filesz` and `p_memsz`.
    pub file_size: u64,
    /// `p_filesz` as declared.
    pub declared_file_size: u64,
    /// `p_align` as declared.
    pub align: u64,
    /// `PF_R`.
    pub readable: bool,
    /// `PF_W`.
    pub writable: bool,
    /// `PF_X`.
    pub executable: bool,
}

impl Segment {
    /// The addresses it takes in memory.
    #[must_use]
    pub fn range(&self) -> Range {
        Range::new(self.address, self.memory_size)
    }
}

/// All loadable segments, in order of address.
#[derive(Clone, Debug, Default)]
pub(super) struct Segments {
    sorted: Vec<Segment>,
}

impl Segments {
    pub(super) fn new(mut segments: Vec<Segment>) -> Self {
        sort_by_key(&mut segments, |segment| (segment.address.0, 0));
        Self { sorted: segments }
    }

    pub(super) fn as_slice(&self) -> &[Segment] {
        &self.sorted
    }

    /// The segment that holds `address`; of overlapping ones the one that starts last.
    pub(super) fn at(&self, address: VirtAddr) -> Option<&Segment> {
        let after = self.sorted.partition_point(|segment| segment.address <= address);
        let segment = self.sorted.get(after.checked_sub(1)?)?;
        segment.range().contains(address).then_some(segment)
    }

    /// File offset of `address` and how many bytes the file holds from there
    /// (at least one) to the end of the segment's content, or further where
    /// the next segment continues it both in memory and in the file: tools
    /// that edit files (`patchelf`) spread one table over several segments.
    pub(super) fn file_range(&self, address: VirtAddr) -> Option<(u64, u64)> {
        let after = self.sorted.partition_point(|segment| segment.address <= address);
        let mut last = *self.sorted.get(after.checked_sub(1)?)?;
        let into = address.distance_from(last.address)?;
        let mut rest = last.file_size.checked_sub(into).filter(|&rest| rest > 0)?;
        let start = last.offset.checked_add(into)?;
        for next in self.sorted.get(after..).unwrap_or_default().iter().take(MOST_CONTINUED) {
            let continues = last.address.checked_add(last.file_size) == Some(next.address)
                && last.offset.checked_add(last.file_size) == Some(next.offset);
            if !continues {
                break;
            }
            rest = rest.checked_add(next.file_size)?;
            last = *next;
        }
        Some((start, rest))
    }

    /// Address of the byte at a file offset, in the first segment that holds it.
    pub(super) fn address_of(&self, offset: u64) -> Option<VirtAddr> {
        self.sorted.iter().find_map(|segment| {
            let into =
                offset.checked_sub(segment.offset).filter(|&into| into < segment.file_size)?;
            segment.address.checked_add(into)
        })
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn a_continued_segment_is_read_on() {
        let segments = Segments::new(vec![
            segment(0x1000, 0x1000, 0, 0x1000),
            segment(0x2000, 0x1000, 0x1000, 0x800),
            segment(0x3000, 0x1000, 0x2000, 0x1000),
        ]);
        assert_eq!(segments.file_range(VirtAddr(0x1ff0)), Some((0xff0, 0x810)));
        assert_eq!(segments.file_range(VirtAddr(0x27ff)), Some((0x17ff, 1)));
        assert_eq!(segments.file_range(VirtAddr(0x2800)), None);
    }

    fn segment(address: u64, memory_size: u64, offset: u64, file_size: u64) -> Segment {
        Segment {
            address: VirtAddr(address),
            memory_size,
            offset,
            file_size,
            declared_file_size: file_size,
            align: 0x1000,
            readable: true,
            writable: false,
            executable: false,
        }
    }

    #[test]
    fn finds_the_segment_and_the_file_bytes_behind_an_address() {
        let segments = Segments::new(vec![
            segment(0x3000, 0x800, 0x1000, 0x100),
            segment(0x1000, 0x400, 0, 0x400),
        ]);
        assert_eq!(segments.file_range(VirtAddr(0x13ff)), Some((0x3ff, 1)));
        assert_eq!(segments.file_range(VirtAddr(0x1400)), None);
        assert_eq!(segments.file_range(VirtAddr(0x30ff)), Some((0x10ff, 1)));
        assert_eq!(segments.file_range(VirtAddr(0x3100)), None, "zero-filled part");
        assert!(segments.at(VirtAddr(0x3100)).is_some());
        assert!(segments.at(VirtAddr(0x3800)).is_none());
        assert!(segments.at(VirtAddr(0xfff)).is_none());
        assert_eq!(segments.address_of(0x1001), Some(VirtAddr(0x3001)));
        assert_eq!(segments.address_of(0x1100), None);
    }

    #[test]
    fn a_segment_at_the_end_of_the_address_space_is_cut() {
        let segments = Segments::new(vec![segment(u64::MAX - 1, u64::MAX, 0, 2)]);
        assert_eq!(segments.file_range(VirtAddr(u64::MAX - 1)), Some((0, 2)));
        assert!(segments.at(VirtAddr(0)).is_none());
    }
}
