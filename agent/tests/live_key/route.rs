//! Follows a report's route in a process, as a profiler does.

use std::io;

use analyzer_core::report::{Route, TlsModel};

use crate::process::Process;
use crate::storage::Thread;

/// What the route yields for the thread, 0 for no state.
///
/// `bias` is the load bias of the image that the report is about.
///
/// # Errors
/// The route leads nowhere in this process.
pub(crate) fn follow(
    route: &Route,
    process: &Process,
    bias: u64,
    thread: Thread,
) -> io::Result<u64> {
    match *route {
        Route::PthreadKey { key_address, .. } => {
            let key = process.int(bias.wrapping_add(key_address.0))?;
            let key = u64::try_from(key)
                .map_err(|_| io::Error::other(format!("{key} at the key's address is no key")))?;
            thread.specific(process, key)
        }
        Route::Global { address, .. } => process.word(bias.wrapping_add(address.0)),
        Route::ThreadLocal { model, module_offset, got_slot, slot_offset, tp_offset, .. } => {
            let words = || {
                let slot = missing(got_slot, "GOT slot")?.0.wrapping_add(bias);
                Ok::<_, io::Error>([process.word(slot)?, process.word(slot.wrapping_add(8))?])
            };
            let variable = || missing(module_offset, "module offset");
            let address = match model {
                TlsModel::LocalExec => Some(thread.at(missing(tp_offset, "tp offset")?)),
                TlsModel::InitialExec => {
                    let [place, _] = words()?;
                    let beyond = variable()?.wrapping_sub(missing(slot_offset, "slot offset")?);
                    Some(thread.at(place.cast_signed()).wrapping_add(beyond))
                }
                TlsModel::GeneralDynamic | TlsModel::LocalDynamic => {
                    let [module, _] = words()?;
                    let variable = variable()?;
                    thread.block(process, module)?.map(|block| block.wrapping_add(variable))
                }
                TlsModel::Descriptor => {
                    let [_, argument] = words()?;
                    let beyond = variable()?.wrapping_sub(missing(slot_offset, "slot offset")?);
                    descriptor(process, thread, argument)?.map(|place| place.wrapping_add(beyond))
                }
            };
            address.map_or(Ok(0), |address| process.word(address))
        }
    }
}

fn missing<T>(member: Option<T>, name: &str) -> io::Result<T> {
    member.ok_or_else(|| io::Error::other(format!("the route has no {name}")))
}

/// The address that a TLS descriptor yields, from its argument word.
///
/// glibc (sysdeps/aarch64/dl-tlsdesc.h): for a module loaded at start the
/// argument is the offset from the thread pointer; for one loaded later it
/// points to a `tlsdesc_dynamic_arg`, a module id and an offset.
fn descriptor(process: &Process, thread: Thread, argument: u64) -> io::Result<Option<u64>> {
    /// Static TLS is a few pages at most; no object is allocated this low.
    const STATIC_LIMIT: u64 = 1 << 24;
    if argument.cast_signed().unsigned_abs() < STATIC_LIMIT {
        return Ok(Some(thread.at(argument.cast_signed())));
    }
    let module = process.word(argument)?;
    let offset = process.word(argument.wrapping_add(8))?;
    Ok(thread.block(process, module)?.map(|block| block.wrapping_add(offset)))
}
