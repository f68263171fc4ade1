//! Copying the names and line tables of objects this CPU has not seen before.

use agent_ebpf::{
    counter::Counter,
    event::{
        self, Class, Code, ENTRY_CLASS, ENTRY_KIND_SHIFT, TEXT_BYTES, TEXT_FAULT, TEXT_OTHER_TYPE,
        Text,
    },
    limit::{COPY_STEPS, LINES_BYTES, NAME_BYTES, PENDING},
    target::{Objects, STRING_BYTES},
};
use aya_ebpf::{
    helpers::generated::bpf_probe_read_user_str, macros::perf_event, programs::PerfEventContext,
};

use super::{
    maps::{
        Copy, PROGRAM_COPY, PROGRAMS, Pending, SEEN, Scratch, copy as copy_scratch, count, scratch,
    },
    memory::{self, Fault},
    send,
};

/// Longest copied name, for the verifier.
const NAME: u64 = NAME_BYTES as u64;
/// Longest copied line table, for the verifier.
const LINES: u64 = LINES_BYTES as u64;

/// Copies up to [`COPY_STEPS`] objects, then calls itself for the next.
#[perf_event]
fn copy(ctx: PerfEventContext) -> u32 {
    let (Some(scratch), Some(copy)) = (scratch(), copy_scratch()) else { return 0 };
    for _ in 0..COPY_STEPS {
        let place = memory::bounded(scratch.copied);
        if place >= u64::from(scratch.pending_count) {
            return 0;
        }
        scratch.copied = place as u32 + 1;
        // SAFETY: cut to the array.
        let pending =
            unsafe { *scratch.pending.as_ptr().add((place & (PENDING as u64 - 1)) as usize) };
        let sent = if pending.object >> ENTRY_KIND_SHIFT == ENTRY_CLASS {
            class(scratch, copy, &pending)
        } else {
            code(scratch, copy, &pending)
        };
        if sent.is_ok() {
            count(Counter::Copied);
        } else {
            count(Counter::CopyRingFull);
            forget(&pending);
        }
    }
    if scratch.copied >= scratch.pending_count {
        return 0;
    }
    // SAFETY: nothing needs to be dropped.
    unsafe { PROGRAMS.tail_call(&ctx, PROGRAM_COPY) };
    // No more calls are allowed in this sample: the rest is for the next sight.
    for _ in 0..PENDING {
        let place = memory::bounded(scratch.copied);
        if place >= u64::from(scratch.pending_count) {
            break;
        }
        scratch.copied = place as u32 + 1;
        // SAFETY: cut to the array.
        let pending =
            unsafe { *scratch.pending.as_ptr().add((place & (PENDING as u64 - 1)) as usize) };
        count(Counter::CopyDeferred);
        forget(&pending);
    }
    0
}

/// Makes an object unseen again.
#[inline(always)]
fn forget(pending: &Pending) {
    if let Some(known) = SEEN.get_ptr_mut(pending.slot) {
        // SAFETY: per-CPU memory.
        unsafe { *known = 0 };
    }
}

#[inline(always)]
fn code(scratch: &Scratch, copy: &mut Copy, pending: &Pending) -> Result<(), ()> {
    let objects = &scratch.objects;
    let address = pending.object;
    let data = copy.code_data.as_mut_ptr();
    // SAFETY: the three parts are cut to sizes whose sum is the size of the data.
    let (name, file, lines) = unsafe {
        let name = string(objects, member(address, objects.code_name), data);
        let data = data.add((memory::bounded(name.copied) & NAME) as usize);
        let file = string(objects, member(address, objects.code_file), data);
        let data = data.add((memory::bounded(file.copied) & NAME) as usize);
        (name, file, bytes::<LINES>(objects, member(address, objects.code_lines), data))
    };
    let size = (memory::bounded(name.copied) & NAME)
        + (memory::bounded(file.copied) & NAME)
        + (memory::bounded(lines.copied) & LINES);
    copy.code = Code {
        kind: event::CODE,
        pid: scratch.sample.pid,
        incarnation: scratch.incarnation,
        address,
        print: pending.print,
        first_line: memory::user(address + u64::from(objects.code_first_line)).unwrap_or(0),
        name,
        file,
        lines,
        reserved: 0,
    };
    if name.width == TEXT_FAULT || file.width == TEXT_FAULT || lines.width == TEXT_FAULT {
        count(Counter::CopyFault);
    }
    send::event(&raw const copy.code, size_of::<Code>() as u64 + size)
}

