//! How a profiler walks a route, station by station.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use analyzer_core::report::{Arch, Reaches, Report, Route, TlsModel};

use crate::route::place;
use crate::terms::{capital, reaches, signed, thread_pointer};

/// One station on the way from a thread to its `PyThreadState`.
#[derive(Clone, Debug)]
pub struct Station {
    /// What is there.
    pub title: String,
    /// Where, or how it is read; to be shown as code.
    pub place: String,
    /// In words.
    pub words: String,
    /// How often: `once per process`, `each sample`.
    pub when: &'static str,
}

const EACH: &str = "each sample";
const ONCE: &str = "once per process";

/// The stations of a route, in the order in which they are passed.
#[must_use]
pub fn stations(report: &Report, route: &Route) -> Vec<Station> {
    let arch = report.image.as_ref().map_or(Arch::X86_64, |image| image.arch);
    let pointer = Station {
        title: "Thread pointer".into(),
        place: thread_pointer(arch).into(),
        words: "Of the thread that is sampled; the kernel keeps it.".into(),
        when: EACH,
    };
    match route {
        Route::PthreadKey { reaches: which, key_address, runtime_offset, .. } => vec![
            Station {
                title: "The key".into(),
                place: format!("int at {}", place(*key_address, *runtime_offset)),
                words: format!("Read 4 bytes at {key_address} plus the load bias."),
                when: ONCE,
            },
            pointer,
            Station {
                title: "Slot of the key".into(),
                place: "pthread_getspecific(key)".into(),
                words: "The C library's table of this thread, at the place its own report tells."
                    .into(),
                when: EACH,
            },
            state(*which),
        ],
        Route::ThreadLocal { .. } => thread_local(route, pointer),
        Route::Global { reaches: which, address, runtime_offset, .. } => vec![
            Station {
                title: "The pointer".into(),
                place: place(*address, *runtime_offset),
                words: format!("Read 8 bytes at {address} plus the load bias."),
                when: EACH,
            },
            state(*which),
            Station {
                title: "Is it this thread?".into(),
                place: "thread_id".into(),
                words: "Compare the thread id in the state with the sampled thread's.".into(),
                when: EACH,
            },
        ],
    }
}

/// The stations of a [`Route::ThreadLocal`]; none of another route.
fn thread_local(route: &Route, pointer: Station) -> Vec<Station> {
    let Route::ThreadLocal {
        reaches, model, module_offset, got_slot, slot_offset, tp_offset, ..
    } = route
    else {
        return Vec::new();
    };
    let slot = got_slot.map_or_else(|| "in the GOT".to_owned(), |slot| format!("at {slot}"));
    let block = module_offset.map_or_else(
        || "the module's TLS block".to_owned(),
        |offset| format!("TLS block + {offset:#x}"),
    );
    // The slot may lead to another variable of the block.
    let beyond = module_offset
        .zip(*slot_offset)
        .and_then(|(variable, slot)| i64::try_from(i128::from(variable) - i128::from(slot)).ok())
        .filter(|&beyond| beyond != 0);
    let and_beyond = beyond.map_or_else(String::new, |beyond| format!(" {}", signed(beyond)));
    let neighbour = beyond.map_or_else(String::new, |beyond| {
        format!(" The word leads to a neighbour; the code goes on by {}.", signed(beyond))
    });
    let once = |title: &str, place: String, words: String| Station {
        title: title.into(),
        place,
        words,
        when: ONCE,
    };
    let variable = |place: String, words: &str| Station {
        title: "The variable".into(),
        place,
        words: words.into(),
        when: EACH,
    };
    let mut stations = Vec::new();
    let last = match (tp_offset, model) {
        (Some(distance), _) => variable(
            format!("thread pointer {}", signed(*distance)),
            "A fixed distance, read from the code.",
        ),
        (None, TlsModel::LocalExec) => {
            variable(block, "In the program's own block, at a distance fixed when it was linked.")
        }
        (None, TlsModel::InitialExec) => {
            stations.push(once(
                "The distance",
                format!("word {slot}"),
                format!(
                    "Read 8 bytes there plus the load bias; the loader has filled them.{neighbour}"
                ),
            ));
            variable(format!("thread pointer + distance{and_beyond}"), "Read the pointer there.")
        }
        (None, TlsModel::Descriptor) => {
            stations.push(once(
                "The descriptor",
                format!("two words {slot}"),
                format!(
                    "Where the block has a fixed place, the second word is the distance from the thread pointer; \
                     else it leads to the module's number and the offset.{neighbour}"
                ),
            ));
            variable(
                format!("thread pointer + distance{and_beyond}"),
                "Or the same offset in the module's block, found through the thread's DTV.",
            )
        }
        (None, TlsModel::GeneralDynamic | TlsModel::LocalDynamic) => {
            stations.push(once(
                "Module number",
                format!("word {slot}"),
                "The loader writes the number of the module's TLS block there.".into(),
            ));
            variable(block, "In the block of that number, found through the thread's DTV.")
        }
    };
    stations.extend([pointer, last, state(*reaches)]);
    stations
}

fn state(which: Reaches) -> Station {
    Station {
        title: "PyThreadState".into(),
        place: "PyThreadState *".into(),
        words: capital(&format!("{}.", reaches(which))),
        when: EACH,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analyzer_core::addr::VirtAddr;
    use analyzer_core::report::Strength;

    fn route(model: TlsModel, module_offset: Option<u64>, slot_offset: Option<u64>) -> Route {
        Route::ThreadLocal {
            reaches: Reaches::Owned,
            model,
            module_offset,
            got_slot: Some(VirtAddr(0x4000)),
            slot_offset,
            tp_offset: None,
            strength: Strength::Corroborated,
        }
    }

    fn walk(route: &Route) -> Vec<(String, String)> {
        let pointer = Station {
            title: "Thread pointer".into(),
            place: "fs base".into(),
            words: String::new(),
            when: EACH,
        };
        let words = |station: Station| (station.place, station.words);
        thread_local(route, pointer).into_iter().map(words).collect()
    }

    #[test]
    fn a_slot_that_leads_to_a_neighbour_is_told_with_the_rest_of_the_way() {
        for model in [TlsModel::InitialExec, TlsModel::Descriptor] {
            let stations = walk(&route(model, Some(0x18), Some(0x8)));
            assert!(stations[0].0.ends_with("at 0x4000"), "{stations:?}");
            assert!(stations[0].1.ends_with("the code goes on by + 0x10."), "{stations:?}");
            assert_eq!(stations[2].0, "thread pointer + distance + 0x10");
            let backwards = walk(&route(model, Some(0x8), Some(0x18)));
            assert_eq!(backwards[2].0, "thread pointer + distance - 0x10");
        }
    }

    #[test]
    fn a_slot_of_the_variable_itself_needs_no_more() {
        for slot in [Some(0x18), None] {
            let stations = walk(&route(TlsModel::InitialExec, Some(0x18), slot));
            assert_eq!(stations[2].0, "thread pointer + distance");
            assert!(!stations[0].1.contains("neighbour"));
        }
    }

    #[test]
    fn dynamic_models_go_by_the_module_number() {
        let stations = walk(&route(TlsModel::GeneralDynamic, Some(0x18), None));
        assert_eq!(stations[0].0, "word at 0x4000");
        assert_eq!(stations[2].0, "TLS block + 0x18");
    }
}
