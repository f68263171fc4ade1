//! Where the copies of an image lie in a process.

use analyzer_core::image::Image;

use crate::process::Mapping;

/// The smallest page: segments are mapped from a multiple of it.
const PAGE: u64 = 4096;

/// A `PT_LOAD` segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// `p_offset`.
    offset: u64,
    /// `p_filesz`.
    size: u64,
    /// `p_vaddr`: link-time address.
    address: u64,
}

/// The loaded segments of an ELF file and whether it lies at fixed addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segments {
    loads: Vec<Segment>,
    fixed: bool,
}

impl Segments {
    /// The segments of an image that have bytes in the file.
    pub(crate) fn of(image: &Image<'_>) -> Self {
        let loads = image.segments().iter().filter(|segment| segment.file_size != 0);
        Self {
            loads: loads
                .map(|segment| Segment {
                    offset: segment.offset,
                    size: segment.file_size,
                    address: segment.address.0,
                })
                .collect(),
            fixed: image.is_fixed(),
        }
    }

    /// The load biases (run-time minus link-time address) of the copies of
    /// this image among the mappings of its file.
    ///
    /// A copy is complete: every segment's first page is where the bias says.
    /// So a page that the program itself mapped again does not count, and an
    /// image that was loaded twice is found twice. If no copy is complete
    /// (some programs move their code to huge pages), the bias that most
    /// segments agree on is taken.
    pub(crate) fn biases(&self, mappings: &[&Mapping]) -> Vec<u64> {
        let mut candidates: Vec<u64> = if self.fixed {
            vec![0]
        } else {
            let pairs = mappings
                .iter()
                .flat_map(|mapping| self.loads.iter().filter_map(|segment| segment.bias(mapping)));
            pairs.collect()
        };
        candidates.sort_unstable();
        candidates.dedup();
        let mut scored: Vec<(usize, u64)> = candidates
            .into_iter()
            .map(|bias| (self.present(mappings, bias), bias))
            .filter(|&(present, _)| present > 0)
            .collect();
        scored.sort_unstable_by_key(|&(present, _)| std::cmp::Reverse(present));
        let most = scored.first().map_or(0, |&(present, _)| present);
        let complete = most == self.loads.len();
        scored
            .into_iter()
            .filter(|&(present, _)| present == most)
            .take(if complete { usize::MAX } else { 1 })
            .map(|(_, bias)| bias)
            .collect()
    }

    /// How many segments begin where the bias says.
    fn present(&self, mappings: &[&Mapping], bias: u64) -> usize {
        let begins = |segment: &&Segment| {
            let address = segment.address.wrapping_add(bias);
            mappings.iter().any(|mapping| {
                (mapping.start..mapping.end).contains(&address)
                    && mapping.offset.wrapping_add(address - mapping.start) == segment.offset
            })
        };
        self.loads.iter().filter(begins).count()
    }
}

impl Segment {
    /// The bias with which this mapping shows a part of the segment, if it can be one.
    fn bias(&self, mapping: &Mapping) -> Option<u64> {
        let first = self.offset & !(PAGE - 1);
        let last = self.offset.checked_add(self.size)?;
        (first..last).contains(&mapping.offset).then(|| {
            let address = self.address.wrapping_add(mapping.offset.wrapping_sub(self.offset));
            mapping.start.wrapping_sub(address)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(start: u64, size: u64, offset: u64) -> Mapping {
        Mapping { start, end: start + size, offset, executable: true, writable: false, file: None }
    }

    /// Read-only, code, and data with its address one page farther than its offset.
    fn image(fixed: bool) -> Segments {
        let segment = |offset, size, address| Segment { offset, size, address };
        Segments {
            loads: vec![
                segment(0, 0x1800, 0),
                segment(0x2000, 0x3000, 0x2000),
                segment(0x5800, 0x800, 0x6800),
            ],
            fixed,
        }
    }

    fn loaded(bias: u64) -> [Mapping; 3] {
        [
            mapping(bias, 0x2000, 0),
            mapping(bias + 0x2000, 0x3000, 0x2000),
            mapping(bias + 0x6000, 0x1000, 0x5000),
        ]
    }

    #[test]
    fn a_page_mapped_again_is_no_copy() {
        let mut mappings = vec![mapping(0x1000, 0x1000, 0x2000)];
        mappings.extend(loaded(0x7f00_0000));
        assert_eq!(image(false).biases(&mappings.iter().collect::<Vec<_>>()), [0x7f00_0000]);
    }

    #[test]
    fn two_copies_are_two() {
        let mappings = [loaded(0x1000_0000), loaded(0x2000_0000)].concat();
        let biases = image(false).biases(&mappings.iter().collect::<Vec<_>>());
        assert_eq!(biases, [0x1000_0000, 0x2000_0000]);
    }

    #[test]
    fn mappings_split_by_protection_are_one_copy() {
        let mut mappings = loaded(0x4000_0000).to_vec();
        let data = mappings.pop().unwrap();
        mappings.push(Mapping { end: data.start + 0x800, ..data.clone() });
        mappings.push(Mapping { start: data.start + 0x800, offset: data.offset + 0x800, ..data });
        assert_eq!(image(false).biases(&mappings.iter().collect::<Vec<_>>()), [0x4000_0000]);
    }

    #[test]
    fn a_fixed_image_has_no_bias() {
        let mappings = loaded(0);
        assert_eq!(image(true).biases(&mappings.iter().collect::<Vec<_>>()), [0]);
        let stray = [mapping(0x9000_0000, 0x1000, 0)];
        assert!(image(true).biases(&stray.iter().collect::<Vec<_>>()).is_empty());
    }

    #[test]
    fn code_moved_elsewhere_leaves_a_bias() {
        let mappings = loaded(0x4000_0000);
        assert_eq!(image(false).biases(&[&mappings[0], &mappings[2]]), [0x4000_0000]);
    }
}
