//! The report from its JSON text.
//!
//! The report's own types can be deserialized; the page reads them by hand,
//! for its weight's sake. The compiler sees to it that every member is read,
//! the test that every word is known.

use analyzer_core::addr::VirtAddr;
use analyzer_core::report::{
    Arch, BaselineOutcome, BaselineResult, CodeRange, Diagnosis, Dtv, Effect, FileFacts, Flavour,
    GilFacts, ImageFacts, ImageKind, LayoutFacts, LayoutMember, LayoutSource, Libc, LibcFacts,
    Outcome, PythonFacts, Reaches, Report, Route, RuntimeFacts, RuntimeSource, Status, Step,
    StepRole, StrategyResult, Strength, ThreadData, TlsModel, TlsSegment, VersionSource,
};

use crate::json::Json;

/// Reads a report.
///
/// # Errors
/// It is no JSON, or a member is missing or not what it should be; says which.
pub(crate) fn report(text: &str) -> Result<Report, String> {
    let json: Json = serde_json::from_str(text).map_err(|error| error.to_string())?;
    Report::read(json).map_err(|member| format!("`{member}` is not understood"))
}

/// The member at fault.
type Fault = &'static str;

trait Read: Sized {
    fn read(json: Json) -> Result<Self, Fault>;
}

/// Reads a member of an object.
fn member<T: Read>(json: &mut Json, name: &'static str) -> Result<T, Fault> {
    T::read(json.take(name)).map_err(|inner| if inner.is_empty() { name } else { inner })
}

impl Read for bool {
    fn read(json: Json) -> Result<Self, Fault> {
        if let Json::Truth(truth) = json { Ok(truth) } else { Err("") }
    }
}

impl Read for u64 {
    fn read(json: Json) -> Result<Self, Fault> {
        if let Json::Number(number) = json { number.try_into().or(Err("")) } else { Err("") }
    }
}

impl Read for i64 {
    fn read(json: Json) -> Result<Self, Fault> {
        if let Json::Number(number) = json { number.try_into().or(Err("")) } else { Err("") }
    }
}

impl Read for String {
    #[inline(never)]
    fn read(json: Json) -> Result<Self, Fault> {
        if let Json::Text(text) = json { Ok(text) } else { Err("") }
    }
}

impl Read for VirtAddr {
    #[inline(never)]
    fn read(json: Json) -> Result<Self, Fault> {
        let text = String::read(json)?;
        let digits = text.strip_prefix("0x").ok_or("")?;
        u64::from_str_radix(digits, 16).map(VirtAddr).or(Err(""))
    }
}

impl<T: Read> Read for Option<T> {
    fn read(json: Json) -> Result<Self, Fault> {
        if let Json::Nothing = json { Ok(None) } else { T::read(json).map(Some) }
    }
}

impl<T: Read> Read for Vec<T> {
    fn read(json: Json) -> Result<Self, Fault> {
        let Json::List(items) = json else { return Err("") };
        items.into_iter().map(T::read).collect()
    }
}

/// The value that goes by this word.
fn by_word<T: Copy>(json: Json, words: &[(&str, T)]) -> Result<T, Fault> {
    let Json::Text(text) = json else { return Err("") };
    words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value).ok_or("")
}

macro_rules! words {
    ($($name:ident: $($word:literal $variant:ident)*;)*) => {$(
        impl Read for $name {
            fn read(json: Json) -> Result<Self, Fault> {
                by_word(json, &[$(($word, $name::$variant)),*])
            }
        }
    )*};
}

