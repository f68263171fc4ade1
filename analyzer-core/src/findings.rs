//! Which diagnoses apply to a file.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use crate::{
    addr::VirtAddr,
    bundle,
    code::{
        self,
        ir::{Address, BinaryOp, Flow, Lifted, Op, Operand, Reg, Target},
    },
    diagnosis::{self, Code},
    frames::Frames,
    identity::{Identity, Role},
    image::Image,
    report::{
        Diagnosis, Flavour, ImageKind, LayoutSource, Route, RuntimeSource, StepRole, TlsModel,
    },
    search::contains,
    strategies::{self, Attempt, Evidence, Finding, Reason},
    verdict::Verdict,
};

/// What the findings are drawn from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Examined<'e, 'a, 'd> {
    /// The image.
    pub(crate) image: &'a Image<'d>,
    /// What it is.
    pub(crate) identity: &'e Identity,
    /// What each strategy did; with evidence where explorations were recorded.
    pub(crate) attempts: &'e [Attempt<'a, 'd>],
    /// What they amount to.
    pub(crate) verdict: &'e Verdict,
    /// What is known for walking frames.
    pub(crate) frames: &'e Frames,
    /// The image holds a C library.
    pub(crate) is_libc: bool,
}

/// Everything there is to say about a file, most important first.
#[must_use]
pub(crate) fn of(examined: &Examined<'_, '_, '_>) -> Vec<Diagnosis> {
    let mut findings = Vec::new();
    about_outcome(examined, &mut findings);
    about_code(examined, &mut findings);
    about_version(examined, &mut findings);
    about_frames(examined, &mut findings);
    about_file(examined, &mut findings);
    findings
}

fn about_outcome(examined: &Examined<'_, '_, '_>, findings: &mut Vec<Diagnosis>) {
    let Examined { identity, attempts, verdict, image, .. } = examined;
    match &identity.role {
        Role::Launcher { library } => {
            let mut finding = diagnosis::new(
                Code::Launcher,
                match library {
                    Some(library) => format!("It links to {library}, which holds the runtime."),
                    None => "It starts a Python runtime that it does not hold, and no needed \
                             library is named like one."
                        .to_string(),
                },
            );
            if let Some(library) = library {
                finding.remedy = format!(
                    "Inspect {library}: `ldd` on this file shows its path, or `keyhole inspect \
                     --pid PID` finds it in a running process."
                );
            }
            findings.push(finding);
        }
        Role::Other if examined.is_libc => findings.push(diagnosis::new(
            Code::CLibrary,
            "It holds a C library: the report says how thread-specific data is found.",
        )),
        Role::Other => findings.push(diagnosis::new(
            Code::NotPython,
            "It defines none of _PyRuntime, Py_Version, PyGILState_Ensure and PyThreadState_Get, \
             has no .PyRuntime section, and links to no libpython.",
        )),
        Role::Runtime => {
            if verdict.conflict {
                findings.push(diagnosis::new(Code::StrategiesDisagree, claims(attempts)));
            }
            if verdict.routes.is_empty() {
                findings.push(diagnosis::new(Code::NoRoute, reasons(attempts)));
            }
        }
    }
    if let Some(address) = image.copy_relocated("_PyRuntime") {
        findings.push(diagnosis::new(
            Code::CopyRelocatedRuntime,
            format!("At run time _PyRuntime is this file's copy at {address}."),
        ));
    }
}

/// Who claims what, for a conflict.
fn claims(attempts: &[Attempt<'_, '_>]) -> String {
    let mut text = String::new();
    for attempt in attempts {
        if let Ok(finding) = attempt.found {
            if !text.is_empty() {
                text.push_str("; ");
            }
            text.push_str(&format!("{}: {}", attempt.name, describe(finding)));
        }
    }
    text
}

fn describe(finding: Finding) -> String {
    match finding {
        Finding::Key { address } => format!("key at {address}"),
        Finding::Global { address, .. } => format!("pointer at {address}"),
        Finding::ThreadLocal { variable, .. } => match (variable.module_offset, variable.tp_offset)
        {
            (Some(offset), _) => format!("TLS offset {offset:#x}"),
            (None, Some(offset)) => format!("thread-pointer offset {offset}"),
            (None, None) => "a thread-local variable".to_string(),
        },
    }
}

