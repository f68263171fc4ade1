//! A reader of the kernel's type information (BTF), for the offsets of structure members.
//!
//! The format is described in the kernel's `Documentation/bpf/btf.rst`; the
//! numbers of kinds are those of `include/uapi/linux/btf.h`.

use std::collections::HashMap;

use anyhow::{Context, Result, bail, ensure};

const MAGIC: u16 = 0xeb9f;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
/// Anonymous structures nest this deep at most when a member is searched.
const DEPTH: u32 = 8;

/// Type information of one kernel.
#[derive(Debug)]
pub(crate) struct Btf {
    bytes: Vec<u8>,
    strings: (usize, usize),
    /// Where each type's record starts; type ids count from 1.
    types: Vec<usize>,
    /// Structures by name.
    structures: HashMap<Vec<u8>, u32>,
}

impl Btf {
    /// The running kernel's, from `/sys/kernel/btf/vmlinux`.
    pub(crate) fn of_running_kernel() -> Result<Self> {
        let path = "/sys/kernel/btf/vmlinux";
        let bytes = std::fs::read(path).with_context(|| {
            format!("{path} cannot be read; the kernel must be built with CONFIG_DEBUG_INFO_BTF=y")
        })?;
        Self::parse(bytes).with_context(|| format!("{path} is not as expected"))
    }

    fn parse(bytes: Vec<u8>) -> Result<Self> {
        ensure!(half(&bytes, 0)? == MAGIC, "no BTF magic number");
        let header = word(&bytes, 4)? as usize;
        let section = |offset: usize, length: usize| -> Result<(usize, usize)> {
            let start = header + word(&bytes, offset)? as usize;
            let end = start + word(&bytes, length)? as usize;
            ensure!(end <= bytes.len(), "a section reaches beyond the end");
            Ok((start, end))
        };
        let (mut at, end) = section(8, 12)?;
        let strings = section(16, 20)?;
        let mut btf = Self { strings, types: Vec::new(), structures: HashMap::new(), bytes };
        while at < end {
            let info = word(&btf.bytes, at + 4)?;
            let (kind, count) = ((info >> 24) & 0x1f, (info & 0xffff) as usize);
            btf.types.push(at);
            if kind == STRUCT {
                let name = btf.string(word(&btf.bytes, at)?)?.to_vec();
                let id = u32::try_from(btf.types.len())?;
                if !name.is_empty() {
                    btf.structures.entry(name).or_insert(id);
                }
            }
            at += 12
                + match kind {
                    1 | 14 | 17 => 4,
                    3 => 12,
                    STRUCT | UNION | 15 | 19 => 12 * count,
                    6 | 13 => 8 * count,
                    2 | 7..=12 | 16 | 18 => 0,
                    _ => bail!("unknown kind {kind}"),
                };
        }
        Ok(btf)
    }

    /// Bytes from the start of a structure to a member, given as a path of
    /// names; anonymous structures and unions on the way need no name.
    pub(crate) fn offset(&self, structure: &str, path: &[&str]) -> Result<u32> {
        let mut id = self.structure(structure)?;
        let mut offset = 0;
        for member in path {
            let (distance, kind) = self
                .member(id, member.as_bytes(), DEPTH)?
                .with_context(|| format!("struct {structure} has no {}", path.join(".")))?;
            offset += distance;
            id = kind;
        }
        Ok(offset)
    }

    /// Bytes of a structure.
    pub(crate) fn size(&self, structure: &str) -> Result<u32> {
        let at = self.record(self.structure(structure)?)?;
        word(&self.bytes, at + 8)
    }

    fn structure(&self, name: &str) -> Result<u32> {
        self.structures
            .get(name.as_bytes())
            .copied()
            .with_context(|| format!("there is no struct {name}"))
    }

    fn record(&self, id: u32) -> Result<usize> {
        let index = (id as usize).checked_sub(1);
        index.and_then(|index| self.types.get(index)).copied().context("a type id is out of range")
    }

