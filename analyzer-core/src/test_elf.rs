//! Small static executables for tests: functions and constants one after the
//! other, each with a symbol, each function with an unwind entry.

use alloc::vec::Vec;

use crate::{
    addr::VirtAddr,
    image::Range,
    report::{Arch, ImageKind},
    shrink::{ElfBuilder, Permissions, SymbolSpec},
};

/// Link-time address of the first function.
pub(crate) const CODE: u64 = 0x40_1000;
/// Link-time address of the first constant.
pub(crate) const DATA: u64 = 0x50_0000;

/// An executable at fixed addresses, statically linked, with a symbol table.
#[derive(Debug)]
pub(crate) struct TestElf {
    file: ElfBuilder,
    code: Vec<u8>,
    data: Vec<u8>,
}

impl TestElf {
    pub(crate) fn new(arch: Arch) -> Self {
        let mut file = ElfBuilder::new(arch, ImageKind::Executable);
        file.symbol_table();
        Self { file, code: Vec::new(), data: Vec::new() }
    }

    /// Adds a function, aligned to 16 bytes, under a name if it is not empty;
    /// returns its address.
    pub(crate) fn function(&mut self, name: &str, bytes: &[u8]) -> u64 {
        let address = append(CODE, &mut self.code, 16, bytes);
        let size = bytes.len() as u64;
        self.file.unwind(Range::new(VirtAddr(address), size));
        if !name.is_empty() {
            self.file.static_symbol(SymbolSpec::function(name, VirtAddr(address), size));
        }
        address
    }

    /// Adds constants, aligned to 8 bytes; returns their address.
    pub(crate) fn object(&mut self, name: &str, bytes: &[u8]) -> u64 {
        let address = append(DATA, &mut self.data, 8, bytes);
        if !name.is_empty() {
            let size = bytes.len() as u64;
            self.file.static_symbol(SymbolSpec::object(name, VirtAddr(address), size));
        }
        address
    }

    /// Overwrites code bytes, for what refers to later addresses.
    pub(crate) fn patch(&mut self, address: u64, bytes: &[u8]) {
        let at = usize::try_from(address - CODE).unwrap();
        self.code[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// The file.
    pub(crate) fn build(mut self) -> Vec<u8> {
        for (address, bytes, permissions) in
            [(CODE, &self.code, Permissions::CODE), (DATA, &self.data, Permissions::CONSTANT)]
        {
            if !bytes.is_empty() {
                self.file.map(VirtAddr(address), bytes.len() as u64, permissions);
                self.file.bytes(VirtAddr(address), bytes);
            }
        }
        self.file.build().unwrap()
    }
}

fn append(start: u64, to: &mut Vec<u8>, align: usize, bytes: &[u8]) -> u64 {
    to.resize(to.len().next_multiple_of(align), 0);
    let address = start + to.len() as u64;
    to.extend_from_slice(bytes);
    address
}
