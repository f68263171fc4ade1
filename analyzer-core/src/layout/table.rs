//! The form of the generated tables, and how a member is found in them.

use core::ops::RangeInclusive;

use super::generated::{FIRST_ROW, MEMBERS, ROWS, SPANS, STRUCTURES};

/// Builds (a bit mask, see [`build_bit`]), first and last compiled version
/// (see [`pack`]), offset in bytes.
pub(super) struct Row(pub(super) u8, pub(super) u16, pub(super) u16, pub(super) u32);

/// Builds, whether only object structures are covered, first and last patch
/// level (with the series, see [`pack`]), and the version whose rows hold for
/// these patch levels where it is not their own.
pub(super) struct Span(
    pub(super) u8,
    pub(super) bool,
    pub(super) u16,
    pub(super) u16,
    pub(super) Option<u16>,
);

/// Structures that a [`Span`] may leave out.
const NOT_OBJECTS: [&str; 2] = ["_PyRuntimeState", "PyInterpreterState"];

/// `X.Y.Z` in 16 bits that order like versions; 0 for a major version that
/// is neither 2 nor 3 or a minor version above 127, which no row has.
pub(super) fn pack(major: u8, minor: u8, micro: u8) -> u16 {
    let top = match major {
        2 if minor < 0x80 => minor,
        3 if minor < 0x80 => minor | 0x80,
        _ => return 0,
    };
    u16::from_be_bytes([top, micro])
}

/// The bit of a build: flavours from bit 0 (release, debug, free-threaded,
/// both), and from bit 4 the same for glibc on AArch64.
pub(super) fn build_bit(flavour: u8, aarch64_glibc: bool) -> u8 {
    let bit = 1_u8 << (flavour & 3);
    if aarch64_glibc { bit << 4 } else { bit }
}

/// Under which version the rows of one build are found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Reading {
    build: u8,
    /// For object structures.
    objects: u16,
    /// For the others, where they are proven.
    rest: Option<u16>,
}

impl Reading {
    /// `None` when nothing is proven for this build at this version.
    pub(super) fn of(build: u8, version: u16) -> Option<Self> {
        let covering = |rest: bool| {
            SPANS
                .iter()
                .filter(|&&Span(builds, objects_only, first, last, _)| {
                    builds & build != 0
                        && (first..=last).contains(&version)
                        && !(rest && objects_only)
                })
                .map(|&Span(.., reads_as)| reads_as.unwrap_or(version))
                .next()
        };
        Some(Self { build, objects: covering(false)?, rest: covering(true) })
    }

    /// Whether the layout of a structure is proven; a structure that the
    /// version does not have is covered too, and has no members.
    pub(super) fn covers(self, structure: &str) -> bool {
        self.rest.is_some() || !NOT_OBJECTS.contains(&structure)
    }

    fn offset(self, member: usize, structure: &str) -> Option<u32> {
        let version = if NOT_OBJECTS.contains(&structure) { self.rest? } else { self.objects };
        rows(member)
            .iter()
            .find(|&&Row(builds, first, last, _)| {
                builds & self.build != 0 && (first..=last).contains(&version)
            })
            .map(|&Row(.., offset)| offset)
    }
}

fn rows(member: usize) -> &'static [Row] {
    let first = FIRST_ROW.get(member).copied().unwrap_or_default();
    let end = FIRST_ROW.get(member.wrapping_add(1)).copied().unwrap_or_default();
    ROWS.get(usize::from(first)..usize::from(end)).unwrap_or_default()
}

/// Offset of a member by its index in the table.
pub(super) fn offset(readings: &[Option<Reading>; 2], member: usize) -> Option<u32> {
    let (structure, _) = name(member)?;
    let mut offsets = readings.iter().flatten().map(|reading| reading.offset(member, structure));
    let first = offsets.next()?;
    if offsets.all(|other| other == first) { first } else { None }
}

/// Index of a member in the table.
pub(super) fn index(structure: &str, member: &str) -> Option<usize> {
    let structure = u8::try_from(STRUCTURES.binary_search(&structure).ok()?).ok()?;
    MEMBERS.binary_search(&(structure, member)).ok()
}

/// Names of structure and member.
pub(super) fn name(member: usize) -> Option<(&'static str, &'static str)> {
    let &(structure, member) = MEMBERS.get(member)?;
    Some((STRUCTURES.get(usize::from(structure))?, member))
}

/// Every index that [`name`] knows.
pub(super) fn indices() -> core::ops::Range<usize> {
    0..MEMBERS.len()
}

/// The patch levels of a series for which at least the object structures are
/// proven, as the numbers of [`pack`].
pub(super) fn proven(build: u8, major: u8, minor: u8) -> Option<RangeInclusive<u16>> {
    let series = pack(major, minor, 0)..=pack(major, minor, u8::MAX);
    let of_series = || SPANS.iter().filter(|span| span.0 & build != 0 && series.contains(&span.2));
    Some(of_series().map(|span| span.2).min()?..=of_series().map(|span| span.3).max()?)
}