/// Why each strategy that applies found nothing.
fn reasons(attempts: &[Attempt<'_, '_>]) -> String {
    let mut text = String::new();
    for attempt in attempts {
        if let Err(reason) = attempt.found
            && !reason.is_not_applicable()
        {
            if !text.is_empty() {
                text.push_str("; ");
            }
            text.push_str(&format!("{}: {reason}", attempt.name));
        }
    }
    if text.is_empty() {
        text.push_str("No strategy applies: the file defines none of the functions and symbols.");
    }
    text
}

fn about_code(examined: &Examined<'_, '_, '_>, findings: &mut Vec<Diagnosis>) {
    let mut seen = Vec::new();
    for attempt in examined.attempts {
        let Some(evidence) = &attempt.evidence else { continue };
        if let Err(Reason::NoSink) = attempt.found
            && evidence.exploration.incomplete.is_some()
        {
            raise(
                findings,
                &mut seen,
                Code::WorkLimitReached,
                format!("{} was not followed to its end.", attempt.name),
            );
        }
        if attempt.found.is_err() {
            continue;
        }
        for (code, detail) in shapes(examined.image, evidence, &attempt.name) {
            raise(findings, &mut seen, code, detail);
        }
    }
    let tls_in_library = examined.verdict.routes.iter().any(
        |route| matches!(route, Route::ThreadLocal { model, .. } if *model != TlsModel::LocalExec),
    );
    if tls_in_library {
        findings.push(diagnosis::new(
            Code::TlsInSharedLibrary,
            "The code asks the dynamic linker for the variable's place.",
        ));
    }
}

fn raise(findings: &mut Vec<Diagnosis>, seen: &mut Vec<Code>, code: Code, detail: String) {
    if !seen.contains(&code) {
        seen.push(code);
        findings.push(diagnosis::new(code, detail));
    }
}

/// What about this code makes it hard for simpler decoders.
fn shapes(image: &Image<'_>, evidence: &Evidence<'_, '_>, name: &str) -> Vec<(Code, String)> {
    let function = name.rsplit(':').next().unwrap_or(name);
    let steps = evidence.explorer.trace().steps();
    let on_path = evidence.explorer.on_path(&evidence.exploration);
    let mut shapes = Vec::new();
    let argument = code::abi(image.arch()).args.first().copied();
    let mut lifted = Lifted::new();
    let mut argument_is_number = false;
    let mut called = false;
    for (step, on_path) in steps.iter().zip(&on_path) {
        let bytes = image.bytes_from(step.address, step.len.into());
        if code::lift(image.arch(), bytes, step.address, &mut lifted).is_err() {
            continue;
        }
        for op in &lifted.ops {
            match *op {
                Op::Move { dst, src: Operand::Reg(src), .. }
                    if Some(dst) == argument && *on_path && called && is_saved(image, src) =>
                {
                    shapes.push((
                        Code::KeyInCalleeSavedRegister,
                        format!(
                            "In {function} the argument is copied from {} at {}, behind a call.",
                            code::reg_name(image.arch(), src),
                            step.address
                        ),
                    ));
                }
                Op::Binary { op: BinaryOp::Add, dst, left: Operand::Reg(left), .. }
                    if Some(dst) == argument && left == dst && *on_path && argument_is_number =>
                {
                    shapes.push((
                        Code::OffsetBeforeBase,
                        format!(
                            "In {function} the argument holds a mere offset until {} adds the \
                             base.",
                            step.address
                        ),
                    ));
                }
                _ => {}
            }
            if let Op::Move { dst, src, .. } = *op
                && Some(dst) == argument
            {
                argument_is_number = matches!(src, Operand::Const(_));
            }
        }
        if matches!(
            step.role,
            Some(StepRole::SkippedCall | StepRole::FollowedCall | StepRole::Sink)
        ) {
            called = true;
        }
    }
    shapes.extend(first_call(image, evidence, function));
    shapes.extend(far_code(image, evidence, function));
    shapes
}

fn is_saved(image: &Image<'_>, reg: Reg) -> bool {
    code::abi(image.arch()).callee_saved.contains(&reg)
}

