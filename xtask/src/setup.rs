//! `cargo xtask setup`: gets the compilers for every target, and says which
//! they are.

use anyhow::Result;

use crate::toolchain;

/// Finds or installs what the targets without `std` need. The other tasks do
/// the same for what they use; this does it ahead of time.
///
/// # Errors
/// Something is missing that cannot be installed here.
pub(crate) fn run(_: &[String]) -> Result<()> {
    for toolchain in
        [toolchain::bare_toolchain()?, toolchain::wasm_toolchain()?, toolchain::bpf_toolchain()?]
    {
        println!("{toolchain}");
    }
    Ok(())
}
