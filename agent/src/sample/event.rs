//! Taking the program's events apart.

use agent_ebpf::event::{
    CLASS, CODE, Class, Code, EXEC, EXIT, Entry, FORK, Notice, SAMPLE, Sample, TEXT_BYTES,
    TEXT_FAULT, TEXT_OTHER_TYPE, Text,
};

/// One event, borrowed from the ring buffer.
#[derive(Debug)]
pub(crate) enum Event<'a> {
    /// A sample and its entries, innermost first.
    Sample(Sample, Entries<'a>),
    /// A code object: its name, file name and line table.
    Code(Code, [&'a [u8]; 3]),
    /// A type: its name.
    Class(Class, &'a [u8]),
    /// Fork, exec or exit.
    Notice(Notice),
}

/// The entries of a sample.
#[derive(Clone, Debug)]
pub(crate) struct Entries<'a>(&'a [u8]);

impl Iterator for Entries<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        let (first, rest) = self.0.split_at_checked(size_of::<Entry>())?;
        self.0 = rest;
        Some(Entry {
            object: u64::from_ne_bytes(*first.first_chunk()?),
            print: u32::from_ne_bytes(*first[8..].first_chunk()?),
            instruction: i32::from_ne_bytes(*first[12..].first_chunk()?),
        })
    }
}

impl<'a> Event<'a> {
    /// The event in these bytes; `None` if they are none, which only a program
    /// of another version could send.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let kind = u32::from_ne_bytes(*bytes.first_chunk()?);
        match kind {
            SAMPLE => {
                let (sample, rest) = head::<Sample>(bytes)?;
                let size = (sample.entries as usize).checked_mul(size_of::<Entry>())?;
                Some(Self::Sample(sample, Entries(rest.get(..size)?)))
            }
            CODE => {
                let (code, rest) = head::<Code>(bytes)?;
                let (name, rest) = part(rest, code.name)?;
                let (file, rest) = part(rest, code.file)?;
                let (lines, _) = part(rest, code.lines)?;
                Some(Self::Code(code, [name, file, lines]))
            }
            CLASS => {
                let (class, rest) = head::<Class>(bytes)?;
                let (name, _) = part(rest, class.name)?;
                Some(Self::Class(class, name))
            }
            FORK | EXEC | EXIT => Some(Self::Notice(head::<Notice>(bytes)?.0)),
            _ => None,
        }
    }
}

/// Types that any bytes are a valid value of.
///
/// # Safety
/// Only for `#[repr(C)]` types made of integers.
unsafe trait Plain: Copy {}
// SAFETY: integers and arrays and newtypes of them.
unsafe impl Plain for Sample {}
// SAFETY: as above.
unsafe impl Plain for Code {}
// SAFETY: as above.
unsafe impl Plain for Class {}
// SAFETY: as above.
unsafe impl Plain for Notice {}

fn head<T: Plain>(bytes: &[u8]) -> Option<(T, &[u8])> {
    let (head, rest) = bytes.split_at_checked(size_of::<T>())?;
    // SAFETY: as many bytes as the type has, and any are a value of it.
    Some((unsafe { head.as_ptr().cast::<T>().read_unaligned() }, rest))
}

fn part(bytes: &[u8], text: Text) -> Option<(&[u8], &[u8])> {
    bytes.split_at_checked(text.copied as usize)
}

/// The text that was copied, or `None` when it could not be read or is no
/// text. Text that was cut ends in `…`.
pub(crate) fn decode(text: Text, bytes: &[u8]) -> Option<String> {
    let mut decoded = match text.width {
        1 => bytes.iter().map(|&byte| char::from(byte)).collect(),
        2 => {
            let units =
                bytes.chunks_exact(2).map(|unit| u32::from(u16::from_ne_bytes([unit[0], unit[1]])));
            characters(units)
        }
        4 => characters(
            bytes
                .chunks_exact(4)
                .map(|unit| u32::from_ne_bytes([unit[0], unit[1], unit[2], unit[3]])),
        ),
        TEXT_BYTES => String::from_utf8_lossy(bytes).into_owned(),
        TEXT_FAULT | TEXT_OTHER_TYPE => return None,
        _ => return None,
    };
    if text.copied < text.size {
        decoded.push('…');
    }
    Some(decoded)
}

/// A lone surrogate, which a Python string may hold, becomes U+FFFD.
fn characters(units: impl Iterator<Item = u32>) -> String {
    units.map(|unit| char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(width: u32, bytes: &[u8]) -> Option<String> {
        let size = bytes.len() as u32;
        decode(Text { copied: size, size, width }, bytes)
    }

    #[test]
    fn each_width_is_decoded() {
        assert_eq!(text(1, b"na\xefve").as_deref(), Some("naïve"));
        assert_eq!(text(2, &[0x34, 0x12, 0x00, 0xd8]).as_deref(), Some("\u{1234}\u{fffd}"));
        assert_eq!(text(4, &0x1f600_u32.to_ne_bytes()).as_deref(), Some("😀"));
        assert_eq!(text(TEXT_BYTES, "é".as_bytes()).as_deref(), Some("é"));
        assert_eq!(text(TEXT_FAULT, b""), None);
        assert_eq!(text(3, b"abc"), None);
    }

    #[test]
    fn a_cut_text_says_so() {
        assert_eq!(decode(Text { copied: 2, size: 3, width: 1 }, b"ab").as_deref(), Some("ab…"));
    }

    #[test]
    fn events_that_are_cut_off_are_none() {
        let mut bytes = vec![0; size_of::<Code>()];
        bytes[..4].copy_from_slice(&CODE.to_ne_bytes());
        assert!(matches!(Event::parse(&bytes), Some(Event::Code(_, [b"", b"", b""]))));
        assert!(Event::parse(&bytes[..20]).is_none());
        bytes[32] = 1;
        assert!(Event::parse(&bytes).is_none(), "a name of one byte that is not there");
    }
}