/// The first call is not the one that consumes the key.
fn first_call(
    image: &Image<'_>,
    evidence: &Evidence<'_, '_>,
    function: &str,
) -> Option<(Code, String)> {
    let step = evidence.explorer.trace().steps().iter().find(|step| {
        step.depth == 0
            && matches!(
                step.role,
                Some(StepRole::SkippedCall | StepRole::FollowedCall | StepRole::Sink)
            )
    })?;
    let called = called(image, step.address)?;
    let at = step.address;
    if strategies::is_instrumentation(called) {
        let detail = format!("{function} calls {called} at {at} before anything else.");
        return Some((Code::InstrumentedEntry, detail));
    }
    if called == "PyThread_tss_is_created" {
        let detail = format!("The first call of {function}, at {at}, is to {called}.");
        return Some((Code::FirstCallIsCreatedTest, detail));
    }
    let answers =
        ["PyThread_tss_get", "PyThread_get_key_value", "pthread_getspecific", "__tls_get_addr"];
    if step.role == Some(StepRole::FollowedCall) && !answers.contains(&called) {
        let detail = format!("{function} gets its answer from {called}, which it calls at {at}.");
        return Some((Code::GetterFollowsCall, detail));
    }
    None
}

/// Name of the function that the instruction at `site` calls.
fn called<'d>(image: &Image<'d>, site: VirtAddr) -> Option<&'d str> {
    let mut lifted = Lifted::new();
    let bytes = image.bytes_from(site, code::MAX_INSTRUCTION_LEN);
    code::lift(image.arch(), bytes, site, &mut lifted).ok()?;
    match lifted.flow {
        Flow::Call(Target::Address(address)) => {
            image.callee(address).name.or_else(|| Some(image.function_at(address)?.name))
        }
        Flow::Call(Target::Memory(Address {
            base: Operand::Pc(base),
            index: None,
            displacement,
            ..
        })) => image.slot_target(VirtAddr(base.0.wrapping_add(displacement)))?.name,
        _ => None,
    }
}

/// Steps of the function itself that lie outside of its symbol.
fn far_code(
    image: &Image<'_>,
    evidence: &Evidence<'_, '_>,
    function: &str,
) -> Option<(Code, String)> {
    let home = image.unwind_range(evidence.entry)?;
    let steps = evidence.explorer.trace().steps();
    let step = steps.iter().find(|step| {
        step.function == evidence.entry
            && !home.contains(step.address)
            && !is_function(image, step.address)
    })?;
    Some((
        Code::AnswerInColdCode,
        format!(
            "{function} goes on at {}, outside of {} to {}.",
            step.address, home.start, home.end
        ),
    ))
}

/// Whether a function of its own, and no split-off part of one, holds `address`.
fn is_function(image: &Image<'_>, address: VirtAddr) -> bool {
    image.function_at(address).is_some_and(|function| !contains(function.name.as_bytes(), b".cold"))
}

fn about_version(examined: &Examined<'_, '_, '_>, findings: &mut Vec<Diagnosis>) {
    let Examined { identity, attempts, .. } = examined;
    if identity.role != Role::Runtime {
        return;
    }
    match identity.version {
        None => findings.push(diagnosis::new(
            Code::VersionUnknown,
            "No debug offsets, no Py_Version, no text in Py_GetVersion, no library name.",
        )),
        Some(version) => {
            let supported = match version.major {
                2 => version.minor == 7,
                _ => (3..=15).contains(&version.minor),
            };
            if !supported {
                findings
                    .push(diagnosis::new(Code::VersionUnsupported, format!("This is {version}.")));
            }
            if version.major == 2 {
                findings.push(diagnosis::new(
                    Code::NoKeyInPython27,
                    "autoTLSkey indexes a linked list that Python/thread.c keeps itself.",
                ));
            }
            if version.at_least(3, 15) {
                findings.push(diagnosis::new(
                    Code::NoKeyInPython315,
                    "The owned state is in the thread-local variable _Py_tss_gilstate.",
                ));
            }
        }
    }
    if identity.version_disagreement {
        let sources = identity
            .version_sources
            .iter()
            .map(|source| format!("{} says {}", source.source, source.value))
            .collect::<Vec<_>>()
            .join(", ");
        findings.push(diagnosis::new(Code::VersionDisagreement, format!("{sources}.")));
    }
    if attempts.iter().any(|attempt| attempt.found == Err(Reason::OffsetUnknown)) {
        findings.push(diagnosis::new(
            Code::OffsetTableUnknown,
            "The table has no proven offset for this version, flavour, architecture and C library.",
        ));
    }
    let evidence = identity.flavour_evidence.join("; ");
    match identity.flavour {
        Flavour::Release => {}
        Flavour::Debug => findings.push(diagnosis::new(Code::DebugBuild, evidence)),
        Flavour::FreeThreaded => findings.push(diagnosis::new(Code::FreeThreaded, evidence)),
        Flavour::FreeThreadedDebug => {
            findings.push(diagnosis::new(Code::FreeThreaded, evidence.clone()));
            findings.push(diagnosis::new(Code::DebugBuild, evidence));
        }
    }
}

