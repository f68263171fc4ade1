//! From a shape to the commands that make it.

use super::factors::{
    Arch, Compiler, Extra, Kind, Linker, Opt, Prologue, Python, Tls, TlsNeighbours, Units,
};
use super::shape::Shape;
use super::tools::Tools;

/// The commands for one shape, with file names left open.
#[derive(Clone, Debug)]
pub(crate) struct Recipe {
    /// The compiler driver and what it is always called with.
    pub(crate) driver: Vec<String>,
    /// Options for compiling.
    pub(crate) compile: Vec<String>,
    /// Options for linking.
    pub(crate) link: Vec<String>,
    /// Sources, in the order of linking.
    pub(crate) sources: &'static [&'static str],
    /// Whether `check.c` is linked in, as the program's `main`.
    pub(crate) is_program: bool,
}

const SEPARATE: &[&str] =
    &["runtime.c", "thread.c", "version.c", "decoys.c", "ceval.c", "pystate.c"];
const UNITY: &[&str] = &["unity.c"];

/// `PY_VERSION_HEX`, and the version without the flavour.
fn version(python: Python) -> (u32, &'static str) {
    let text = python.word().trim_end_matches('t');
    let mut parts = text.split('.').map(|part| part.parse::<u32>().unwrap_or_default());
    let mut next = || parts.next().unwrap_or_default();
    (next() << 24 | next() << 16 | next() << 8 | 0xf0, text)
}

/// What tells the sources which Python to be.
pub(crate) fn defines(python: Python) -> Vec<String> {
    let (hex, text) = version(python);
    let free_threaded = python.word().ends_with('t');
    vec![
        format!("-DSHAPE_HEX={hex:#010x}"),
        format!("-DSHAPE_TEXT=\"{text}\""),
        format!("-DSHAPE_FREE_THREADED={}", u8::from(free_threaded)),
    ]
}

/// The commands for a shape.
pub(crate) fn recipe(shape: &Shape, tools: &Tools) -> Recipe {
    let mut compile = vec!["-std=gnu11".to_owned()];
    compile.extend(defines(shape.python));
    if shape.python >= Python::V3_9 {
        compile.push("-fvisibility=hidden".into());
    }
    let mut link = Vec::new();
    optimization(shape, &mut compile, &mut link);
    kind(shape, &mut compile, &mut link);
    thread_locals(shape, &mut compile);
    prologue(shape, &mut compile, &mut link);
    extra(shape, &mut compile, &mut link);
    tools.linker(shape, &mut link);
    if !shape.is_musl() {
        link.extend(["-lpthread".into(), "-ldl".into()]);
    }
    Recipe {
        driver: tools.driver(shape.compiler, shape.arch),
        compile,
        link,
        sources: match shape.units {
            Units::Separate => SEPARATE,
            Units::Unity => UNITY,
        },
        is_program: shape.is_program(),
    }
}

fn optimization(shape: &Shape, compile: &mut Vec<String>, link: &mut Vec<String>) {
    let (optimize, lto) = match shape.opt {
        Opt::O0 => ("-O0", None),
        Opt::O1 => ("-O1", None),
        Opt::O2 => ("-O2", None),
        Opt::O3 => ("-O3", None),
        Opt::Os => ("-Os", None),
        Opt::Lto => ("-O2", Some("-flto")),
        Opt::ThinLto => ("-O2", Some("-flto=thin")),
    };
    compile.push(optimize.into());
    if shape.is_zig() && shape.opt == Opt::Os {
        // Zig strips what it optimizes for size, unless debug information is asked for.
        compile.push("-g".into());
        link.push("-g".into());
    }
    if let Some(lto) = lto {
        compile.push(lto.into());
        link.push(lto.into());
        link.push(optimize.into());
    }
}

