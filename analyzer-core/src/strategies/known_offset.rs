//! Routes from offsets in `_PyRuntime` that were verified for a version.

use alloc::{format, string::ToString, vec::Vec};

use super::{
    Attempt, Subject,
    finding::{Finding, Reason},
};
use crate::{
    addr::VirtAddr,
    layout::known_keys::{self, known_holder_offset, known_key_offset},
    report::{Arch, Flavour, Libc, Reaches},
    version::PyVersion,
};

pub(super) fn run<'a, 'd>(subject: &Subject<'a, 'd>, attempts: &mut Vec<Attempt<'a, 'd>>) {
    let key = known(subject, known_key_offset).map(|address| Finding::Key { address });
    attempts.push(attempt(subject, "known-offset:autoTSSkey", key));
    let holder = known(subject, known_holder_offset)
        .map(|address| Finding::Global { reaches: Reaches::Holder, address });
    attempts.push(attempt(subject, "known-offset:tstate_current", holder));
}

fn attempt<'a, 'd>(
    subject: &Subject<'a, 'd>,
    name: &str,
    found: Result<Finding, (Reason, Option<known_keys::Reason>)>,
) -> Attempt<'a, 'd> {
    let detail = match (&found, subject.version) {
        (Err((_, Some(reason))), _) => Some(reason.to_string()),
        (Ok(_), Some(version)) => Some(format!("verified offset of CPython {version}")),
        _ => None,
    };
    Attempt {
        name: name.to_string(),
        found: found.map_err(|(reason, _)| reason),
        detail,
        evidence: None,
    }
}

type Lookup =
    fn(PyVersion, Flavour, Arch, Option<Libc>, Option<u64>) -> Result<u64, known_keys::Reason>;

fn known(
    subject: &Subject<'_, '_>,
    lookup: Lookup,
) -> Result<VirtAddr, (Reason, Option<known_keys::Reason>)> {
    let version = subject.version.ok_or((Reason::VersionUnknown, None))?;
    let size = subject.runtime.as_ref().and_then(|runtime| runtime.size);
    let offset = lookup(version, subject.flavour, subject.image.arch(), subject.libc, size)
        .map_err(|reason| {
            let kind = match reason {
                known_keys::Reason::NoRuntime | known_keys::Reason::NoSuchMember => {
                    Reason::NotInVersion
                }
                _ => Reason::OffsetUnknown,
            };
            (kind, Some(reason))
        })?;
    let runtime = subject.runtime.as_ref().ok_or((Reason::NoRuntime, None))?;
    runtime.address.checked_add(offset).ok_or((Reason::OffsetUnknown, None))
}
