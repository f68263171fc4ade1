//! What a strategy finds, or why it finds nothing.

use core::fmt;

use crate::{
    addr::VirtAddr,
    report::{Reaches, TlsModel},
};

/// A route as one strategy found it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Finding {
    /// A pthread key.
    Key {
        /// Link-time address of the `int` key.
        address: VirtAddr,
    },
    /// A thread-local variable.
    ThreadLocal {
        /// Which state it holds.
        reaches: Reaches,
        /// Where it is.
        variable: TlsVariable,
    },
    /// A process-wide pointer.
    Global {
        /// Which state it holds.
        reaches: Reaches,
        /// Link-time address of the pointer.
        address: VirtAddr,
    },
}

/// Where a thread-local variable is, and how code gets there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TlsVariable {
    /// Access model; absent when no code told it.
    pub model: Option<TlsModel>,
    /// Offset in bytes in the module's TLS block.
    pub module_offset: Option<u64>,
    /// Link-time address of the GOT word or pair.
    pub got_slot: Option<VirtAddr>,
    /// Offset in bytes in the module's TLS block of what the slot leads to, for
    /// a slot that leads to one place (initial-exec, descriptors).
    pub slot_offset: Option<u64>,
    /// Bytes from the thread pointer, where fixed.
    pub tp_offset: Option<i64>,
}

impl TlsVariable {
    /// Whether both are the same variable, however it is reached.
    fn is(self, other: Self) -> bool {
        match (self.module_offset, other.module_offset) {
            (Some(mine), Some(theirs)) => mine == theirs,
            _ => self.tp_offset.is_some() && self.tp_offset == other.tp_offset,
        }
    }
}

/// How two findings relate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relation {
    /// They name the same place.
    Same,
    /// They claim to reach the same state at different places.
    Contradicts,
    /// They are different routes.
    Independent,
}

impl Finding {
    /// How this finding relates to `other`.
    #[must_use]
    pub fn relation(self, other: Self) -> Relation {
        let same = match (self, other) {
            (Finding::Key { address }, Finding::Key { address: other }) => address == other,
            (
                Finding::ThreadLocal { reaches, variable },
                Finding::ThreadLocal { reaches: other_reaches, variable: other },
            ) if reaches == other_reaches => variable.is(other),
            (
                Finding::Global { reaches, address },
                Finding::Global { reaches: other_reaches, address: other },
            ) if reaches == other_reaches => address == other,
            _ => return Relation::Independent,
        };
        if same { Relation::Same } else { Relation::Contradicts }
    }
}

/// Why a strategy found nothing. Codes are stable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Reason {
    /// The file does not define the function.
    NoFunction,
    /// The file does not define the symbol.
    NoSymbol,
    /// The function was followed, and no call that consumes a key was met.
    NoSink,
    /// The argument at the sink (instruction at this address) is not known.
    ArgumentUnknown(VirtAddr),
    /// The argument at the sink is known and is no word in memory of the image.
    ArgumentNotInImage(VirtAddr),
    /// Two sinks consume different keys.
    SinksDisagree(VirtAddr, VirtAddr),
    /// The key at this address is used, and it is not that of the thread state.
    AnotherKey(VirtAddr),
    /// What the function returns is not known.
    ResultUnknown,
    /// What the function returns is no pointer loaded from memory.
    ResultNotLoaded,
    /// The address is outside of what the file calls `_PyRuntime`.
    OutsideRuntime(VirtAddr),
    /// The address is not in a writable segment.
    NotWritable(VirtAddr),
    /// The address is not aligned to its type.
    Misaligned(VirtAddr),
    /// The thread-local offset is outside of the module's TLS block.
    OutsideTlsBlock(u64),
    /// `_PyRuntime` was not found.
    NoRuntime,
    /// The version is not known.
    VersionUnknown,
    /// The table has no offset for this version, flavour, architecture and C library.
    OffsetUnknown,
    /// This version keeps no key: its `autoTLSkey` indexes CPython's own list (2.7).
    KeyList,
    /// This version has no such variable.
    NotInVersion,
    /// There is no debug information.
    NoDebugInformation,
    /// Debug information does not name the member.
    NoMember,
}