fn kind(shape: &Shape, compile: &mut Vec<String>, link: &mut Vec<String>) {
    let (compiled, linked): (&[&str], &[&str]) = match shape.kind {
        Kind::Shared => (&["-fPIC"], &["-shared"]),
        Kind::SharedSymbolic => (&["-fPIC"], &["-shared", "-Wl,-Bsymbolic"]),
        Kind::SharedSymbolicFunctions => (&["-fPIC"], &["-shared", "-Wl,-Bsymbolic-functions"]),
        Kind::SharedNoPlt => (&["-fPIC", "-fno-plt"], &["-shared"]),
        Kind::SharedNoInterposition => (&["-fPIC", "-fno-semantic-interposition"], &["-shared"]),
        Kind::Pie => (&["-fPIE"], &["-pie", "-rdynamic"]),
        Kind::PieOfPic => (&["-fPIC"], &["-pie", "-rdynamic"]),
        Kind::PieNoPlt => (&["-fPIE", "-fno-plt"], &["-pie", "-rdynamic"]),
        Kind::NoPie => (&["-fno-pie"], &["-no-pie", "-rdynamic"]),
        Kind::NoPieOfPic => (&["-fPIC"], &["-no-pie", "-rdynamic"]),
        Kind::Static => (&["-fno-pie"], &["-static", "-no-pie"]),
        Kind::StaticPie => (&["-fPIE"], &["-static-pie"]),
    };
    compile.extend(compiled.iter().map(|&word| word.to_owned()));
    link.extend(linked.iter().map(|&word| word.to_owned()));
    if shape.is_library() {
        let minor = shape.python.word().rsplit_once('.').map_or("", |(minor, _)| minor);
        let flags = match shape.python {
            _ if shape.python.word().ends_with('t') => "t",
            // `--with-pymalloc`, an ABI flag until 3.7.
            Python::V3_3 | Python::V3_6 | Python::V3_7Early | Python::V3_7 => "m",
            _ => "",
        };
        link.push(format!("-Wl,-soname,libpython{minor}{flags}.so.1.0"));
    }
}

fn thread_locals(shape: &Shape, compile: &mut Vec<String>) {
    let attribute = |model: &str| format!("-DSHAPE_TLS_ATTRIBUTE=\"{model}\"");
    let dialect = || {
        match shape.arch {
            Arch::X86_64 => "-mtls-dialect=gnu2",
            Arch::Aarch64 => "-mtls-dialect=trad",
        }
        .to_owned()
    };
    match shape.tls {
        Tls::Default => {}
        Tls::GlobalDynamic => compile.push(attribute("global-dynamic")),
        Tls::LocalDynamic => compile.push(attribute("local-dynamic")),
        Tls::InitialExec => compile.push(attribute("initial-exec")),
        Tls::LocalExec => compile.push(attribute("local-exec")),
        Tls::AllInitialExec => compile.push("-ftls-model=initial-exec".into()),
        Tls::OtherDialect => compile.push(dialect()),
        Tls::OtherDialectGlobalDynamic => {
            compile.extend([dialect(), attribute("global-dynamic")]);
        }
    }
    let (pad, align) = match shape.neighbours {
        TlsNeighbours::Few => (None, None),
        TlsNeighbours::Pad => (Some(65536), None),
        TlsNeighbours::Aligned => (None, Some(64)),
        TlsNeighbours::PadAligned => (Some(70001), Some(4096)),
    };
    compile.extend(pad.map(|size| format!("-DSHAPE_TLS_PAD={size}")));
    compile.extend(align.map(|align| format!("-DSHAPE_TLS_ALIGN={align}")));
}

