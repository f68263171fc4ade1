//! The class of a method's first argument (to 3.10, which has no qualified names).

use agent_ebpf::{
    event::{ENTRY_CLASS, ENTRY_KIND_SHIFT, Entry, NO_INSTRUCTION},
    fingerprint,
    limit::CODE_BYTES,
    target::{ABSENT, Objects, STRING_BYTES},
};

use super::{
    maps::Scratch,
    memory::{self, Fault},
};

/// What the lowest byte in `SEEN` says of a code object: its first argument is called `self`.
pub(super) const FIRST_IS_SELF: u64 = 2;
/// Its first argument is called `cls`.
pub(super) const FIRST_IS_CLS: u64 = 4;

/// `Py_TPFLAGS_TYPE_SUBCLASS` (Include/object.h): the flag of a metatype.
const TYPE_SUBCLASS: u64 = 1 << 31;

/// `self` and `cls` as the first bytes of a string, with its end.
const SELF: u64 = u64::from_le_bytes(*b"self\0\0\0\0") & 0xff_ffff_ffff;
const CLS: u64 = u64::from_le_bytes(*b"cls\0\0\0\0\0") & 0xffff_ffff;

/// Whether a code object, whose bytes are in `code_bytes`, is a method by the
/// name of its first argument.
#[inline(always)]
pub(super) fn first_argument(scratch: &Scratch) -> u64 {
    let objects = &scratch.objects;
    if objects.code_variables == ABSENT {
        return 0;
    }
    name_of_first(objects, scratch.code_bytes.as_ptr()).map_or(0, |name| {
        if name & 0xff_ffff_ffff == SELF {
            FIRST_IS_SELF
        } else if name & 0xffff_ffff == CLS {
            FIRST_IS_CLS
        } else {
            0
        }
    })
}

#[inline(always)]
fn name_of_first(objects: &Objects, code: *const u8) -> Result<u64, Fault> {
    // SAFETY: the buffer has the size that `field` is told.
    let arguments: i32 =
        unsafe { memory::field::<_, { CODE_BYTES as u32 }>(code, objects.code_argument_count) };
    if arguments < 1 {
        return Err(Fault);
    }
    // SAFETY: as above.
    let names: u64 =
        unsafe { memory::field::<_, { CODE_BYTES as u32 }>(code, objects.code_variables) };
    if objects.tuple_type != 0
        && memory::user::<u64>(names + u64::from(objects.object_type))? != objects.tuple_type
    {
        return Err(Fault);
    }
    let name: u64 = memory::user(names + u64::from(objects.tuple_items))?;
    if objects.string_type != 0
        && memory::user::<u64>(name + u64::from(objects.object_type))? != objects.string_type
    {
        return Err(Fault);
    }
    let data = if objects.string_style == STRING_BYTES {
        objects.bytes_data
    } else {
        objects.string_ascii_data
    };
    memory::user(name + u64::from(data))
}

/// The entry that notes the class of the frame's first argument. The type is
/// not checked here but when it is first seen; see [`is_type`].
#[inline(always)]
pub(super) fn of_first_argument(scratch: &Scratch, frame: u64, flags: u64) -> Result<Entry, Fault> {
    let objects = &scratch.objects;
    let mut object: u64 = memory::user(frame + u64::from(scratch.walk.locals))?;
    if object == 0 {
        return Err(Fault);
    }
    if flags & FIRST_IS_SELF != 0 {
        object = memory::user(object + u64::from(objects.object_type))?;
    }
    let name: u64 = memory::user(object + u64::from(objects.type_name))?;
    Ok(Entry {
        object: object & ((1 << ENTRY_KIND_SHIFT) - 1) | ENTRY_CLASS << ENTRY_KIND_SHIFT,
        print: fingerprint::class(name),
        instruction: NO_INSTRUCTION,
    })
}

/// Whether an object is a type: its own type is a metatype.
#[inline(always)]
pub(super) fn is_type(objects: &Objects, object: u64) -> bool {
    memory::user::<u64>(object + u64::from(objects.object_type))
        .and_then(|metatype| memory::user::<u64>(metatype + u64::from(objects.type_flags)))
        .is_ok_and(|flags| flags & TYPE_SUBCLASS != 0)
}