impl Reason {
    /// The stable code.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Reason::NoFunction => "no-function",
            Reason::NoSymbol => "no-symbol",
            Reason::NoSink => "no-sink",
            Reason::ArgumentUnknown(_) => "argument-unknown",
            Reason::ArgumentNotInImage(_) => "argument-not-in-image",
            Reason::SinksDisagree(..) => "sinks-disagree",
            Reason::AnotherKey(_) => "another-key",
            Reason::ResultUnknown => "result-unknown",
            Reason::ResultNotLoaded => "result-not-loaded",
            Reason::OutsideRuntime(_) => "outside-runtime",
            Reason::NotWritable(_) => "not-writable",
            Reason::Misaligned(_) => "misaligned",
            Reason::OutsideTlsBlock(_) => "outside-tls-block",
            Reason::NoRuntime => "no-runtime",
            Reason::VersionUnknown => "version-unknown",
            Reason::OffsetUnknown => "offset-unknown",
            Reason::KeyList => "key-list",
            Reason::NotInVersion => "not-in-version",
            Reason::NoDebugInformation => "no-debug-information",
            Reason::NoMember => "no-member",
        }
    }

    /// Whether the strategy is simply not made for this file.
    #[must_use]
    pub const fn is_not_applicable(self) -> bool {
        matches!(
            self,
            Reason::NoFunction
                | Reason::NoSymbol
                | Reason::KeyList
                | Reason::NotInVersion
                | Reason::NoDebugInformation
        )
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::NoFunction => f.write_str("the file does not define this function"),
            Reason::NoSymbol => f.write_str("the file does not define this symbol"),
            Reason::NoSink => {
                f.write_str("followed to its end, the function makes no call that consumes a key")
            }
            Reason::ArgumentUnknown(at) => {
                write!(f, "what the call at {at} is given cannot be told from the code")
            }
            Reason::ArgumentNotInImage(at) => {
                write!(f, "what the call at {at} is given was not loaded from the image's memory")
            }
            Reason::SinksDisagree(one, other) => {
                write!(f, "different paths use different keys, at {one} and at {other}")
            }
            Reason::AnotherKey(address) => write!(
                f,
                "it uses the key at {address}, but PyGILState_GetThisThreadState uses none"
            ),
            Reason::ResultUnknown => {
                f.write_str("what the function returns cannot be told from the code")
            }
            Reason::ResultNotLoaded => {
                f.write_str("what the function returns is no pointer kept in memory")
            }
            Reason::OutsideRuntime(address) => {
                write!(f, "{address} was found, which is outside of _PyRuntime")
            }
            Reason::NotWritable(address) => {
                write!(f, "{address} was found, which is not writable memory of the image")
            }
            Reason::Misaligned(address) => {
                write!(f, "{address} was found, which is not aligned")
            }
            Reason::OutsideTlsBlock(offset) => {
                write!(f, "offset {offset:#x} was found, which is outside of the TLS block")
            }
            Reason::NoRuntime => f.write_str("_PyRuntime was not found"),
            Reason::VersionUnknown => f.write_str("the version is not known"),
            Reason::OffsetUnknown => f.write_str(
                "no verified offset for this version, flavour, architecture and C library",
            ),
            Reason::KeyList => f.write_str(
                "in 2.7 autoTLSkey is no pthread key but an index into CPython's own list",
            ),
            Reason::NotInVersion => f.write_str("this version has no such variable"),
            Reason::NoDebugInformation => f.write_str("the file has no debug information"),
            Reason::NoMember => f.write_str("debug information does not name the member"),
        }
    }
}
