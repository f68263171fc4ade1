//! Numbers and strings of formats that are read byte by byte.

/// The little-endian number that `bytes`, at most 8, are.
pub(crate) fn number(bytes: &[u8]) -> u64 {
    match *bytes {
        [byte] => byte.into(),
        [a, b, c, d] => u32::from_le_bytes([a, b, c, d]).into(),
        [a, b, c, d, e, f, g, h] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)),
    }
}

/// A number of so many bytes as a signed one, extended to 64 bits.
pub(crate) const fn sign_extended(number: u64, bytes: u8) -> u64 {
    match bytes {
        1 => number as i8 as u64,
        2 => number as i16 as u64,
        4 => number as i32 as u64,
        _ => number,
    }
}

/// A place among bytes, from which is read on; `None` where they end.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'d> {
    pub(crate) bytes: &'d [u8],
    /// How many of them lie before it.
    pub(crate) at: usize,
}

impl<'d> Cursor<'d> {
    pub(crate) fn new(bytes: &'d [u8], at: u64) -> Option<Self> {
        Some(Self { bytes, at: usize::try_from(at).ok()? })
    }

    pub(crate) fn skip(&mut self, count: u64) -> Option<()> {
        self.at = self.at.checked_add(usize::try_from(count).ok()?)?;
        (self.at <= self.bytes.len()).then_some(())
    }

    /// An unsigned number of `count` bytes, at most 8.
    pub(crate) fn number(&mut self, count: u8) -> Option<u64> {
        let start = self.at;
        self.skip(count.into())?;
        Some(number(self.bytes.get(start..self.at)?))
    }

    /// A LEB128 (DWARF 5, section 7.6); its sign, if it has one, is left alone.
    pub(crate) fn leb128(&mut self) -> Option<u64> {
        let (mut number, mut shift) = (0_u64, 0_u32);
        loop {
            let byte = self.number(1)?;
            number |= (byte & 0x7f).checked_shl(shift).unwrap_or(0);
            shift = shift.saturating_add(7);
            if byte < 0x80 {
                return Some(number);
            }
        }
    }

    /// The bytes up to a zero, which is passed.
    pub(crate) fn string(&mut self) -> Option<&'d [u8]> {
        let rest = self.bytes.get(self.at..)?;
        let len = rest.iter().position(|byte| *byte == 0)?;
        self.skip(len.checked_add(1)? as u64)?;
        rest.get(..len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_length() {
        let bytes = [0x81, 2, 3, 4, 5, 6, 7, 8];
        for len in 0..=8 {
            let expected = 0x0807_0605_0403_0281_u64 & !u64::MAX.checked_shl(len * 8).unwrap_or(0);
            assert_eq!(number(&bytes[..len as usize]), expected, "{len}");
        }
        assert_eq!(sign_extended(0x81, 1), -127_i64 as u64);
        assert_eq!(sign_extended(0x7fff, 2), 0x7fff);
        assert_eq!(sign_extended(0xffff_fffe, 4), -2_i64 as u64);
    }

    #[test]
    fn a_cursor_reads_on_and_ends() {
        let mut cursor = Cursor::new(b"\x34\x12\xe5\x8e\x26ab\0c", 0).unwrap();
        assert_eq!(cursor.number(2), Some(0x1234));
        assert_eq!(cursor.leb128(), Some(624_485));
        assert_eq!(cursor.string(), Some(&b"ab"[..]));
        assert_eq!(cursor.string(), None);
        assert_eq!((cursor.number(1), cursor.number(1)), (Some(0x63), None));
    }
}
