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
        Route::ThreadLocal { model, module_offset, got_slot, tp_offset, .. } => {
            let slot = |word: u64| {
                let slot = got_slot.ok_or_else(|| io::Error::other("the route has no GOT slot"))?;
                process.word(bias.wrapping_add(slot.0).wrapping_add(word * 8))
            };
            let offset =
                || module_offset.ok_or_else(|| io::Error::other("the route has no module offset"));
            let address =
                match model {
                    TlsModel::LocalExec => Some(thread.at(
                        tp_offset.ok_or_else(|| io::Error::other("the route has no tp offset"))?,
                    )),
                    TlsModel::InitialExec => Some(thread.at(slot(0)?.cast_signed())),
                    TlsModel::GeneralDynamic => {
                        let said = offset()?;
                        let held = slot(1)?;
                        if held != said {
                            return Err(io::Error::other(format!(
                                "the GOT pair holds offset {held:#x}, the route says {said:#x}"
                            )));
                        }
                        thread.block(process, slot(0)?)?.map(|block| block.wrapping_add(said))
                    }
                    TlsModel::LocalDynamic => {
                        let said = offset()?;
                        thread.block(process, slot(0)?)?.map(|block| block.wrapping_add(said))
                    }
                    TlsModel::Descriptor => descriptor(process, thread, slot(1)?, offset()?)?,
                };
            address.map_or(Ok(0), |address| process.word(address))
        }
    }
}

/// The variable's address from the argument word of its TLS descriptor.
///
/// glibc (sysdeps/aarch64/dl-tlsdesc.h): for a module loaded at start the
/// argument is the offset from the thread pointer; for one loaded later it
/// points to a `tlsdesc_dynamic_arg`, a module id and an offset.
fn descriptor(
    process: &Process,
    thread: Thread,
    argument: u64,
    module_offset: u64,
) -> io::Result<Option<u64>> {
    /// Static TLS is a few pages at most; no object is allocated this low.
    const STATIC_LIMIT: u64 = 1 << 24;
    if argument.cast_signed().unsigned_abs() < STATIC_LIMIT {
        return Ok(Some(thread.at(argument.cast_signed())));
    }
    let module = process.word(argument)?;
    let offset = process.word(argument + 8)?;
    if offset != module_offset {
        return Err(io::Error::other(format!(
            "the descriptor holds offset {offset:#x}, the route says {module_offset:#x}"
        )));
    }
    Ok(thread.block(process, module)?.map(|block| block.wrapping_add(offset)))
}
