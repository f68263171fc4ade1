//! How a profiler walks a route, station by station.

use analyzer_core::report::{Arch, Reaches, Report, Route, TlsModel};

use super::{place, reaches, signed, thread_pointer};

/// One station on the way from a thread to its `PyThreadState`.
pub(crate) struct Station {
    /// What is there.
    pub(crate) title: String,
    /// Where, or how it is read; shown as code.
    pub(crate) place: String,
    /// In words.
    pub(crate) words: String,
    /// How often: `once per process`, `each sample`.
    pub(crate) when: &'static str,
}

const EACH: &str = "each sample";
const ONCE: &str = "once per process";

/// The stations of a route, the thread first.
pub(crate) fn stations(report: &Report, route: &Route) -> Vec<Station> {
    let arch = report.image.as_ref().map_or(Arch::X86_64, |image| image.arch);
    let pointer = Station {
        title: "Thread pointer".into(),
        place: thread_pointer(arch).into(),
        words: "Of the thread that is sampled; the kernel keeps it.".into(),
        when: EACH,
    };
    let state = |which: Reaches| Station {
        title: "PyThreadState".into(),
        place: "PyThreadState *".into(),
        words: super::verdict::capital(&format!("{}.", reaches(which))),
        when: EACH,
    };
    match route {
        Route::PthreadKey { reaches, key_address, runtime_offset, .. } => vec![
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
            state(*reaches),
        ],
        Route::ThreadLocal { reaches, model, module_offset, got_slot, tp_offset, .. } => {
            let slot = got_slot.map_or_else(|| "GOT".to_owned(), |slot| format!("GOT slot {slot}"));
            let offset = module_offset.unwrap_or_default();
            let variable = match (tp_offset, model) {
                (Some(distance), _) => Station {
                    title: "The variable".into(),
                    place: format!("thread pointer {}", signed(*distance)),
                    words: "A fixed distance, read from the code.".into(),
                    when: EACH,
                },
                (None, TlsModel::InitialExec | TlsModel::LocalExec) => Station {
                    title: "The variable".into(),
                    place: format!("thread pointer + word at {slot}"),
                    words: "The loader writes the distance into that word.".into(),
                    when: EACH,
                },
                (None, _) => Station {
                    title: "The variable".into(),
                    place: format!("TLS block + {offset:#x}"),
                    words: "In the block of this module, found through the thread's DTV.".into(),
                    when: EACH,
                },
            };
            let mut stations = Vec::new();
            if tp_offset.is_none() && !matches!(model, TlsModel::InitialExec | TlsModel::LocalExec)
            {
                stations.push(Station {
                    title: "Module number".into(),
                    place: slot,
                    words: "The loader writes the number of the module's TLS block there.".into(),
                    when: ONCE,
                });
            }
            stations.extend([pointer, variable, state(*reaches)]);
            stations
        }
        Route::Global { reaches, address, runtime_offset, .. } => vec![
            Station {
                title: "The pointer".into(),
                place: place(*address, *runtime_offset),
                words: format!("Read 8 bytes at {address} plus the load bias."),
                when: EACH,
            },
            state(*reaches),
            Station {
                title: "Is it this thread?".into(),
                place: "thread_id".into(),
                words: "Compare the thread id in the state with the sampled thread's.".into(),
                when: EACH,
            },
        ],
    }
}
