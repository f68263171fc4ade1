//! Finding a few bytes among many.

/// Where `needle` is in `bytes`, from the front; it is looked for by its
/// rarest byte, which the caller knows best: the one at `anchor`.
pub(crate) fn find_all<'b>(
    bytes: &'b [u8],
    needle: &'b [u8],
    anchor: usize,
) -> impl DoubleEndedIterator<Item = usize> + 'b {
    let byte = needle.get(anchor).copied().unwrap_or_default();
    memchr::memchr_iter(byte, bytes)
        .filter_map(move |at| at.checked_sub(anchor))
        .filter(move |at| bytes.get(*at..).is_some_and(|rest| rest.starts_with(needle)))
}

/// Whether `bytes` hold `part`.
pub(crate) fn contains(bytes: &[u8], part: &[u8]) -> bool {
    find_all(bytes, part, 0).next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn every_occurrence_from_both_ends() {
        let bytes = b"python, lib/python3, lib/python2, lib/pyth";
        for anchor in 0..10 {
            let found: Vec<usize> = find_all(bytes, b"lib/python", anchor).collect();
            assert_eq!(found, [8, 21], "anchor {anchor}");
        }
        assert_eq!(find_all(bytes, b"lib/python", 3).next_back(), Some(21));
        assert_eq!(find_all(bytes, b"python3.", 7).next(), None);
        assert_eq!(find_all(b"", b"x", 0).next(), None);
    }
}