fn about_frames(examined: &Examined<'_, '_, '_>, findings: &mut Vec<Diagnosis>) {
    let Frames { layout, eval_loop, .. } = examined.frames;
    if let Some(layout) = layout
        && layout.source == LayoutSource::Unknown
    {
        findings.push(diagnosis::new(Code::LayoutUnknown, layout.note.clone().unwrap_or_default()));
    }
    let handlers = eval_loop.iter().filter(|range| range.part == "handlers").count();
    if handlers > 0 {
        findings.push(diagnosis::new(
            Code::TailCallInterpreter,
            format!("{handlers} ranges of handlers are functions of their own."),
        ));
    } else if eval_loop.len() > 1 {
        let ranges: Vec<String> =
            eval_loop.iter().map(|range| format!("{} to {}", range.start, range.end)).collect();
        findings.push(diagnosis::new(Code::EvalLoopSplit, format!("{}.", ranges.join(", "))));
    }
}

fn about_file(examined: &Examined<'_, '_, '_>, findings: &mut Vec<Diagnosis>) {
    let Examined { image, identity, .. } = examined;
    match image.kind() {
        ImageKind::Core => findings.push(diagnosis::new(Code::CoreFile, "Its type is ET_CORE.")),
        ImageKind::Relocatable => {
            findings.push(diagnosis::new(Code::RelocatableFile, "Its type is ET_REL."));
        }
        _ => {}
    }
    if identity.role != Role::Runtime
        && let Some((code, detail)) = bundle::of(image.data())
    {
        findings.push(diagnosis::new(code, detail));
    }
    if is_packed(image) {
        findings.push(diagnosis::new(Code::Packed, "It carries UPX's mark."));
    }
    if let Some(cut) = image.cut() {
        findings.push(diagnosis::new(Code::Truncated, cut.to_string()));
    }
    if identity.role != Role::Runtime {
        return;
    }
    if !image.has_section_headers() {
        findings.push(diagnosis::new(Code::NoSectionHeaders, "e_shnum is 0."));
    }
    let dynamic = image.dynamic_symbols().next().is_some();
    if !dynamic && image.is_stripped() {
        findings.push(diagnosis::new(
            Code::StrippedStatic,
            "Neither .dynsym nor .symtab is there: no function can be found by its name.",
        ));
    } else if !dynamic {
        findings
            .push(diagnosis::new(Code::NoDynamicSymbols, "Functions were found by .symtab alone."));
    }
    let holds_code = |address: VirtAddr| !image.bytes_from(address, 1).is_empty();
    if !image.segments().iter().any(|segment| segment.executable && holds_code(segment.address)) {
        findings.push(diagnosis::new(
            Code::DebugFileWithoutCode,
            "No executable segment has bytes in this file.",
        ));
    }
    if let Some(runtime) = &identity.runtime
        && runtime.size.is_none()
        && runtime.source != RuntimeSource::Code
    {
        findings.push(diagnosis::new(
            Code::RuntimeNotBounded,
            format!("_PyRuntime is at {}.", runtime.address),
        ));
    }
    if image.kind() != ImageKind::Relocatable
        && let Some(host) = embedding(image)
    {
        findings.push(diagnosis::new(Code::PythonEmbedded, host));
    }
}

/// UPX writes `UPX!` into its loader information behind the program headers
/// and drops the section headers (UPX 3 and 4, `struct l_info`).
fn is_packed(image: &Image<'_>) -> bool {
    const LOADER_INFORMATION: usize = 0x400;
    !image.has_section_headers()
        && image.data().get(..LOADER_INFORMATION).is_some_and(|start| contains(start, b"UPX!"))
}

/// A runtime image that is neither libpython nor a python program.
fn embedding(image: &Image<'_>) -> Option<String> {
    match image.kind() {
        ImageKind::Shared => {
            let name = image.soname().unwrap_or("a library without a name");
            (!name.starts_with("libpython")).then(|| format!("The runtime is part of {name}."))
        }
        ImageKind::Pie | ImageKind::Executable => image
            .symbol("main")
            .filter(|_| image.symbol("Py_BytesMain").is_none() && image.symbol("Py_Main").is_none())
            .map(|_| "The program does not define Py_BytesMain or Py_Main.".to_string()),
        _ => None,
    }
}
