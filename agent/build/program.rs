//! The sampling program, where `cargo xtask ebpf` has built it.

use std::{env, fs, io, path::PathBuf};

/// Puts the object where the crate includes it from. An empty file stands for
/// a program that was not built.
pub(crate) fn embed() -> io::Result<()> {
    let manifest = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    let built = manifest.join("../target/ebpf/keyhole-bpf.o");
    println!("cargo::rerun-if-changed={}", built.display());
    let out = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    let embedded = out.join("keyhole-bpf.o");
    fs::write(&embedded, fs::read(&built).unwrap_or_default())?;
    println!("cargo::rustc-env=KEYHOLE_BPF_OBJECT={}", embedded.display());
    Ok(())
}
