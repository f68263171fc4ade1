//! The walk from frame to frame.

use agent_ebpf::{
    counter::Counter,
    event::{
        ENTERED_FROM_NATIVE, ENTRY_CLASS, ENTRY_FRAME, ENTRY_KIND_SHIFT, ENTRY_UNREADABLE, Entry,
        NO_INSTRUCTION,
    },
    fingerprint,
    limit::{CODE_BYTES, FRAME_BYTES, PENDING, SEEN_ENTRIES, STACK_ENTRIES, WALK_STEPS},
    status::StackStatus,
    target::{ABSENT, WALK_CFRAME, WALK_FRAME_OBJECTS},
};
use aya_ebpf::{macros::perf_event, programs::PerfEventContext};

use super::{
    class,
    maps::{PROGRAM_WALK, PROGRAMS, Pending, SEEN, Scratch, count, scratch},
    memory, send,
};

/// A frame's bytes are this many at most, for the verifier.
const FRAME: u32 = FRAME_BYTES as u32;
/// A code object's bytes are this many at most, for the verifier.
const CODE: u32 = CODE_BYTES as u32;
/// An instruction farther than this from the start of its bytecode is not believed.
const FAR: i64 = 1 << 28;

/// What one step did.
enum Step {
    Next,
    End(StackStatus),
}

/// Walks up to [`WALK_STEPS`] frames, then sends the sample or goes on in
/// another run of itself.
#[perf_event]
fn walk(ctx: PerfEventContext) -> u32 {
    let Some(scratch) = scratch() else { return 0 };
    let mut status = None;
    for _ in 0..WALK_STEPS {
        if let Step::End(end) = step(scratch) {
            status = Some(end);
            break;
        }
    }
    let status = match status {
        Some(status) => status,
        None => {
            // SAFETY: nothing needs to be dropped.
            unsafe { PROGRAMS.tail_call(&ctx, PROGRAM_WALK) };
            count(Counter::WalkCallFailed);
            StackStatus::TRUNCATED
        }
    };
    if met_no_frame(scratch, status) && outer_cframe(scratch) {
        // SAFETY: nothing needs to be dropped.
        unsafe { PROGRAMS.tail_call(&ctx, PROGRAM_WALK) };
    }
    if is_unlinked(scratch, status) {
        scratch.sample.entries = 0;
        scratch.sample.frames = 0;
        send::sample(&ctx, scratch, StackStatus::LINKING);
    } else {
        send::sample(&ctx, scratch, status);
    }
    0
}

/// Whether what the walk began at was no frame.
#[inline(always)]
fn met_no_frame(scratch: &Scratch, status: StackStatus) -> bool {
    let is_unreadable = scratch.entries[0].kind() == ENTRY_UNREADABLE;
    match scratch.sample.entries {
        0 => true,
        1 => is_unreadable && status != StackStatus::COMPLETE,
        _ => false,
    }
}

/// Whether the chain ends before its outermost frame, which is marked as
/// entered from native code (3.11 and later): the loop makes a frame the
/// current one before or after it links it to its caller, as compilers like
/// (`DISPATCH_INLINED` in Python/ceval_macros.h, 3.12).
#[inline(always)]
fn is_unlinked(scratch: &Scratch, status: StackStatus) -> bool {
    let marked = scratch.walk.is_entry != ABSENT || scratch.walk.owner != ABSENT;
    marked
        && scratch.boundaries == 0
        && scratch.sample.entries != 0
        && (status == StackStatus::COMPLETE || status == StackStatus::ERROR)
}

/// Goes back to the caller's `_PyCFrame` when the innermost has no frame yet:
/// the evaluation loop links it before it fills it in (3.11 and 3.12,
/// `_PyEval_EvalFrameDefault` in Python/ceval.c), and until then its memory is
/// whatever the C stack held.
#[inline(always)]
fn outer_cframe(scratch: &mut Scratch) -> bool {
    let cframe = scratch.cframe;
    if cframe == 0 {
        return false;
    }
    scratch.cframe = 0;
    let frame = memory::user::<u64>(cframe + u64::from(scratch.walk.cframe_previous))
        .and_then(|outer| memory::user::<u64>(outer + u64::from(scratch.walk.cframe_current)));
    let Ok(frame) = frame else { return false };
    scratch.frame = frame;
    scratch.boundaries = 0;
    scratch.sample.entries = 0;
    scratch.sample.frames = 0;
    true
}

