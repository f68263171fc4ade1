//! String tables.

use alloc::{string::String, vec::Vec};

use crate::ordered::Map;

/// A string table under construction: zero-terminated strings, each kept once.
#[derive(Clone, Debug)]
pub(super) struct Strings {
    bytes: Vec<u8>,
    offsets: Map<String, u32>,
}

impl Strings {
    pub(super) fn new() -> Self {
        Self { bytes: alloc::vec![0], offsets: Map::default() }
    }

    /// Offset of `string` in the table.
    pub(super) fn add(&mut self, string: &str) -> u32 {
        if string.is_empty() {
            return 0;
        }
        if let Some(&offset) = self.offsets.get(string) {
            return offset;
        }
        // A table of 4 GiB cannot be described by the file it is for, and is
        // refused when its size is written.
        let offset = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        self.bytes.extend(string.bytes().filter(|&byte| byte != 0));
        self.bytes.push(0);
        self.offsets.insert(string.into(), offset);
        offset
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}
