//! Who holds the GIL.

use agent_ebpf::{
    status::GilState,
    target::{ABSENT, GIL_BY_CURRENT, GIL_INTERPRETER, GIL_PROCESS, Gil},
};

use super::memory;

/// The state of the GIL as seen by a thread that owns `owned`, while `current`
/// is the current state and `interpreter` the interpreter of the walked one.
#[inline(always)]
pub(super) fn state(gil: &Gil, owned: u64, current: u64, interpreter: u64) -> GilState {
    let (locked, holder) = match gil.kind {
        GIL_PROCESS => (gil.locked, gil.holder),
        GIL_INTERPRETER => {
            if interpreter == 0 {
                return GilState::NO_INFO;
            }
            let Ok(place) = memory::user::<u64>(interpreter + u64::from(gil.interpreter_gil))
            else {
                return GilState::ERROR;
            };
            if place == 0 {
                return GilState::UNINITIALIZED;
            }
            if gil.enabled_offset != ABSENT {
                match memory::user::<i32>(place + u64::from(gil.enabled_offset)) {
                    Ok(0) => return GilState::DISABLED,
                    Ok(_) => {}
                    Err(_) => return GilState::ERROR,
                }
            }
            (place + u64::from(gil.locked_offset), place + u64::from(gil.holder_offset))
        }
        GIL_BY_CURRENT => return held_by(current, owned, current),
        _ => return GilState::NO_INFO,
    };
    match memory::user::<i32>(locked) {
        Ok(-1) => GilState::UNINITIALIZED,
        Ok(0) => GilState::NOT_LOCKED,
        Ok(1) => match memory::user::<u64>(holder) {
            Ok(0) => GilState::NULL,
            Ok(holder) => held_by(holder, owned, current),
            Err(_) => GilState::ERROR,
        },
        _ => GilState::ERROR,
    }
}

#[inline(always)]
fn held_by(holder: u64, owned: u64, current: u64) -> GilState {
    if holder == 0 {
        GilState::NOT_LOCKED
    } else if holder == owned {
        GilState::THIS_THREAD
    } else if holder == current {
        GilState::GLOBAL_CURRENT_THREAD
    } else {
        GilState::OTHER_THREAD
    }
}