/// The first frame of a thread state, or why there is none.
#[inline(always)]
pub(super) fn first_frame(scratch: &mut Scratch, state: u64) -> Result<u64, StackStatus> {
    let walk = &scratch.walk;
    let at = state + u64::from(walk.state_frame);
    let Ok(first) = memory::user::<u64>(at) else { return Err(StackStatus::NOT_RESIDENT) };
    if walk.style != WALK_CFRAME || first == 0 {
        return Ok(first);
    }
    scratch.cframe = first;
    memory::user(first + u64::from(scratch.walk.cframe_current))
        .map_err(|_| StackStatus::NOT_RESIDENT)
}

/// Takes one frame.
#[inline(always)]
fn step(scratch: &mut Scratch) -> Step {
    let frame = scratch.frame;
    if frame == 0 {
        return Step::End(StackStatus::COMPLETE);
    }
    // A frame may take two entries.
    if scratch.sample.entries >= (STACK_ENTRIES - 1) as u32 {
        return Step::End(StackStatus::TRUNCATED);
    }
    let size = memory::bounded(scratch.walk.frame_size);
    if size > u64::from(FRAME) {
        return Step::End(StackStatus::ERROR);
    }
    let bytes = scratch.frame_bytes.as_mut_ptr();
    // SAFETY: the size was just compared with the buffer's.
    if unsafe { memory::user_bytes(bytes, size, frame) }.is_err() {
        return Step::End(StackStatus::NOT_RESIDENT);
    }
    // SAFETY: `field` keeps within the buffer; so below.
    scratch.frame = unsafe { memory::field::<u64, FRAME>(bytes, scratch.walk.previous) };

    let owner = scratch.walk.owner;
    if owner != ABSENT {
        let owner = unsafe { memory::field::<u8, FRAME>(bytes, owner) };
        if u32::from(owner) >= scratch.walk.shim_owner {
            boundary(scratch);
            return Step::Next;
        }
    }
    let code = unsafe { memory::field::<u64, FRAME>(bytes, scratch.walk.code) };
    let code = code & scratch.walk.code_mask;
    if code == 0 || code >> ENTRY_KIND_SHIFT != 0 {
        return Step::End(StackStatus::ERROR);
    }
    let instruction = instruction(scratch, code);
    let size = memory::bounded(scratch.objects.code_size);
    if size > u64::from(CODE) {
        return Step::End(StackStatus::ERROR);
    }
    let code_bytes = scratch.code_bytes.as_mut_ptr();
    if unsafe { memory::user_bytes(code_bytes, size, code) }.is_err() {
        count(Counter::CodeFault);
        push(
            scratch,
            Entry { object: code | ENTRY_UNREADABLE << ENTRY_KIND_SHIFT, print: 0, instruction },
        );
    } else {
        let kind = unsafe { memory::field::<u64, CODE>(code_bytes, scratch.objects.object_type) };
        if scratch.objects.code_type != 0 && kind != scratch.objects.code_type {
            return Step::End(StackStatus::ERROR);
        }
        python_frame(scratch, frame, code, instruction);
    }
    scratch.sample.frames += 1;

    let is_entry = scratch.walk.is_entry;
    if is_entry != ABSENT && unsafe { memory::field::<u8, FRAME>(bytes, is_entry) } != 0 {
        boundary(scratch);
    }
    Step::Next
}

/// Adds a frame whose code object's bytes were read.
#[inline(always)]
fn python_frame(scratch: &mut Scratch, frame: u64, code: u64, instruction: i32) {
    let objects = &scratch.objects;
    let bytes = scratch.code_bytes.as_ptr();
    // SAFETY: `field` keeps within the buffer.
    let print = unsafe {
        fingerprint::code(
            memory::field::<u64, CODE>(bytes, objects.code_file),
            memory::field::<u64, CODE>(bytes, objects.code_name),
            memory::field::<u64, CODE>(bytes, objects.code_lines),
            memory::field::<u32, CODE>(bytes, objects.code_first_line),
        )
    };
    push(scratch, Entry { object: code | ENTRY_FRAME << ENTRY_KIND_SHIFT, print, instruction });
    let flags = seen(scratch, code | ENTRY_FRAME << ENTRY_KIND_SHIFT, print);
    if flags & (class::FIRST_IS_SELF | class::FIRST_IS_CLS) != 0
        && let Ok(note) = class::of_first_argument(scratch, frame, flags)
        && (seen_before(scratch, note.object, note.print)
            || class::is_type(&scratch.objects, note.address()))
    {
        push(scratch, note);
        seen(scratch, note.object, note.print);
    }
}

