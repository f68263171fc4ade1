//! Saying what is missing before the kernel says it in its own words.

use std::{fs, path::Path};

use anyhow::{Result, bail};

/// `CAP_SYS_ADMIN`, `CAP_PERFMON`, `CAP_BPF` (include/uapi/linux/capability.h).
const SYS_ADMIN: u32 = 21;
const PERFMON: u32 = 38;
const BPF: u32 = 39;

/// Checks what a recording needs.
///
/// # Errors
/// Privileges or the kernel's type information are missing.
pub(super) fn check() -> Result<()> {
    let capabilities = effective_capabilities();
    let has = |capability: u32| capabilities >> capability & 1 == 1;
    if !(has(SYS_ADMIN) || has(BPF) && has(PERFMON)) {
        bail!(
            "recording needs root, or the capabilities CAP_BPF and CAP_PERFMON (and CAP_SYS_PTRACE \
             and CAP_CHECKPOINT_RESTORE for processes of other users); try `sudo keyhole record …`. \
             `keyhole inspect` works without"
        );
    }
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        bail!(
            "this kernel has no type information (/sys/kernel/btf/vmlinux): it must be built with \
             CONFIG_DEBUG_INFO_BTF=y, as the kernels of all large distributions are since 2021"
        );
    }
    Ok(())
}

fn effective_capabilities() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| u64::from_str_radix(line.strip_prefix("CapEff:")?.trim(), 16).ok())
        .unwrap_or(0)
}