words! {
    Status: "resolved" Resolved "conflict" Conflict "unresolved" Unresolved "launcher" Launcher
        "not_python" NotPython "unsupported" Unsupported "not_elf" NotElf "damaged" Damaged;
    Arch: "x86_64" X86_64 "aarch64" Aarch64;
    ImageKind: "shared" Shared "pie" Pie "executable" Executable "relocatable" Relocatable
        "core" Core "other" Other;
    Libc: "glibc" Glibc "musl" Musl;
    Flavour: "release" Release "debug" Debug "free_threaded" FreeThreaded
        "free_threaded_debug" FreeThreadedDebug;
    RuntimeSource: "symbol" Symbol "section" Section "cookie" Cookie "code" Code;
    Reaches: "owned" Owned "attached" Attached "holder" Holder;
    Strength: "corroborated" Corroborated "single" Single "contested" Contested;
    TlsModel: "local_exec" LocalExec "initial_exec" InitialExec
        "general_dynamic" GeneralDynamic "local_dynamic" LocalDynamic "descriptor" Descriptor;
    LayoutSource: "debug_offsets" DebugOffsets "table" Table "unknown" Unknown;
    Outcome: "route" Route "none" None "not_applicable" NotApplicable;
    StepRole: "branch" Branch "followed_call" FollowedCall "skipped_call" SkippedCall
        "sink" Sink "return" Return;
    BaselineOutcome: "right" Right "wrong" Wrong "fails" Fails "unverified" Unverified
        "not_applicable" NotApplicable;
}

macro_rules! members {
    ($($name:ident: $($member:ident)*;)*) => {$(
        impl Read for $name {
            fn read(mut json: Json) -> Result<Self, Fault> {
                Ok($name { $($member: member(&mut json, stringify!($member))?),* })
            }
        }
    )*};
}

members! {
    Report: schema file status image python runtime routes preference gil layout eval_loop libc
        strategies baselines diagnoses;
    FileFacts: path size build_id reproducer;
    ImageFacts: arch kind stripped section_headers soname needed interpreter debug_link libc tls;
    TlsSegment: address file_size memory_size align;
    PythonFacts: version flavour flavour_evidence version_sources;
    VersionSource: source value;
    RuntimeFacts: address size source;
    LayoutFacts: source members note;
    LayoutMember: structure member offset;
    CodeRange: start end part source;
    LibcFacts: libc version thread_data sources dtv link_map_tls_offset link_map_tls_modid;
    Dtv: pointer entry_size;
    StrategyResult: name outcome route reason detail trace;
    Effect: place value;
    BaselineResult: name outcome reason detail at value tp_offset;
    Diagnosis: code title detail remedy;
}

impl Read for Step {
    fn read(mut json: Json) -> Result<Self, Fault> {
        let json = &mut json;
        Ok(Step {
            address: member(json, "address")?,
            bytes: member(json, "bytes")?,
            text: member(json, "text")?,
            depth: member(json, "depth")?,
            function: member(json, "function")?,
            effects: member(json, "effects")?,
            role: member(json, "role")?,
            on_path: member(json, "on_path")?,
            // Older reports have none.
            origins: member::<Option<_>>(json, "origins")?.unwrap_or_default(),
        })
    }
}

/// Reads an enum whose variants have members; `tag` names the variant.
macro_rules! variants {
    ($($name:ident by $tag:literal: $($word:literal $variant:ident { $($member:ident)* })*;)*) => {$(
        impl Read for $name {
            fn read(mut json: Json) -> Result<Self, Fault> {
                let tag: String = member(&mut json, $tag)?;
                match tag.as_str() {
                    $($word => Ok($name::$variant {
                        $($member: member(&mut json, stringify!($member))?),*
                    }),)*
                    _ => Err($tag),
                }
            }
        }
    )*};
}

variants! {
    Route by "kind":
        "pthread_key" PthreadKey { reaches key_address runtime_offset strength }
        "thread_local" ThreadLocal {
            reaches model module_offset got_slot slot_offset tp_offset strength
        }
        "global" Global { reaches address runtime_offset strength };
    GilFacts by "kept_in":
        "statics" Statics { locked last_holder }
        "runtime" Runtime { locked last_holder }
        "interpreter" Interpreter { gil_pointer locked last_holder optional };
    ThreadData by "shape":
        "two_level" TwoLevel { first_block blocks block_keys slot_size value_offset }
        "array" Array { pointer };
}

#[cfg(test)]
mod tests;
