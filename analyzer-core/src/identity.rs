//! Which Python an image holds, if any: told from its content, never from its
//! file name.

use alloc::{string::String, vec::Vec};

use crate::{
    addr::VirtAddr,
    image::Image,
    layout::known_keys::known_key_offset,
    report::{Flavour, Libc, RuntimeFacts, RuntimeSource, VersionSource},
    version::PyVersion,
};

mod flavour;
mod libc;
mod role;
mod runtime;
mod soname;
mod version;

pub use role::Role;

/// What an image is.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Runtime image, launcher or something else.
    pub role: Role,
    /// The best version the file tells.
    pub version: Option<PyVersion>,
    /// Every source of the version, best first.
    pub version_sources: Vec<VersionSource>,
    /// Two sources name different versions.
    pub version_disagreement: bool,
    /// Build flavour.
    pub flavour: Flavour,
    /// What the flavour was read from.
    pub flavour_evidence: Vec<String>,
    /// The C library the image was linked for.
    pub libc: Option<Libc>,
    /// `_PyRuntime`, where a symbol, a section or a cookie shows it.
    pub runtime: Option<RuntimeFacts>,
}

impl Identity {
    /// Where nothing in the file showed `_PyRuntime`, takes it from a key that
    /// code led to, if the key's offset in it is known for this version.
    pub fn complete_runtime(&mut self, key: Option<VirtAddr>, image: &Image<'_>) {
        if self.runtime.is_some() {
            return;
        }
        self.runtime = key.zip(self.version).and_then(|(key, version)| {
            let offset =
                known_key_offset(version, self.flavour, image.arch(), self.libc, None).ok()?;
            let address = VirtAddr(key.0.checked_sub(offset)?);
            Some(RuntimeFacts { address, size: None, source: RuntimeSource::Code })
        });
    }
}

/// Identifies `image`.
///
/// With `thorough`, every source of the version is asked; without, the first
/// that answers.
#[must_use]
pub fn identify(image: &Image<'_>, thorough: bool) -> Identity {
    let role = role::of(image);
    let runtime = match role {
        Role::Runtime => runtime::find(image),
        Role::Launcher { .. } | Role::Other => None,
    };
    let versions = match role {
        Role::Other => Vec::new(),
        Role::Runtime | Role::Launcher { .. } => {
            version::sources(image, runtime.as_ref(), thorough)
        }
    };
    let best = versions.iter().find_map(|(_, version)| *version);
    let disagreement = best.is_some_and(|best| {
        versions.iter().any(|(_, other)| other.is_some_and(|other| !best.agrees_with(other)))
    });
    let (flavour, flavour_evidence) = flavour::of(image, runtime.as_ref(), &role);
    Identity {
        role,
        version: best,
        version_sources: versions.into_iter().map(|(source, _)| source).collect(),
        version_disagreement: disagreement,
        flavour,
        flavour_evidence,
        libc: libc::of(image),
        runtime,
    }
}
