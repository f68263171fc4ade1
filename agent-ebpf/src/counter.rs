//! What the program counts, per CPU.

/// Makes the list of counters.
macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident $text:literal,)*) => {
        /// One counter; its number is its index in the map `COUNTERS`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u32)]
        pub enum Counter {
            $($(#[$doc])* $name,)*
        }

        impl Counter {
            /// All counters in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// What is counted, in words.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

counters! {
    /// Times the sampling program ran.
    Ticks "sampling ticks",
    /// Ticks in a process that is not configured.
    Unconfigured "ticks in processes that are not configured",
    /// Samples sent.
    Samples "samples sent",
    /// Samples dropped because the ring buffer was full.
    SampleRingFull "samples lost: ring buffer full",
    /// Samples dropped because the walking program could not be called.
    WalkCallFailed "samples lost: tail call failed",
    /// Samples without any thread state to walk.
    NoState "samples without a thread state",
    /// Stacks cut at the limit.
    Truncated "stacks truncated",
    /// Walks that met something that is no frame or no code object.
    WalkError "walks that met an invalid frame",
    /// Walks stopped at a page that is not resident.
    WalkFault "walks stopped at a page that is not resident",
    /// Native boundaries skipped.
    Boundaries "native boundaries",
    /// Code objects and types copied.
    Copied "names copied",
    /// Copies dropped because the ring buffer was full; tried again at the next sight.
    CopyRingFull "names lost: ring buffer full",
    /// Copies put off because the queue of one sample was full.
    CopyDeferred "names put off",
    /// Copies with a part that was not resident; the agent reads it later.
    CopyFault "names on pages that were not resident, read later",
    /// Frames whose code object was not resident; the agent reads it later.
    CodeFault "frames whose code was not resident, read later",
    /// Children that inherited their parent's configuration.
    Inherited "forked children",
    /// Children that could not be configured because the map was full.
    InheritFailed "forked children lost: map full",
    /// Notices of fork, exec or exit dropped because the ring buffer was full.
    NoticeRingFull "process notices lost: ring buffer full",
    /// Ticks whose task has no number in the agent's PID namespace.
    OutsideNamespace "ticks outside the agent's PID namespace",
}

impl Counter {
    /// Whether a count of this is worth a line for the user.
    #[must_use]
    pub const fn is_noteworthy(self) -> bool {
        self.is_trouble() || matches!(self, Self::CopyFault | Self::CodeFault)
    }

    /// Whether a count of this says that something is missing from the samples.
    #[must_use]
    pub const fn is_trouble(self) -> bool {
        matches!(
            self,
            Self::SampleRingFull
                | Self::WalkCallFailed
                | Self::WalkError
                | Self::WalkFault
                | Self::CopyRingFull
                | Self::InheritFailed
                | Self::NoticeRingFull
                | Self::OutsideNamespace
        )
    }
}

/// How many counters there are.
pub const COUNTERS: u32 = Counter::ALL.len() as u32;
