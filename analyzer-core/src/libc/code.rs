//! What the code of `pthread_getspecific` and `__tls_get_addr` does.
//!
//! Each is executed abstractly on every path. What it returns is then looked
//! at for several keys (or modules): the addresses it reads tell the strides
//! and where the first level ends, whatever instructions form them.

use alloc::vec::Vec;

use super::{
    form::{Arguments, Base, Form, form},
    which::defined,
};
use crate::{
    code::{abi, ir::Reg},
    dataflow::{Action, Call, Explorer, Observer, Settings, Terms, Value},
    image::{Image, Range, Symbol},
    report::{Dtv, Libc, ThreadData},
};

/// Keys a process can have: at most 1024 in glibc, 128 in musl.
const MOST_KEYS: u64 = 1024;
/// Where the `tls_index` argument is taken to lie.
const TLS_INDEX: u64 = 0x7000_0000_0000;

/// What the code was seen to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Code {
    pub(super) thread_data: Option<ThreadData>,
    pub(super) dtv: Option<Dtv>,
}

impl Code {
    pub(super) fn read(image: &Image<'_>, libc: Libc) -> Self {
        let returned = |name| Returned::of(image, libc, &defined(image, name)?);
        Self {
            thread_data: returned("pthread_getspecific").and_then(|of| of.thread_data()),
            dtv: returned("__tls_get_addr").and_then(|of| of.dtv()),
        }
    }
}

/// Every value a function may return.
struct Returned {
    values: Vec<Value>,
    terms: Terms,
    /// Of the first argument.
    register: Reg,
}

/// Stays in one function: the paths that read slots make no calls.
struct OwnCode {
    range: Range,
}

impl Observer for OwnCode {
    fn call(&mut self, call: &Call<'_>, _: &Terms) -> Action {
        let inside = |address| self.range.contains(address);
        if call.tail && call.callee.address.is_some_and(inside) {
            Action::Follow
        } else {
            Action::Skip
        }
    }
}

impl Returned {
    fn of(image: &Image<'_>, libc: Libc, function: &Symbol<'_>) -> Option<Self> {
        let register = *abi(image.arch()).args.first()?;
        let settings =
            Settings { every_path: true, glibc_self: libc == Libc::Glibc, ..Settings::default() };
        let mut explorer = Explorer::new(image, settings);
        let range = image
            .unwind_range(function.address)
            .unwrap_or(Range::new(function.address, function.size));
        let exploration = explorer.explore(function.address, &mut OwnCode { range });
        let terms = core::mem::take(&mut explorer.terms);
        let values = exploration
            .returns
            .iter()
            .flat_map(|&value| terms.alternatives(value))
            .filter(|value| value.is_known())
            .collect();
        Some(Self { values, terms, register })
    }

    /// The address each returned word is read from, for a key.
    fn slot(&self, value: Value, key: u64) -> Option<Form> {
        let arguments = Arguments { register: self.register, value: key, memory: &[] };
        form(value, &self.terms, &arguments)?.loaded_from().cloned()
    }

    fn thread_data(&self) -> Option<ThreadData> {
        let mut first_level = None;
        let mut second_level = None;
        let mut array = None;
        for &value in &self.values {
            let slots = |key| self.slot(value, key);
            first_level = first_level.or_else(|| FirstLevel::of(slots));
            second_level = second_level.or_else(|| SecondLevel::of(slots));
            array = array.or_else(|| array_pointer(slots));
        }
        match (first_level, second_level, array) {
            (Some(first), Some(second), None) if first.slot_size == second.slot_size => {
                Some(ThreadData::TwoLevel {
                    first_block: first.first_value.wrapping_sub(second.value_offset).cast_signed(),
                    blocks: second.blocks.cast_signed(),
                    block_keys: second.block_keys,
                    slot_size: second.slot_size,
                    value_offset: second.value_offset,
                })
            }
            (None, None, Some(pointer)) => {
                Some(ThreadData::Array { pointer: pointer.cast_signed() })
            }
            _ => None,
        }
    }

