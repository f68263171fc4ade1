//! One shape: a level of every factor, which combinations exist, and which of
//! them no analyzer can answer.

use super::factors::{
    Arch, Compiler, Extra, Kind, Linker, Opt, Post, Prologue, Python, Tls, TlsNeighbours, Units,
};

/// Number of factors.
pub(crate) const FACTORS: usize = 12;

/// A level of every factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Shape {
    pub(crate) python: Python,
    pub(crate) compiler: Compiler,
    pub(crate) arch: Arch,
    pub(crate) opt: Opt,
    pub(crate) kind: Kind,
    pub(crate) linker: Linker,
    pub(crate) tls: Tls,
    pub(crate) neighbours: TlsNeighbours,
    pub(crate) units: Units,
    pub(crate) prologue: Prologue,
    pub(crate) extra: Extra,
    pub(crate) post: Post,
}

impl Shape {
    /// How many levels each factor has, in the order of the members.
    pub(crate) const LEVELS: [usize; FACTORS] = [
        Python::ALL.len(),
        Compiler::ALL.len(),
        Arch::ALL.len(),
        Opt::ALL.len(),
        Kind::ALL.len(),
        Linker::ALL.len(),
        Tls::ALL.len(),
        TlsNeighbours::ALL.len(),
        Units::ALL.len(),
        Prologue::ALL.len(),
        Extra::ALL.len(),
        Post::ALL.len(),
    ];

    /// The shape of these level numbers, in the order of the members.
    pub(crate) fn from_levels(levels: [usize; FACTORS]) -> Self {
        let [
            python,
            compiler,
            arch,
            opt,
            kind,
            linker,
            tls,
            neighbours,
            units,
            prologue,
            extra,
            post,
        ] = levels;
        Self {
            python: Python::ALL[python],
            compiler: Compiler::ALL[compiler],
            arch: Arch::ALL[arch],
            opt: Opt::ALL[opt],
            kind: Kind::ALL[kind],
            linker: Linker::ALL[linker],
            tls: Tls::ALL[tls],
            neighbours: TlsNeighbours::ALL[neighbours],
            units: Units::ALL[units],
            prologue: Prologue::ALL[prologue],
            extra: Extra::ALL[extra],
            post: Post::ALL[post],
        }
    }

    /// Every level's word, in the order of the members.
    pub(crate) fn words(&self) -> [&'static str; FACTORS] {
        [
            self.python.word(),
            self.compiler.word(),
            self.arch.word(),
            self.opt.word(),
            self.kind.word(),
            self.linker.word(),
            self.tls.word(),
            self.neighbours.word(),
            self.units.word(),
            self.prologue.word(),
            self.extra.word(),
            self.post.word(),
        ]
    }

    /// The words that are not empty, joined.
    pub(crate) fn name(&self) -> String {
        self.words().into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
    }

    /// Whether the result is a program, not a library.
    pub(crate) fn is_program(&self) -> bool {
        !self.is_library()
    }

    /// Whether the result is a shared library.
    pub(crate) fn is_library(&self) -> bool {
        matches!(
            self.kind,
            Kind::Shared
                | Kind::SharedSymbolic
                | Kind::SharedSymbolicFunctions
                | Kind::SharedNoPlt
                | Kind::SharedNoInterposition
        )
    }

    /// Whether the C library is linked in.
    pub(crate) fn is_static(&self) -> bool {
        matches!(self.kind, Kind::Static | Kind::StaticPie)
    }

    /// Whether the code is compiled to run at any address.
    pub(crate) fn is_pic(&self) -> bool {
        !matches!(self.kind, Kind::NoPie | Kind::Static)
    }

    /// Whether the C library is musl.
    pub(crate) fn is_musl(&self) -> bool {
        matches!(self.compiler, Compiler::ZigMusl | Compiler::MuslGcc)
    }

    /// Whether the compiler is clang under one name or another.
    pub(crate) fn is_clang(&self) -> bool {
        !matches!(self.compiler, Compiler::Gcc11 | Compiler::Gcc12 | Compiler::MuslGcc)
    }

    /// Whether zig drives compiler and linker.
    pub(crate) fn is_zig(&self) -> bool {
        matches!(self.compiler, Compiler::ZigGlibc | Compiler::ZigMusl)
    }

    /// Whether the Python keeps a thread state in a thread-local variable.
    pub(crate) fn has_thread_locals(&self) -> bool {
        self.python >= Python::V3_12
    }

    /// Whether the toolchains can make it, and it is not another shape under
    /// a second name.
    pub(crate) fn exists(&self) -> bool {
        self.toolchain_exists()
            && self.thread_local_exists()
            && self.prologue_exists()
            && self.extra_exists()
            // What is answerable by symbols only is listed apart, with the reason.
            && (self.post == Post::Keep || !self.is_static())
    }

