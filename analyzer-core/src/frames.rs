//! What a profiler needs beyond the route: the GIL, the layout of frames and
//! the code of the evaluation loop.

use alloc::{string::ToString, vec::Vec};

use crate::{
    eval_loop::eval_loop,
    identity::{Identity, Role},
    image::{Image, SymbolKind},
    layout::{
        self,
        debug_offsets::{DebugOffsets, MAX_LEN},
        facts::{gil_facts, layout_facts},
    },
    report::{CodeRange, GilFacts, LayoutFacts},
};

/// Facts for walking frames; nothing for what is no runtime image.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    pub(crate) gil: Option<GilFacts>,
    pub(crate) layout: Option<LayoutFacts>,
    pub(crate) eval_loop: Vec<CodeRange>,
}

impl Frames {
    pub(crate) fn of(image: &Image<'_>, identity: &Identity) -> Self {
        if identity.role != Role::Runtime {
            return Self::default();
        }
        let eval_loop = eval_loop(image);
        let Some(version) = identity.version else {
            return Self { eval_loop, ..Self::default() };
        };
        let flavour = identity.flavour;
        let table = layout::lookup(version, flavour, image.arch(), identity.libc);
        let runtime = identity.runtime.as_ref().map(|runtime| runtime.address);
        let (debug, refused) = match runtime.filter(|_| version.at_least(3, 13)) {
            Some(address) => match DebugOffsets::read(image.bytes_from(address, MAX_LEN)) {
                Ok(debug) => (Some(debug), None),
                Err(refused) => (None, Some(refused.to_string())),
            },
            None => (None, None),
        };
        let statics = ["gil_locked", "gil_last_holder"];
        let statics = if version.at_least(3, 7) {
            [None; 2]
        } else {
            image.variables(SymbolKind::Object, &statics)
        };
        let symbol = |name: &str| {
            statics
                .iter()
                .flatten()
                .find(|symbol| symbol.name.starts_with(name))
                .map(|it| it.address)
        };
        Self {
            gil: gil_facts(version, flavour, debug.as_ref(), table.as_ref().ok(), runtime, symbol),
            layout: Some(layout_facts(debug.as_ref(), table, refused.as_deref())),
            eval_loop,
        }
    }
}
