//! A route: its kind, its answer, what it reaches and how strongly it stands.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};

use analyzer_core::addr::VirtAddr;
use analyzer_core::report::{Reaches, Route, Strength};

use crate::terms::{self, signed};

/// What the route goes by.
#[must_use]
pub fn kind(route: &Route) -> &'static str {
    match route {
        Route::PthreadKey { .. } => "pthread key",
        Route::ThreadLocal { .. } => "thread-local variable",
        Route::Global { .. } => "global pointer",
    }
}

/// Which state it reaches.
#[must_use]
pub fn reaches(route: &Route) -> Reaches {
    match *route {
        Route::PthreadKey { reaches, .. }
        | Route::ThreadLocal { reaches, .. }
        | Route::Global { reaches, .. } => reaches,
    }
}

/// How strongly it stands.
#[must_use]
pub fn strength(route: &Route) -> Strength {
    match *route {
        Route::PthreadKey { strength, .. }
        | Route::ThreadLocal { strength, .. }
        | Route::Global { strength, .. } => strength,
    }
}

/// Its answer, short enough for a table.
#[must_use]
pub fn answer(route: &Route) -> String {
    match route {
        Route::PthreadKey { key_address, runtime_offset, .. } => {
            place(*key_address, *runtime_offset)
        }
        Route::ThreadLocal { module_offset, tp_offset, got_slot, .. } => {
            match (tp_offset, module_offset, got_slot) {
                (Some(offset), ..) => format!("thread pointer {}", signed(*offset)),
                (None, Some(offset), _) => format!("TLS block + {offset:#x}"),
                (None, None, Some(slot)) => format!("offset in GOT slot {slot}"),
                (None, None, None) => "an unknown offset".to_owned(),
            }
        }
        Route::Global { address, runtime_offset, .. } => place(*address, *runtime_offset),
    }
}

/// What else tells where it leads: the address of what [`answer`] gives as a
/// distance, the access model, the GOT slot.
#[must_use]
pub fn detail(route: &Route) -> Option<String> {
    match route {
        Route::PthreadKey { key_address: address, runtime_offset, .. }
        | Route::Global { address, runtime_offset, .. } => {
            runtime_offset.map(|_| address.to_string())
        }
        Route::ThreadLocal { model, got_slot, .. } => {
            let model = terms::model(*model);
            Some(match got_slot {
                Some(slot) => format!("{model}, GOT slot {slot}"),
                None => model.to_owned(),
            })
        }
    }
}

/// `_PyRuntime + 0x60c`, or the address where there is no runtime.
pub(crate) fn place(address: VirtAddr, runtime_offset: Option<u64>) -> String {
    runtime_offset.map_or_else(|| address.to_string(), |offset| format!("_PyRuntime + {offset:#x}"))
}
