//! What a call means.

use super::{
    Image, Relocation,
    plt::{self, Stub},
    symbol::{SymbolKind, unversioned},
};
use crate::{addr::VirtAddr, report::Arch};

/// Veneers that are followed one after the other.
const MOST_VENEERS: usize = 4;

/// What a call or jump reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Callee<'d> {
    /// The symbol the dynamic linker binds the call to, imported or this
    /// image's own, without version suffix. `None` for a direct call, whose
    /// name [`Image::function_at`] tells.
    pub name: Option<&'d str>,
    /// Where its code is, when this image holds it (another image may still
    /// interpose it when there is a name); `None` for a pure import.
    pub address: Option<VirtAddr>,
    /// The word that holds the address at run time.
    pub slot: Option<VirtAddr>,
    /// The resolver that chooses the code at start-up (`IRELATIVE`, `STT_GNU_IFUNC`).
    pub resolver: Option<VirtAddr>,
    /// How the call gets there.
    pub via: Via,
}

/// How a call gets to its callee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Via {
    /// Directly, or through a veneer.
    Direct,
    /// Through a PLT stub.
    Plt,
    /// Through a word it reads itself (`call *slot(%rip)`).
    Slot,
}

impl<'d> Image<'d> {
    /// What a direct call or jump to `address` reaches: behind a PLT stub
    /// what its slot is bound to, else the code itself. Stubs are recognized
    /// by their bytes and their slot's relocation, without section headers.
    #[must_use]
    pub fn callee(&self, address: VirtAddr) -> Callee<'d> {
        let mut address = address;
        for _ in 0..=MOST_VENEERS {
            let code = self.aside(|| self.bytes_from(address, plt::LONGEST));
            let stub = match self.arch {
                Arch::X86_64 => plt::x86_64(address, code),
                Arch::Aarch64 => plt::aarch64(address, code),
            };
            let at = address;
            match stub {
                Some(Stub::To(target)) if self.is_executable(target) => address = target,
                Some(Stub::ThroughSlot(slot)) => {
                    if let Some(callee) = self.slot_target(slot) {
                        self.keep(at, code.len());
                        return Callee { via: Via::Plt, ..callee };
                    }
                    break;
                }
                // No bytes at all mean the same as these.
                _ => break,
            }
            self.keep(at, code.len());
        }
        Callee { name: None, address: Some(address), slot: None, resolver: None, via: Via::Direct }
    }

    /// What a call through the word at `slot` reaches; `None` when neither a
    /// relocation nor a constant word tells.
    #[must_use]
    pub fn slot_target(&self, slot: VirtAddr) -> Option<Callee<'d>> {
        let callee =
            Callee { name: None, address: None, slot: Some(slot), resolver: None, via: Via::Slot };
        match self.relocation_at(slot) {
            Some(Relocation::Symbolic { symbol: 0, addend, .. }) => {
                Some(Callee { address: Some(VirtAddr(addend.cast_unsigned())), ..callee })
            }
            Some(Relocation::Symbolic { symbol, addend, .. }) => {
                let symbol = self.dynamic_symbol_at(symbol)?;
                let name = Some(unversioned(symbol.name)).filter(|name| !name.is_empty());
                let at = VirtAddr(symbol.address.0.wrapping_add_signed(addend));
                let own = symbol.defined && symbol.address.0 != 0;
                let (address, resolver) = match symbol.kind {
                    _ if !own => (None, None),
                    SymbolKind::IndirectFunction => (None, Some(at)),
                    _ => (Some(at), None),
                };
                Some(Callee { name: name.filter(|_| addend == 0), address, resolver, ..callee })
            }
            Some(Relocation::Relative { address }) => {
                Some(Callee { address: Some(address), ..callee })
            }
            Some(Relocation::IRelative { resolver }) => {
                Some(Callee { resolver: Some(resolver), ..callee })
            }
            Some(_) => None,
            None => {
                let target = VirtAddr(self.u64_at(slot).filter(|_| self.is_constant(slot))?);
                self.is_executable(target).then_some(Callee { address: Some(target), ..callee })
            }
        }
    }
}