    /// A block's address, found as the word in the DTV for the module, plus
    /// the offset asked for.
    fn dtv(&self) -> Option<Dtv> {
        self.values.iter().find_map(|&value| {
            const OFFSET: u64 = 0x123_4560;
            let entry = |module: u64| -> Option<(u64, u64)> {
                let memory = [(TLS_INDEX, module), (TLS_INDEX.wrapping_add(8), OFFSET)];
                let arguments =
                    Arguments { register: self.register, value: TLS_INDEX, memory: &memory };
                let block = form(value, &self.terms, &arguments)?;
                match block.base {
                    Base::Word(entry) if block.offset == OFFSET => entry.word_and_offset(),
                    _ => None,
                }
            };
            let (pointer, first) = entry(1)?;
            let same = [2, 3, 100]
                .into_iter()
                .all(|module| entry(module) == Some((pointer, first.wrapping_mul(module))));
            (same && first >= 8)
                .then_some(Dtv { pointer: pointer.cast_signed(), entry_size: first })
        })
    }
}

/// Slots inside the thread's own structure.
#[derive(Clone, Copy)]
struct FirstLevel {
    /// Thread-pointer offset of the value of key 0.
    first_value: u64,
    slot_size: u64,
}

impl FirstLevel {
    fn of(slot: impl Fn(u64) -> Option<Form>) -> Option<Self> {
        let at = |key| slot(key)?.thread_pointer_offset();
        let first_value = at(0)?;
        let slot_size = stride(first_value, &at)?;
        Some(Self { first_value, slot_size })
    }
}

/// Slots in blocks that an array in the thread's structure points to.
#[derive(Clone, Copy)]
struct SecondLevel {
    /// Thread-pointer offset of the array.
    blocks: u64,
    block_keys: u64,
    slot_size: u64,
    value_offset: u64,
}

impl SecondLevel {
    fn of(slot: impl Fn(u64) -> Option<Form>) -> Option<Self> {
        let at = |key| slot(key)?.word_and_offset();
        let (blocks, value_offset) = at(0)?;
        let block_keys = (1..)
            .map_while(|bit| 1_u64.checked_shl(bit))
            .take_while(|keys| *keys <= MOST_KEYS)
            .find(|keys| at(*keys).is_some_and(|(block, _)| block != blocks))?;
        let inside = |key| at(key).filter(|(block, _)| *block == blocks).map(|(_, offset)| offset);
        let slot_size = stride(value_offset, &inside)?;
        let last = block_keys.wrapping_sub(1);
        let holds = |block: u64, key: u64| {
            at(block.wrapping_mul(block_keys).wrapping_add(key))
                == Some((
                    blocks.wrapping_add(block.wrapping_mul(8)),
                    value_offset.wrapping_add(key.wrapping_mul(slot_size)),
                ))
        };
        let regular = [(0, last), (1, 0), (1, last), (2, 1), (7, last)];
        regular.into_iter().all(|(block, key)| holds(block, key)).then_some(Self {
            blocks,
            block_keys,
            slot_size,
            value_offset,
        })
    }
}

/// Thread-pointer offset of the pointer to an array with a word for each key.
fn array_pointer(slot: impl Fn(u64) -> Option<Form>) -> Option<u64> {
    let (pointer, first) = slot(0)?.word_and_offset()?;
    let regular = [1, 2, 31, 32, 33, 127].into_iter().all(|key: u64| {
        slot(key).and_then(|slot| slot.word_and_offset()) == Some((pointer, key.wrapping_mul(8)))
    });
    (first == 0 && regular).then_some(pointer)
}

/// Distance between the slots of neighbouring keys, if it is the same for the
/// first few: two words at least, a value and its sequence number.
fn stride(first: u64, at: &impl Fn(u64) -> Option<u64>) -> Option<u64> {
    let stride = at(1)?.wrapping_sub(first);
    let regular = [2, 3]
        .into_iter()
        .all(|key: u64| at(key) == Some(first.wrapping_add(key.wrapping_mul(stride))));
    (regular && (16..=64).contains(&stride)).then_some(stride)
}
