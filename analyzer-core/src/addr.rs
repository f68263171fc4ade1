//! Addresses, kept apart from plain numbers.

use core::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A link-time virtual address: the number a segment's `p_vaddr`, a symbol's
/// `st_value` or a relocation's `r_offset` uses.
///
/// The run-time address of the same byte is this plus the image's load bias
/// (zero for an `ET_EXEC` file). Serialized as a `"0x…"` string, because a
/// JavaScript number cannot hold every 64-bit address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct VirtAddr(pub u64);

impl VirtAddr {
    /// The address `distance` bytes further, or `None` when that is beyond
    /// the end of the address space.
    #[must_use]
    pub fn checked_add(self, distance: u64) -> Option<Self> {
        self.0.checked_add(distance).map(Self)
    }

    /// The distance in bytes from `start` up to this address, or `None` when
    /// this address lies before `start`.
    #[must_use]
    pub fn distance_from(self, start: Self) -> Option<u64> {
        self.0.checked_sub(start.0)
    }
}

impl fmt::Display for VirtAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl fmt::Debug for VirtAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for VirtAddr {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for VirtAddr {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Hex;
        impl de::Visitor<'_> for Hex {
            type Value = VirtAddr;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an address as a \"0x…\" string")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<VirtAddr, E> {
                text.strip_prefix("0x")
                    .and_then(|digits| u64::from_str_radix(digits, 16).ok())
                    .map(VirtAddr)
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_str(Hex)
    }
}
