//! What else the report knows: the GIL, layouts, the evaluation loop, the C
//! library.

use analyzer_core::report::{
    CodeRange, Dtv, GilFacts, LayoutFacts, LayoutSource, LibcFacts, Report, RuntimeFacts,
    RuntimeSource, ThreadData,
};

use super::{
    super::{
        columns::{self, Cell},
        safe::plain,
        style::{self, PLAIN},
        words::{self, signed},
    },
    NAME_LIMIT, section,
};

/// A section with one row per fact, if there are any.
pub(super) fn write(out: &mut String, report: &Report, width: usize) {
    let rows = rows(report);
    if rows.is_empty() {
        return;
    }
    section(out, "Also known");
    let cells: Vec<Vec<Cell>> = rows
        .into_iter()
        .map(|(name, value)| vec![Cell::new(style::QUIET, name), Cell::new(PLAIN, value)])
        .collect();
    columns::write(out, &cells, 2, NAME_LIMIT, width);
}

/// Every fact as a name and a sentence.
pub(in crate::render) fn rows(report: &Report) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    rows.extend(report.runtime.as_ref().map(|runtime| ("_PyRuntime", self::runtime(runtime))));
    rows.extend(report.gil.as_ref().map(|gil| ("GIL", self::gil(gil))));
    rows.extend(report.layout.as_ref().map(|layout| ("frame layout", self::layout(layout))));
    if !report.eval_loop.is_empty() {
        rows.push(("eval loop", eval_loop(&report.eval_loop)));
    }
    if let Some(libc) = &report.libc {
        rows.extend(self::libc(libc));
    }
    rows
}

fn runtime(runtime: &RuntimeFacts) -> String {
    let source = match runtime.source {
        RuntimeSource::Symbol => "its symbol",
        RuntimeSource::Section => "the .PyRuntime section",
        RuntimeSource::Cookie => "the debug-offsets cookie",
        RuntimeSource::Code => "code that uses it",
    };
    match runtime.size {
        Some(size) => format!("{}, {size} bytes, from {source}", runtime.address),
        None => format!("{}, from {source}", runtime.address),
    }
}

fn gil(gil: &GilFacts) -> String {
    match gil {
        GilFacts::Statics { locked: Some(locked), last_holder: Some(holder) } => {
            format!("static variables: locked at {locked}, last holder at {holder}")
        }
        GilFacts::Statics { .. } => "static variables that no symbol names".to_owned(),
        GilFacts::Runtime { locked, last_holder } => {
            format!("in _PyRuntime: locked at {locked}, last holder at {last_holder}")
        }
        GilFacts::Interpreter { gil_pointer, locked, last_holder, optional } => format!(
            "one per interpreter: pointer {gil_pointer:#x} into PyInterpreterState; there locked at {locked:#x}, last holder at {last_holder:#x}{}",
            if *optional { "; normally switched off" } else { "" }
        ),
    }
}

fn layout(layout: &LayoutFacts) -> String {
    let source = match layout.source {
        LayoutSource::DebugOffsets => {
            format!("{} offsets, from _Py_DebugOffsets in the file", layout.members.len())
        }
        LayoutSource::Table => {
            format!("{} offsets, from the table of verified versions", layout.members.len())
        }
        LayoutSource::Unknown => "not known".to_owned(),
    };
    match &layout.note {
        Some(note) => format!("{source}; {}", plain(note)),
        None => source,
    }
}

fn eval_loop(ranges: &[CodeRange]) -> String {
    let ranges: Vec<String> = ranges
        .iter()
        .map(|range| {
            format!(
                "{}..{} ({}, from {})",
                range.start,
                range.end,
                plain(&range.part),
                plain(&range.source)
            )
        })
        .collect();
    ranges.join(", ")
}

fn libc(facts: &LibcFacts) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    let mut name = words::libc(facts.libc).to_owned();
    if let Some(version) = &facts.version {
        name += &format!(" {}", plain(version));
    }
    if !facts.sources.is_empty() {
        let sources: Vec<_> = facts.sources.iter().map(|source| plain(source)).collect();
        name += &format!(", read from {}", sources.join(" and "));
    }
    rows.push(("C library", name));
    rows.extend(facts.thread_data.as_ref().map(|data| ("thread data", thread_data(data))));
    rows.extend(facts.dtv.as_ref().map(|dtv| ("TLS blocks", self::dtv(dtv))));
    if let (Some(offset), Some(module)) = (facts.link_map_tls_offset, facts.link_map_tls_modid) {
        rows.push(("link map", format!("l_tls_offset at {offset:#x}, l_tls_modid at {module:#x}")));
    }
    rows
}

fn thread_data(data: &ThreadData) -> String {
    match data {
        ThreadData::TwoLevel { first_block, blocks, block_keys, slot_size, value_offset } => {
            format!(
                "keys below {block_keys} at thread pointer {}, {slot_size} bytes each, value {value_offset} bytes in; further keys in blocks of {block_keys} behind the pointers at thread pointer {}",
                signed(*first_block),
                signed(*blocks)
            )
        }
        ThreadData::Array { pointer } => {
            format!("an array of values behind the pointer at thread pointer {}", signed(*pointer))
        }
    }
}

fn dtv(dtv: &Dtv) -> String {
    format!(
        "entry of module n at n times {} behind the pointer at thread pointer {}",
        dtv.entry_size,
        signed(dtv.pointer)
    )
}
