//! Embeds the sampling program, where `cargo xtask ebpf` has built it.

use std::{env, fs, path::PathBuf};

fn main() {
    let manifest = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    let built = manifest.join("../target/ebpf/keyhole-bpf.o");
    println!("cargo::rerun-if-changed={}", built.display());
    let out = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    let embedded = out.join("keyhole-bpf.o");
    // An empty file stands for a program that was not built.
    let object = fs::read(&built).unwrap_or_default();
    if let Err(error) = fs::write(&embedded, object) {
        println!("cargo::error={}: {error}", embedded.display());
    }
    println!("cargo::rustc-env=KEYHOLE_BPF_OBJECT={}", embedded.display());
}
