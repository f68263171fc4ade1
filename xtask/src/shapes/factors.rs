//! What a shape can vary in: one enum per factor, its levels in order.

/// A factor: its levels, and the word a shape's name has for each (empty for
/// the ordinary level).
macro_rules! factor {
    ($(#[$about:meta])* $factor:ident { $($(#[$level_about:meta])* $level:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) enum $factor { $($(#[$level_about])* $level,)+ }

        impl $factor {
            /// Every level.
            pub(crate) const ALL: &'static [Self] = &[$(Self::$level,)+];

            /// The level's word in names.
            pub(crate) fn word(self) -> &'static str {
                match self { $(Self::$level => $word,)+ }
            }
        }
    };
}

factor! {
    /// Which Python's functions and runtime layout.
    Python {
        V2_7 = "2.7.18",
        V3_3 = "3.3.7",
        V3_6 = "3.6.15",
        /// The runtime before it grew in 3.7.4.
        V3_7Early = "3.7.2",
        V3_7 = "3.7.16",
        V3_8 = "3.8.18",
        V3_9 = "3.9.18",
        V3_10 = "3.10.13",
        V3_11 = "3.11.7",
        V3_12 = "3.12.1",
        V3_13 = "3.13.5",
        V3_13FreeThreaded = "3.13.5t",
        V3_14 = "3.14.10",
        V3_14FreeThreaded = "3.14.10t",
        V3_15 = "3.15.2",
        V3_15FreeThreaded = "3.15.2t",
    }
}

factor! {
    /// Which compiler, and with it which C library.
    Compiler {
        Gcc11 = "gcc11",
        Gcc12 = "gcc12",
        Clang14 = "clang14",
        Clang19 = "clang19",
        Clang22 = "clang22",
        ZigGlibc = "zig",
        ZigMusl = "zigmusl",
        MuslGcc = "muslgcc",
    }
}

factor! {
    /// Instruction set.
    Arch { X86_64 = "x86_64", Aarch64 = "aarch64", }
}

factor! {
    /// Optimization.
    Opt {
        O0 = "O0",
        O1 = "O1",
        O2 = "O2",
        O3 = "O3",
        Os = "Os",
        /// `-O2 -flto` with the compiler's own linker plugin.
        Lto = "lto",
        /// `-O2 -flto=thin`, clang's.
        ThinLto = "thinlto",
    }
}

factor! {
    /// What is linked, and how its code is told apart from what may interpose.
    Kind {
        Shared = "shared",
        SharedSymbolic = "symbolic",
        /// `-Bsymbolic-functions`.
        SharedSymbolicFunctions = "symfunc",
        SharedNoPlt = "noplt",
        SharedNoInterposition = "nointerpose",
        Pie = "pie",
        /// Code made for a shared library, linked as PIE, so that the linker relaxes it.
        PieOfPic = "piepic",
        PieNoPlt = "pienoplt",
        NoPie = "nopie",
        NoPieOfPic = "nopiepic",
        Static = "static",
        StaticPie = "staticpie",
    }
}

factor! {
    /// Which linker.
    Linker { Bfd = "bfd", Gold = "gold", Lld = "lld", Mold = "mold", }
}

factor! {
    /// How the thread state's thread-local variables are accessed.
    Tls {
        /// As the compiler chooses.
        Default = "",
        /// `tls_model("global-dynamic")`, the others alike.
        GlobalDynamic = "gd",
        LocalDynamic = "ld",
        InitialExec = "ie",
        LocalExec = "le",
        /// `-ftls-model=initial-exec` for the whole compilation.
        AllInitialExec = "allie",
        /// The dialect that is not the default: descriptors on x86-64,
        /// `__tls_get_addr` on AArch64.
        OtherDialect = "dialect",
        /// The same with `tls_model("global-dynamic")`.
        OtherDialectGlobalDynamic = "dialectgd",
    }
}

factor! {
    /// What else is in the TLS segment.
    TlsNeighbours {
        Few = "",
        /// 64 KiB in front: offsets beyond twelve bits on AArch64.
        Pad = "pad",
        /// An alignment of 64 and an odd size.
        Aligned = "align",
        /// Both, with an alignment of a page.
        PadAligned = "padalign",
    }
}

factor! {
    /// Whether the sources are one translation unit.
    Units { Separate = "", Unity = "unity", }
}

factor! {
    /// What the compiler adds to functions, or a code model.
    Prologue {
        None = "",
        /// `-fcf-protection=full`; `-mbranch-protection=standard`.
        Branch = "branch",
        StackProtector = "protector",
        AddressSanitizer = "asan",
        UndefinedSanitizer = "ubsan",
        ThreadSanitizer = "tsan",
        /// `-pg -mfentry`; `-pg` on AArch64.
        Fentry = "fentry",
        Patchable = "patchable",
        Instrument = "instrument",
        FramePointer = "framepointer",
        SplitStack = "splitstack",
        /// Indirect branches through thunks.
        Thunks = "thunks",
        StackClash = "stackclash",
        MediumModel = "medium",
        LargeModel = "large",
        TinyModel = "tiny",
    }
}

factor! {
    /// What the linker is asked for besides.
    Extra {
        None = "",
        /// `DT_RELR`.
        RelativePacked = "relr",
        SeparateCode = "sepcode",
        NoSeparateCode = "nosepcode",
        BindNow = "now",
        /// `-z ibtplt`; `-z force-bti -z pac-plt`.
        ProtectedPlt = "protplt",
        /// Identical functions are one.
        FoldIdentical = "icf",
        /// `--gc-sections`.
        CollectSections = "gc",
        /// `--hash-style=sysv`: no GNU hash table.
        SysvHash = "sysvhash",
        /// Linked with a page size of 64 KiB.
        LargePages = "page64k",
    }
}

factor! {
    /// What is done to the linked file.
    Post {
        Keep = "",
        Strip = "strip",
        /// Stripped, and the section header table cut off.
        NoSections = "nosections",
    }
}