fn prologue(shape: &Shape, compile: &mut Vec<String>, link: &mut Vec<String>) {
    let x86 = shape.arch == Arch::X86_64;
    let clang = shape.is_clang();
    let (compiled, linked): (&[&str], &[&str]) = match shape.prologue {
        // Zig adds a sanitizer of its own to code that is not optimized.
        Prologue::None if shape.is_zig() => (&["-fno-sanitize=all"], &[]),
        Prologue::None => (&[], &[]),
        Prologue::Branch if x86 => (&["-fcf-protection=full"], &[]),
        Prologue::Branch => (&["-mbranch-protection=standard"], &[]),
        Prologue::StackProtector => (&["-fstack-protector-all"], &[]),
        Prologue::AddressSanitizer => (&["-fsanitize=address"], &["-fsanitize=address"]),
        Prologue::ThreadSanitizer => (&["-fsanitize=thread"], &["-fsanitize=thread"]),
        Prologue::UndefinedSanitizer if clang => {
            (&["-fsanitize=undefined", "-fsanitize-trap=all"], &[])
        }
        Prologue::UndefinedSanitizer => {
            (&["-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"], &[])
        }
        Prologue::Fentry if x86 => (&["-pg", "-mfentry"], &["-pg"]),
        Prologue::Fentry => (&["-pg"], &["-pg"]),
        Prologue::Patchable => (&["-fpatchable-function-entry=5,2"], &[]),
        Prologue::Instrument => (&["-finstrument-functions"], &[]),
        Prologue::FramePointer if x86 || shape.is_zig() => (&["-fno-omit-frame-pointer"], &[]),
        Prologue::FramePointer => {
            (&["-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer"], &[])
        }
        Prologue::SplitStack => (&["-fsplit-stack"], &["-fsplit-stack"]),
        Prologue::Thunks if clang => (&["-mretpoline"], &[]),
        Prologue::Thunks => (&["-mindirect-branch=thunk", "-mfunction-return=thunk"], &[]),
        Prologue::StackClash => (&["-fstack-clash-protection"], &[]),
        Prologue::MediumModel => (&["-mcmodel=medium"], &[]),
        Prologue::LargeModel => (&["-mcmodel=large"], &[]),
        Prologue::TinyModel => (&["-mcmodel=tiny"], &[]),
    };
    compile.extend(compiled.iter().map(|&word| word.to_owned()));
    link.extend(linked.iter().map(|&word| word.to_owned()));
}

fn extra(shape: &Shape, compile: &mut Vec<String>, link: &mut Vec<String>) {
    let (compiled, linked): (&[&str], &[&str]) = match (shape.extra, shape.linker) {
        (Extra::None, _) => (&[], &[]),
        (Extra::RelativePacked, Linker::Mold) => (&[], &["-Wl,--pack-dyn-relocs=relr"]),
        (Extra::RelativePacked, Linker::Lld) if Tools::has_old_lld(shape.compiler) => {
            (&[], &["-Wl,--pack-dyn-relocs=relr"])
        }
        (Extra::RelativePacked, _) => (&[], &["-Wl,-z,pack-relative-relocs"]),
        (Extra::SeparateCode, _) => (&[], &["-Wl,-z,separate-code"]),
        (Extra::NoSeparateCode, Linker::Gold) => (&[], &["-Wl,--no-rosegment"]),
        (Extra::NoSeparateCode, Linker::Lld) => {
            (&[], &["-Wl,-z,noseparate-code", "-Wl,--no-rosegment"])
        }
        (Extra::NoSeparateCode, _) => (&[], &["-Wl,-z,noseparate-code"]),
        (Extra::BindNow, _) => (&[], &["-Wl,-z,relro", "-Wl,-z,now"]),
        (Extra::ProtectedPlt, Linker::Bfd) if shape.arch == Arch::X86_64 => {
            (&["-fcf-protection=full"], &["-Wl,-z,ibtplt"])
        }
        (Extra::ProtectedPlt, _) if shape.arch == Arch::X86_64 => {
            (&["-fcf-protection=full"], &["-Wl,-z,force-ibt"])
        }
        (Extra::ProtectedPlt, _) => {
            (&["-mbranch-protection=standard"], &["-Wl,-z,force-bti", "-Wl,-z,pac-plt"])
        }
        (Extra::FoldIdentical, _) => (&["-ffunction-sections"], &["-Wl,--icf=all"]),
        (Extra::CollectSections, _) => {
            (&["-ffunction-sections", "-fdata-sections"], &["-Wl,--gc-sections"])
        }
        (Extra::SysvHash, _) => (&[], &["-Wl,--hash-style=sysv"]),
        (Extra::LargePages, _) => (&[], &["-Wl,-z,max-page-size=65536"]),
    };
    compile.extend(compiled.iter().map(|&word| word.to_owned()));
    link.extend(linked.iter().map(|&word| word.to_owned()));
}

/// The compiler that lays out structures for `truth.c`: one per architecture
/// and C library.
pub(crate) fn layout_compiler(shape: &Shape) -> Compiler {
    match (shape.is_musl(), shape.arch) {
        (false, _) => Compiler::Gcc12,
        (true, Arch::X86_64) => Compiler::MuslGcc,
        (true, Arch::Aarch64) => Compiler::ZigMusl,
    }
}