#[inline(always)]
fn class(scratch: &Scratch, copy: &mut Copy, pending: &Pending) -> Result<(), ()> {
    let address = pending.object & ((1 << ENTRY_KIND_SHIFT) - 1);
    let name = member(address, scratch.objects.type_name)
        .and_then(|place| c_string(place, copy.class_data.as_mut_ptr()))
        .unwrap_or_else(|_| {
            count(Counter::CopyFault);
            Text { copied: 0, size: 0, width: TEXT_FAULT }
        });
    copy.class = Class {
        kind: event::CLASS,
        pid: scratch.sample.pid,
        incarnation: scratch.incarnation,
        address,
        print: pending.print,
        name,
    };
    let size = memory::bounded(name.copied) & NAME;
    send::event(&raw const copy.class, size_of::<Class>() as u64 + size)
}

/// A pointer member of an object.
#[inline(always)]
fn member(object: u64, offset: u32) -> Result<u64, Fault> {
    memory::user(object + u64::from(offset))
}

#[inline(always)]
fn c_string(address: u64, place: *mut u8) -> Result<Text, Fault> {
    // SAFETY: the place has NAME_BYTES and one more.
    let length = unsafe {
        bpf_probe_read_user_str(place.cast(), NAME as u32, address as *const core::ffi::c_void)
    };
    if length <= 0 {
        return Err(Fault);
    }
    let copied = (length as u32 - 1) & NAME as u32;
    Ok(Text { copied, size: copied, width: TEXT_BYTES })
}

/// Copies a `str` (2.7: a `str` of bytes).
#[inline(always)]
unsafe fn string(objects: &Objects, object: Result<u64, Fault>, place: *mut u8) -> Text {
    if objects.string_style == STRING_BYTES {
        // SAFETY: the caller's.
        return unsafe { bytes::<NAME>(objects, object, place) };
    }
    // SAFETY: the caller's.
    object.and_then(|object| unsafe { flexible_string(objects, object, place) }).unwrap_or(Text {
        copied: 0,
        size: 0,
        width: TEXT_FAULT,
    })
}

#[inline(always)]
unsafe fn flexible_string(objects: &Objects, object: u64, place: *mut u8) -> Result<Text, Fault> {
    if objects.string_type != 0 && member(object, objects.object_type)? != objects.string_type {
        return Ok(Text { copied: 0, size: 0, width: TEXT_OTHER_TYPE });
    }
    let length: u64 = member(object, objects.string_length)?;
    let state: u32 = memory::user(object + u64::from(objects.string_state))?;
    let width = (state >> (objects.string_kind_shift & 31)) & 7;
    let compact = (state >> (objects.string_compact_bit & 31)) & 1 != 0;
    let ascii = (state >> (objects.string_ascii_bit & 31)) & 1 != 0;
    let data = if !compact {
        member(object, objects.string_compact_data)?
    } else if ascii {
        object + u64::from(objects.string_ascii_data)
    } else {
        object + u64::from(objects.string_compact_data)
    };
    if width != 1 && width != 2 && width != 4 || length > u64::from(u32::MAX) / 4 {
        return Ok(Text { copied: 0, size: 0, width: TEXT_OTHER_TYPE });
    }
    let size = length as u32 * width;
    // A cut string ends at a whole character.
    let copied = if size > NAME as u32 { NAME as u32 & !3 } else { size };
    let copied = memory::bounded(copied) & NAME;
    // SAFETY: the place has NAME_BYTES and more.
    unsafe { memory::user_bytes(place, copied, data)? };
    Ok(Text { copied: copied as u32, size, width })
}

/// Copies a `bytes` object.
#[inline(always)]
unsafe fn bytes<const LIMIT: u64>(
    objects: &Objects,
    object: Result<u64, Fault>,
    place: *mut u8,
) -> Text {
    // SAFETY: the caller's.
    object
        .and_then(|object| unsafe { byte_string::<LIMIT>(objects, object, place) })
        .unwrap_or(Text { copied: 0, size: 0, width: TEXT_FAULT })
}

#[inline(always)]
unsafe fn byte_string<const LIMIT: u64>(
    objects: &Objects,
    object: u64,
    place: *mut u8,
) -> Result<Text, Fault> {
    if objects.bytes_type != 0 && member(object, objects.object_type)? != objects.bytes_type {
        return Ok(Text { copied: 0, size: 0, width: TEXT_OTHER_TYPE });
    }
    let size: u64 = member(object, objects.bytes_size)?;
    if size > u64::from(u32::MAX) {
        return Ok(Text { copied: 0, size: 0, width: TEXT_OTHER_TYPE });
    }
    let copied = if size > LIMIT { LIMIT } else { size };
    let copied = memory::bounded(copied as u32) & LIMIT;
    // SAFETY: the place has LIMIT bytes and one more.
    unsafe { memory::user_bytes(place, copied, object + u64::from(objects.bytes_data))? };
    Ok(Text { copied: copied as u32, size: size as u32, width: TEXT_BYTES })
}
