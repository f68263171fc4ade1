//! From code objects to names, files and lines.

pub(crate) mod fallback;
pub(crate) mod lines;
pub(crate) mod names;