    fn toolchain_exists(&self) -> bool {
        let linker = match self.compiler {
            // Zig links with its own.
            Compiler::ZigGlibc | Compiler::ZigMusl => self.linker == Linker::Lld,
            _ => true,
        };
        let arch = self.compiler != Compiler::MuslGcc || self.arch == Arch::X86_64;
        let kind = match self.kind {
            // Zig's glibc is for dynamic linking only, and its musl for static
            // linking where the program has a fixed address.
            Kind::Static | Kind::StaticPie if self.compiler == Compiler::ZigGlibc => false,
            Kind::NoPie | Kind::NoPieOfPic if self.compiler == Compiler::ZigMusl => false,
            // Zig hands on only `-Bsymbolic`.
            Kind::SharedSymbolicFunctions if self.is_zig() => false,
            // What the others make with musl's start files crashes before `main`.
            Kind::Static if self.compiler == Compiler::MuslGcc => {
                matches!(self.linker, Linker::Bfd | Linker::Gold)
            }
            // gold knows no `--no-dynamic-linker`.
            Kind::StaticPie => self.linker != Linker::Gold,
            _ => true,
        };
        let lto = match self.opt {
            // gcc's plugin works with linkers that load plugins, clang's output with its own lld.
            Opt::Lto if self.is_clang() => self.linker == Linker::Lld && !self.is_zig(),
            // mold 1.10 aborts on what musl's specs pass to the plugin.
            Opt::Lto if self.compiler == Compiler::MuslGcc && self.linker == Linker::Mold => false,
            Opt::Lto => self.linker != Linker::Lld,
            Opt::ThinLto => self.is_clang() && self.linker == Linker::Lld && !self.is_zig(),
            _ => true,
        };
        // Link-time optimization makes one unit of all anyway.
        let units = !(matches!(self.opt, Opt::Lto | Opt::ThinLto) && self.units == Units::Unity);
        linker && arch && kind && lto && units
    }

    fn thread_local_exists(&self) -> bool {
        if !self.has_thread_locals() {
            return self.tls == Tls::Default && self.neighbours == TlsNeighbours::Few;
        }
        match self.tls {
            Tls::LocalExec => self.is_program(),
            Tls::OtherDialect | Tls::OtherDialectGlobalDynamic => match self.arch {
                Arch::X86_64 => {
                    !self.is_clang()
                        || matches!(self.compiler, Compiler::Clang19 | Compiler::Clang22)
                }
                // lld does not know the relocations, and gold cannot reach the GOT
                // of a program at a fixed address.
                Arch::Aarch64 => {
                    let reached = self.linker != Linker::Gold || self.is_pic();
                    !self.is_clang() && self.linker != Linker::Lld && reached
                }
            },
            _ => true,
        }
    }

    fn prologue_exists(&self) -> bool {
        let x86 = self.arch == Arch::X86_64;
        let plain_tls = matches!(self.tls, Tls::Default);
        // gold and lld do not know their way to call `__tls_get_addr`.
        let larger_model_linked =
            matches!(self.linker, Linker::Bfd | Linker::Mold) || !self.has_thread_locals();
        match self.prologue {
            Prologue::AddressSanitizer => {
                !self.is_musl() && !self.is_static() && !self.is_zig() && (x86 || !self.is_clang())
            }
            Prologue::ThreadSanitizer => {
                !self.is_musl()
                    && !self.is_static()
                    && !self.is_zig()
                    && self.is_pic()
                    && (x86 || !self.is_clang())
            }
            // The profiling start file is for programs that are not static PIE,
            // and musl has no `mcount`.
            Prologue::Fentry => !self.is_musl() && !self.is_zig() && self.kind != Kind::StaticPie,
            Prologue::Patchable => !self.is_zig(),
            // Needs libgcc's `__morestack`, and gold to adjust calls of other code,
            // which does not know what gcc makes of it for size.
            Prologue::SplitStack => {
                x86 && !self.is_clang()
                    && !self.is_musl()
                    && !self.is_static()
                    && self.linker == Linker::Gold
                    && self.opt != Opt::Os
            }
            // gcc refuses them together with branch protection.
            Prologue::Thunks => x86 && !self.is_zig() && self.extra != Extra::ProtectedPlt,
            Prologue::MediumModel => {
                // gcc puts large thread-local data and data with relocations into
                // one section, and then refuses that.
                let padded =
                    matches!(self.neighbours, TlsNeighbours::Pad | TlsNeighbours::PadAligned);
                let sections = self.is_clang() || !(padded && self.python >= Python::V3_13);
                x86 && !self.is_zig() && larger_model_linked && sections
            }
            Prologue::LargeModel => {
                // gcc 11 fails in the large model after link-time optimization.
                !self.is_zig()
                    && !self.is_static()
                    && larger_model_linked
                    && self.opt != Opt::Lto
                    && if x86 { true } else { !self.is_pic() && plain_tls }
            }
            Prologue::TinyModel => {
                !x86 && !self.is_zig()
                    && plain_tls
                    && !self.is_static()
                    // The others do not know the relocation of its GOT loads.
                    && self.linker == Linker::Bfd
            }
            Prologue::StackClash => !self.is_zig(),
            _ => true,
        }
    }

    fn extra_exists(&self) -> bool {
        match self.extra {
            Extra::RelativePacked => {
                self.linker != Linker::Gold
                    && !self.is_static()
                    && self.is_pic()
                    && !self.is_zig()
                    && self.compiler != Compiler::MuslGcc
            }
            Extra::ProtectedPlt => {
                !self.is_static()
                    && !self.is_zig()
                    && matches!((self.linker, self.arch), (Linker::Bfd, _) | (Linker::Lld, _))
            }
            Extra::FoldIdentical => !matches!(self.linker, Linker::Bfd) && !self.is_zig(),
            Extra::SysvHash => !self.is_static() && !self.is_zig(),
            Extra::LargePages => !self.is_zig(),
            Extra::SeparateCode => !self.is_zig() && self.linker != Linker::Gold,
            Extra::NoSeparateCode => !self.is_zig(),
            _ => true,
        }
    }

    /// Why nobody can be asked for an answer, where that is so.
    pub(crate) fn unanswerable(&self) -> Option<&'static str> {
        (self.is_static() && self.post != Post::Keep).then_some(
            "a static program without symbols: no name says which of its functions is an entry function",
        )
    }
}