    /// The byte offset and the type of a member.
    fn member(&self, id: u32, name: &[u8], depth: u32) -> Result<Option<(u32, u32)>> {
        let at = self.record(id)?;
        let info = word(&self.bytes, at + 4)?;
        if depth == 0 || !matches!((info >> 24) & 0x1f, STRUCT | UNION) {
            return Ok(None);
        }
        for index in 0..(info & 0xffff) as usize {
            let at = at + 12 + 12 * index;
            let kind = word(&self.bytes, at + 4)?;
            let position = word(&self.bytes, at + 8)?;
            // With the kind flag set, the upper 8 bits are a bit field's width.
            let bits = if info >> 31 == 1 { position & 0xff_ffff } else { position };
            let own = self.string(word(&self.bytes, at)?)?;
            if own == name {
                return Ok(Some((bits / 8, kind)));
            }
            if own.is_empty()
                && let Some((inner, kind)) = self.member(kind, name, depth - 1)?
            {
                return Ok(Some((bits / 8 + inner, kind)));
            }
        }
        Ok(None)
    }

    fn string(&self, offset: u32) -> Result<&[u8]> {
        let (start, end) = self.strings;
        let text =
            self.bytes.get(start + offset as usize..end).context("a name is out of range")?;
        let length = text.iter().position(|&byte| byte == 0).context("a name has no end")?;
        Ok(&text[..length])
    }
}

fn half(bytes: &[u8], at: usize) -> Result<u16> {
    let bytes = bytes.get(at..).and_then(<[u8]>::first_chunk).context("cut off")?;
    Ok(u16::from_ne_bytes(*bytes))
}

fn word(bytes: &[u8], at: usize) -> Result<u32> {
    let bytes = bytes.get(at..).and_then(<[u8]>::first_chunk).context("cut off")?;
    Ok(u32::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `struct outer { int pad; union { struct { int a; int b; }; }; int bits : 3; }`
    fn sample() -> Vec<u8> {
        let strings = b"\0outer\0pad\0a\0b\0bits\0int\0";
        let at = |name: &[u8]| {
            strings.windows(name.len()).position(|window| window == name).unwrap() as u32
        };
        let structure = |flag: u32, kind: u32, count: u32| flag << 31 | kind << 24 | count;
        let types: Vec<u32> = [
            vec![at(b"int\0"), 1 << 24, 4, 32],
            vec![0, structure(0, STRUCT, 2), 8, at(b"a\0"), 1, 0, at(b"b\0"), 1, 32],
            vec![0, structure(0, UNION, 1), 8, 0, 2, 0],
            vec![at(b"outer\0"), structure(1, STRUCT, 3), 16],
            vec![at(b"pad\0"), 1, 0, 0, 3, 32, at(b"bits\0"), 1, 3 << 24 | 96],
        ]
        .concat();
        let mut bytes = Vec::new();
        bytes.extend(MAGIC.to_ne_bytes());
        bytes.extend([1, 0]);
        let type_bytes = 4 * types.len() as u32;
        for word in [24, 0, type_bytes, type_bytes, strings.len() as u32] {
            bytes.extend(u32::to_ne_bytes(word));
        }
        bytes.extend(types.iter().flat_map(|word| word.to_ne_bytes()));
        bytes.extend(strings);
        bytes
    }

    #[test]
    fn members_of_anonymous_parts_are_found() {
        let btf = Btf::parse(sample()).unwrap();
        assert_eq!(btf.offset("outer", &["pad"]).unwrap(), 0);
        assert_eq!(btf.offset("outer", &["b"]).unwrap(), 8);
        assert_eq!(btf.offset("outer", &["bits"]).unwrap(), 12);
        assert_eq!(btf.size("outer").unwrap(), 16);
        assert!(btf.offset("outer", &["c"]).is_err());
        assert!(btf.offset("other", &["a"]).is_err());
    }

    #[test]
    fn every_prefix_is_refused_or_read() {
        let bytes = sample();
        for length in 0..bytes.len() {
            if let Ok(btf) = Btf::parse(bytes[..length].to_vec()) {
                let _ = btf.offset("outer", &["b"]);
            }
        }
    }
}