/// Bytes from the start of the bytecode to the instruction.
#[inline(always)]
fn instruction(scratch: &Scratch, code: u64) -> i32 {
    let walk = &scratch.walk;
    let bytes = scratch.frame_bytes.as_ptr();
    if walk.style == WALK_FRAME_OBJECTS {
        // SAFETY: `field` keeps within the buffer; so below.
        let last = unsafe { memory::field::<i32, FRAME>(bytes, walk.instruction) };
        return if last < 0 { -1 } else { last.wrapping_mul(walk.instruction_unit as i32) };
    }
    let mut start = code + u64::from(scratch.objects.code_bytecode);
    if walk.tlbc_index != ABSENT {
        let index = unsafe { memory::field::<i32, FRAME>(bytes, walk.tlbc_index) };
        if index > 0 {
            // co_tlbc: the number of arrays, then their addresses (3.14, Include/cpython/code.h).
            let own = memory::user::<u64>(code + u64::from(scratch.objects.code_tlbc))
                .and_then(|arrays| memory::user::<u64>(arrays + 8 + 8 * u64::from(index as u32)));
            match own {
                Ok(own) => start = own,
                Err(_) => return NO_INSTRUCTION,
            }
        }
    }
    let at = unsafe { memory::field::<u64, FRAME>(bytes, walk.instruction) };
    let distance = at.wrapping_sub(start) as i64;
    if distance > FAR || distance < -FAR { NO_INSTRUCTION } else { distance as i32 }
}

/// Marks the last frame as entered from native code. (Versions that tell have
/// no class notes.) A boundary before the first frame is nobody's.
#[inline(always)]
fn boundary(scratch: &mut Scratch) {
    scratch.boundaries += 1;
    let place = memory::bounded(scratch.sample.entries).wrapping_sub(1);
    if place < STACK_ENTRIES as u64 {
        // SAFETY: it is one of the array's places.
        unsafe {
            (*scratch.entries.as_mut_ptr().add(place as usize)).object |= ENTERED_FROM_NATIVE
        };
    }
}

/// Adds an entry; the caller has seen that there is room.
#[inline(always)]
fn push(scratch: &mut Scratch, entry: Entry) {
    let place = memory::bounded(scratch.sample.entries) & (STACK_ENTRIES as u64 - 1);
    // SAFETY: cut to the array.
    unsafe { *scratch.entries.as_mut_ptr().add(place as usize) = entry };
    scratch.sample.entries += 1;
}

/// Whether this CPU has seen an object.
#[inline(always)]
fn seen_before(scratch: &Scratch, object: u64, print: u32) -> bool {
    let tag = fingerprint::seen(scratch.incarnation, object, print);
    SEEN.get((tag >> 32) as u32 & (SEEN_ENTRIES - 1))
        .is_some_and(|known| *known & !0xff == tag & !0xff)
}

/// Looks an object up among those this CPU has seen, and queues it for copying
/// when it is new. Returns what is known about it.
#[inline(always)]
fn seen(scratch: &mut Scratch, object: u64, print: u32) -> u64 {
    let tag = fingerprint::seen(scratch.incarnation, object, print) & !0xff;
    let slot = (tag >> 32) as u32 & (SEEN_ENTRIES - 1);
    let Some(known) = SEEN.get_ptr_mut(slot) else { return 0 };
    // SAFETY: per-CPU memory; so below.
    let flags = unsafe { *known };
    if flags & !0xff == tag {
        return flags & 0xff;
    }
    let flags = if object >> ENTRY_KIND_SHIFT == ENTRY_CLASS {
        1
    } else {
        1 | class::first_argument(scratch)
    };
    let place = memory::bounded(scratch.pending_count);
    if place >= PENDING as u64 {
        count(Counter::CopyDeferred);
        return flags;
    }
    unsafe {
        *known = tag | flags;
        *scratch.pending.as_mut_ptr().add((place & (PENDING as u64 - 1)) as usize) =
            Pending { object, print, slot };
    }
    scratch.pending_count = place as u32 + 1;
    flags
}
