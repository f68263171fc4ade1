//! What glibc tells debuggers about its structures.
//!
//! For each member that libthread_db reads, glibc has a `_thread_db_*` object
//! of three 32-bit words: bits of one element, number of elements, offset in
//! bytes (glibc `nptl_db/db_info.c`, `nptl_db/thread_dbP.h`); for a size, one
//! word. They are exported from libc.so.6 since 2.34; before, libpthread has
//! them in its symbol table.

use super::which::defined;
use crate::{
    addr::VirtAddr,
    image::Image,
    report::{Arch, Dtv, ThreadData},
};

/// What was read; members stay empty where a descriptor is missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Descriptors {
    pub(super) thread_data: Option<ThreadData>,
    pub(super) dtv: Option<Dtv>,
    pub(super) link_map_tls_offset: Option<u64>,
    pub(super) link_map_tls_modid: Option<u64>,
}

/// Reads the descriptors an image has.
pub(super) fn read(image: &Image<'_>) -> Descriptors {
    Descriptors {
        thread_data: thread_data(image),
        dtv: dtv(image),
        link_map_tls_offset: member(image, "_thread_db_link_map_l_tls_offset")
            .map(|member| member.offset),
        link_map_tls_modid: member(image, "_thread_db_link_map_l_tls_modid")
            .map(|member| member.offset),
    }
}

/// A described member.
#[derive(Clone, Copy, Debug)]
struct Member {
    /// For a plain array member those of the whole array.
    element_bits: u64,
    offset: u64,
}

fn address(image: &Image<'_>, name: &str) -> Option<VirtAddr> {
    let symbol = defined(image, name).or_else(|| image.static_symbol(name))?;
    Some(symbol.address)
}

fn member(image: &Image<'_>, name: &str) -> Option<Member> {
    let at = address(image, name)?;
    let element_bits = image.u32_at(at)?.into();
    let offset = image.u32_at(at.checked_add(8)?)?.into();
    Some(Member { element_bits, offset })
}

fn size(image: &Image<'_>, name: &str) -> Option<u64> {
    image.u32_at(address(image, name)?).map(u64::from).filter(|&size| size != 0)
}

/// Thread-pointer offset of a member of `struct pthread`: on x86-64 the
/// structure begins at the thread pointer, on AArch64 it ends there (glibc
/// `TLS_TCB_AT_TP` and `TLS_DTV_AT_TP` in `sysdeps/*/nptl/tls.h`).
fn from_thread_pointer(image: &Image<'_>, offset: u64) -> Option<i64> {
    let offset = i64::try_from(offset).ok()?;
    match image.arch() {
        Arch::X86_64 => Some(offset),
        Arch::Aarch64 => {
            let size = i64::try_from(size(image, "_thread_db_sizeof_pthread")?).ok()?;
            offset.checked_sub(size)
        }
    }
}

/// The first block of slots has no descriptor; `struct pthread` has it right
/// before the array of block pointers (glibc `nptl/descr.h`), and its size is
/// that of every block.
fn thread_data(image: &Image<'_>) -> Option<ThreadData> {
    let blocks = member(image, "_thread_db_pthread_specific")?;
    let block_size = size(image, "_thread_db_sizeof_pthread_key_data_level2")?;
    let slot_size = size(image, "_thread_db_sizeof_pthread_key_data")?;
    let value = member(image, "_thread_db_pthread_key_data_data")?;
    let is_sound = blocks.element_bits != 0
        && blocks.element_bits.is_multiple_of(64)
        && value.element_bits == 64
        && block_size.is_multiple_of(slot_size)
        && value.offset.checked_add(8)? <= slot_size;
    if !is_sound {
        return None;
    }
    let blocks = from_thread_pointer(image, blocks.offset)?;
    Some(ThreadData::TwoLevel {
        first_block: blocks.checked_sub(i64::try_from(block_size).ok()?)?,
        blocks,
        block_keys: block_size.checked_div(slot_size)?,
        slot_size,
        value_offset: value.offset,
    })
}

fn dtv(image: &Image<'_>) -> Option<Dtv> {
    let pointer = member(image, "_thread_db_pthread_dtvp")?;
    let entry = member(image, "_thread_db_dtv_dtv")?;
    let entry_size = entry.element_bits.checked_div(8)?;
    (pointer.element_bits == 64 && entry_size >= 8)
        .then(|| Some(Dtv { pointer: from_thread_pointer(image, pointer.offset)?, entry_size }))?
}
