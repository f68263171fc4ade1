//! What a sample says about its thread.
//!
//! The numbers of the first states of each kind are those of the reference
//! program (PyPerf, `PyPerfBPFProgram.cc`), so that tools written for its
//! output keep their meaning.

/// Makes a kind of status: constants of one byte, and their names.
macro_rules! status {
    ($(#[$doc:meta])* $name:ident { $($(#[$value_doc:meta])* $value:ident = $number:literal $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(transparent)]
        pub struct $name(pub u8);

        impl $name {
            $($(#[$value_doc])* pub const $value: Self = Self($number);)*

            /// All known values.
            pub const ALL: &'static [Self] = &[$(Self($number)),*];

            /// The name used in outputs; `unlisted` for a number this version does not know.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self.0 {
                    $($number => $text,)*
                    _ => "unlisted",
                }
            }
        }
    };
}

status! {
    /// How the walk of the stack ended.
    StackStatus {
        /// The walk reached the end of the chain (an empty stack included).
        COMPLETE = 0 "complete",
        /// The walk met something that is no frame, or no code object.
        ERROR = 1 "error",
        /// There are more frames than a stack may have.
        TRUNCATED = 2 "truncated",
        /// A page that the walk needs is not resident.
        NOT_RESIDENT = 3 "not resident",
        /// There is no thread state to walk from.
        NO_STATE = 4 "no thread state",
        /// The innermost frame was just being linked to its caller, so that its
        /// callers are not known (3.11 and later).
        LINKING = 5 "frame being linked",
    }
}

status! {
    /// What the GIL's memory says.
    GilState {
        /// It is not known where this build keeps its GIL.
        NO_INFO = 0 "no information",
        /// It could not be read, or holds no valid value.
        ERROR = 1 "error",
        /// The GIL was not created yet.
        UNINITIALIZED = 2 "uninitialized",
        /// Nobody holds it.
        NOT_LOCKED = 3 "not locked",
        /// The thread state this thread owns holds it.
        THIS_THREAD = 4 "this thread",
        /// The current (or attached) thread state holds it, and it is another than the owned one.
        GLOBAL_CURRENT_THREAD = 5 "current thread",
        /// Another thread state holds it.
        OTHER_THREAD = 6 "other thread",
        /// Locked, and the holder is null.
        NULL = 7 "null holder",
        /// A free-threaded build with its GIL off.
        DISABLED = 8 "disabled",
    }
}

status! {
    /// How the state this thread owns compares with the current one.
    ///
    /// "Current" is the process-wide current state up to 3.11 and the state
    /// attached to this thread from 3.12 on.
    ThreadStateMatch {
        /// One of the two could not be read, or has no route.
        UNKNOWN = 0 "unknown",
        /// The same.
        MATCH = 1 "match",
        /// Different.
        MISMATCH = 2 "mismatch",
        /// This thread owns none.
        THIS_THREAD_NULL = 3 "this thread has none",
        /// None is current: this thread runs with the GIL released.
        GLOBAL_CURRENT_THREAD_NULL = 4 "none current",
        /// Neither.
        BOTH_NULL = 5 "both null",
    }
}

status! {
    /// Whether the thread state was made by the thread that was sampled.
    PthreadIdMatch {
        /// It is not known where the id is kept.
        UNKNOWN = 0 "unknown",
        /// The ids are the same.
        MATCH = 1 "match",
        /// The ids differ.
        MISMATCH = 2 "mismatch",
        /// There is no thread state.
        THREAD_STATE_NULL = 3 "no thread state",
        /// The thread state has no id.
        NULL = 4 "null",
        /// The id could not be read.
        ERROR = 5 "error",
    }
}

status! {
    /// Which thread state was walked.
    StateSource {
        /// None.
        NONE = 0 "none",
        /// The one this thread owns.
        OWNED = 1 "owned",
        /// The one attached to this thread, or current and made by this thread.
        ATTACHED = 2 "attached",
    }
}

status! {
    /// What came of following a route.
    RouteStatus {
        /// This build has no such route.
        ABSENT = 0 "absent",
        /// Followed to its end; the state may be null.
        READ = 1 "read",
        /// A word on the way could not be read.
        FAULT = 2 "fault",
        /// The key is not created yet.
        NOT_INITIALIZED = 3 "not initialized",
        /// The thread's block is not allocated, so the variable was never touched.
        UNALLOCATED = 4 "unallocated",
    }
}
