//! Every other fact of a report, as a name and a sentence.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use analyzer_core::report::{
    CodeRange, Dtv, GilFacts, LayoutFacts, LayoutSource, LibcFacts, Report, RuntimeFacts,
    RuntimeSource, ThreadData,
};

use crate::terms::{self, signed};

/// A fact's name and the sentence that tells it.
pub type Fact = (&'static str, String);

/// What the file is: size, build, version.
#[must_use]
pub fn of_file(report: &Report) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut add = |name, value: Option<String>| facts.extend(value.map(|value| (name, value)));
    add("Size", Some(format!("{} bytes", report.file.size)));
    add("Build id", report.file.build_id.clone());
    add("Reproducer", report.file.reproducer.then(|| "yes, cut from a larger file".to_owned()));
    if let Some(image) = &report.image {
        add("Architecture", Some(terms::arch(image.arch).to_owned()));
        add("Kind", Some(terms::kind(image.kind).to_owned()));
        add("soname", image.soname.clone());
        add("Built for", image.libc.map(|libc| terms::libc(libc).to_owned()));
        add("Needs", joined(&image.needed, ", "));
        add("Interpreter", image.interpreter.clone());
        add("Debug file", image.debug_link.clone());
        add("Symbol table", Some(if image.stripped { "stripped" } else { "present" }.to_owned()));
        add("Section headers", (!image.section_headers).then(|| "none".to_owned()));
        add(
            "TLS segment",
            image.tls.map(|tls| {
                format!("{} bytes at {}, aligned to {}", tls.memory_size, tls.address, tls.align)
            }),
        );
    }
    if let Some(python) = &report.python {
        add("Version", python.version.clone());
        let sources: Vec<String> = python
            .version_sources
            .iter()
            .map(|source| format!("{}: {}", source.source, source.value))
            .collect();
        add("Version read from", joined(&sources, "; "));
        let flavour = terms::flavour(python.flavour);
        add(
            "Flavour",
            Some(match joined(&python.flavour_evidence, "; ") {
                Some(evidence) => format!("{flavour} ({evidence})"),
                None => flavour.to_owned(),
            }),
        );
    }
    facts
}

/// What was found in it beside the routes: the runtime, the GIL, layouts, the
/// evaluation loop, the C library.
#[must_use]
pub fn of_contents(report: &Report) -> Vec<Fact> {
    let mut facts = Vec::new();
    facts.extend(report.runtime.as_ref().map(|runtime| ("_PyRuntime", self::runtime(runtime))));
    facts.extend(report.gil.as_ref().map(|gil| ("GIL", self::gil(gil))));
    facts.extend(report.layout.as_ref().map(|layout| ("Frame layout", self::layout(layout))));
    facts.extend(eval_loop(&report.eval_loop).map(|ranges| ("Evaluation loop", ranges)));
    if let Some(libc) = &report.libc {
        facts.extend(self::libc(libc));
    }
    facts
}

fn joined(parts: &[String], between: &str) -> Option<String> {
    (!parts.is_empty()).then(|| parts.join(between))
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
        GilFacts::Statics { locked: None, last_holder: None } => {
            "static variables that no symbol names".to_owned()
        }
        GilFacts::Statics { locked, last_holder } => {
            let address = |address: Option<_>| match address {
                Some(address) => format!("at {address}"),
                None => "not known".to_owned(),
            };
            let (locked, holder) = (address(*locked), address(*last_holder));
            format!("static variables: locked {locked}, last holder {holder}")
        }
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
    let count = layout.members.len();
    let source = match layout.source {
        LayoutSource::DebugOffsets => {
            format!("{count} offsets, from _Py_DebugOffsets in the file")
        }
        LayoutSource::Table => format!("{count} offsets, from the table of verified versions"),
        LayoutSource::Unknown => "not known".to_owned(),
    };
    match &layout.note {
        Some(note) => format!("{source}; {note}"),
        None => source,
    }
}

fn eval_loop(ranges: &[CodeRange]) -> Option<String> {
    let ranges: Vec<String> = ranges
        .iter()
        .map(|range| {
            format!("{}..{} ({}, from {})", range.start, range.end, range.part, range.source)
        })
        .collect();
    joined(&ranges, ", ")
}

fn libc(facts: &LibcFacts) -> Vec<Fact> {
    let mut name = terms::libc(facts.libc).to_owned();
    if let Some(version) = &facts.version {
        name += " ";
        name += version;
    }
    if let Some(sources) = joined(&facts.sources, " and ") {
        name += ", read from ";
        name += &sources;
    }
    let mut rows = Vec::from([("C library", name)]);
    rows.extend(facts.thread_data.as_ref().map(|data| ("Thread data", thread_data(data))));
    rows.extend(facts.dtv.as_ref().map(|dtv| ("TLS blocks", self::dtv(dtv))));
    if let (Some(offset), Some(module)) = (facts.link_map_tls_offset, facts.link_map_tls_modid) {
        rows.push(("Link map", format!("l_tls_offset at {offset:#x}, l_tls_modid at {module:#x}")));
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
