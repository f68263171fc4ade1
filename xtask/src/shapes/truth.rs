//! What is right for a shape, from its twin's symbol table, its compiler's
//! structure layout and the psABIs' arithmetic. Nothing here is shared with
//! the analyzer.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;

use anyhow::{Context, Result, bail};
use object::elf;
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget};

use super::build::Built;
use super::factors::{Prologue, Python};
use super::shape::Shape;

/// The right answers. Addresses are link-time addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Truth {
    /// `_PyRuntime`: address and size.
    pub(crate) runtime: Option<(u64, u64)>,
    /// The `int` pthread key.
    pub(crate) key: Option<u64>,
    /// The pointer to the state of the thread that holds the GIL.
    pub(crate) global: Option<u64>,
    /// `_Py_tss_tstate`.
    pub(crate) attached: Option<ThreadLocal>,
    /// `_Py_tss_gilstate`.
    pub(crate) owned: Option<ThreadLocal>,
    /// Where a thread-local variable's address comes from: what each GOT word
    /// or pair of words holds, by its address.
    pub(crate) slots: BTreeMap<u64, Slot>,
    /// The evaluation loop's function, and its part that was moved away.
    pub(crate) eval_loop: Vec<Range<u64>>,
}

/// A thread-local variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThreadLocal {
    /// Offset in the module's block.
    pub(crate) offset: u64,
    /// Offset from the thread pointer, in a program.
    pub(crate) tp_offset: Option<i64>,
}

/// What the loader, or the linker before it, puts into a GOT slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// The thread-pointer offset of the variable at this module offset.
    ThreadPointerOffset(u64),
    /// The module, and the variable's offset in the next word.
    ModuleAndOffset(u64),
    /// A descriptor of the variable at this module offset.
    Descriptor(u64),
}

/// Reads the truth of a shape that was built.
///
/// # Errors
/// The twin lacks a symbol it must have, or a file cannot be read.
pub(crate) fn read(shape: &Shape, built: &Built) -> Result<Truth> {
    let bytes =
        fs::read(&built.twin).with_context(|| format!("cannot read {}", built.twin.display()))?;
    let twin = object::File::parse(&*bytes)?;
    let layout = layout(built)?;
    let symbols = Symbols::of(&twin);
    let block = TlsBlock::of(&bytes)?;

    let mut truth = Truth::default();
    if shape.python >= Python::V3_7Early {
        let runtime = symbols.get("_PyRuntime")?;
        truth.runtime = Some((runtime.start, runtime.end - runtime.start));
        let size = layout.get("shape_truth_size").context("no size in the layout")?;
        // The address sanitizer puts a red zone behind, and into the symbol's size.
        if runtime.end - runtime.start != *size && shape.prologue != Prologue::AddressSanitizer {
            bail!("_PyRuntime has {} bytes, the layout says {size}", runtime.end - runtime.start);
        }
        truth.key = layout.get("shape_truth_key").map(|offset| runtime.start + offset);
        truth.global = layout.get("shape_truth_current").map(|offset| runtime.start + offset);
    } else {
        truth.global = Some(symbols.get("_PyThreadState_Current")?.start);
        if shape.python >= Python::V3_3 {
            truth.key = Some(symbols.get("autoTLSkey")?.start);
        }
    }
    let thread_local = |name: &str| -> Result<ThreadLocal> {
        let offset = symbols.get(name)?.start;
        let block = block.as_ref().context("no TLS segment")?;
        let tp_offset = shape.is_program().then(|| block.tp_offset(offset));
        Ok(ThreadLocal { offset, tp_offset })
    };
    if shape.has_thread_locals() {
        truth.attached = Some(thread_local("_Py_tss_tstate")?);
    }
    if shape.python >= Python::V3_15 {
        truth.owned = Some(thread_local("_Py_tss_gilstate")?);
    }
    truth.slots = slots(&twin, block.as_ref());
    let eval = if shape.python >= Python::V3_6 {
        "_PyEval_EvalFrameDefault"
    } else {
        "PyEval_EvalFrameEx"
    };
    truth.eval_loop.push(symbols.get(eval)?);
    truth.eval_loop.extend(symbols.get(&format!("{eval}.cold")));
    Ok(truth)
}

/// The absolute symbols of the compiled `truth.c`.
fn layout(built: &Built) -> Result<BTreeMap<String, u64>> {
    let bytes = fs::read(&built.layout)
        .with_context(|| format!("cannot read {}", built.layout.display()))?;
    let file = object::File::parse(&*bytes)?;
    Ok(file
        .symbols()
        .filter_map(|symbol| Some((symbol.name().ok()?.to_owned(), symbol.address())))
        .filter(|(name, _)| name.starts_with("shape_truth_"))
        .collect())
}

/// The twin's symbols by name, without the suffix that link-time
/// optimization adds to private ones.
struct Symbols(BTreeMap<String, Range<u64>>);

impl Symbols {
    fn of(twin: &object::File<'_>) -> Self {
        let mut symbols = BTreeMap::new();
        for symbol in twin.symbols().filter(|symbol| !symbol.is_undefined()) {
            let Ok(name) = symbol.name() else { continue };
            let name = match name.split_once(".lto_priv.").or(name.split_once(".llvm.")) {
                Some((base, _)) => base,
                None => name,
            };
            let range = symbol.address()..symbol.address() + symbol.size();
            symbols.insert(name.to_owned(), range);
        }
        Self(symbols)
    }

    fn get(&self, name: &str) -> Result<Range<u64>> {
        self.0.get(name).cloned().with_context(|| format!("the twin has no symbol {name}"))
    }
}

/// `PT_TLS` of a program or library.
struct TlsBlock {
    machine: u16,
    address: u64,
    size: u64,
    align: u64,
}

impl TlsBlock {
    fn of(bytes: &[u8]) -> Result<Option<Self>> {
        let header = elf::FileHeader64::<Endianness>::parse(bytes)?;
        let endian = header.endian()?;
        Ok(header
            .program_headers(endian, bytes)?
            .iter()
            .find(|segment| segment.p_type(endian) == elf::PT_TLS)
            .map(|segment| Self {
                machine: header.e_machine(endian).0,
                address: segment.p_vaddr(endian),
                size: segment.p_memsz(endian),
                align: segment.p_align(endian).max(1),
            }))
    }

    /// From the offset in a program's block to the offset from the thread
    /// pointer.
    ///
    /// x86-64 (psABI, variant II): the block ends at or below the thread
    /// pointer, at the highest place where it is aligned like its image in the
    /// file. AArch64 (variant I): it begins at or above 16 bytes after the
    /// thread pointer, at the lowest such place.
    fn tp_offset(&self, offset: u64) -> i64 {
        let mask = self.align - 1;
        let start = if self.machine == elf::EM_X86_64.0 {
            let end_gap = self.address.wrapping_add(self.size).wrapping_neg() & mask;
            self.size.wrapping_add(end_gap).wrapping_neg()
        } else {
            16 + (self.address.wrapping_sub(16) & mask)
        };
        start.wrapping_add(offset).cast_signed()
    }
}

/// Every GOT slot that leads to a thread-local variable, by the relocations
/// that fill it.
fn slots(twin: &object::File<'_>, block: Option<&TlsBlock>) -> BTreeMap<u64, Slot> {
    let mut slots = BTreeMap::new();
    let Some(relocations) = twin.dynamic_relocations() else { return slots };
    let dynamic: Vec<_> = relocations.collect();
    let word = |address: u64| -> Option<u64> {
        twin.sections().find_map(|section| {
            let data = section.data_range(address, 8).ok()??;
            Some(u64::from_le_bytes(data.try_into().ok()?))
        })
    };
    // Symbol plus addend.
    let value = |relocation: &object::Relocation| {
        let symbol = match relocation.target() {
            RelocationTarget::Symbol(index) => twin
                .dynamic_symbol_table()
                .and_then(|table| object::ObjectSymbolTable::symbol_by_index(&table, index).ok())
                .map_or(0, |symbol| symbol.address()),
            _ => 0,
        };
        symbol.wrapping_add(relocation.addend().cast_unsigned())
    };
    for (address, relocation) in &dynamic {
        let RelocationFlags::Elf { r_type } = relocation.flags() else { continue };
        let addend = value(relocation);
        let slot = match (block.map(|block| block.machine == elf::EM_X86_64.0), r_type) {
            (Some(true), elf::R_X86_64_TPOFF64) | (Some(false), elf::R_AARCH64_TLS_TPREL) => {
                Slot::ThreadPointerOffset(addend)
            }
            (Some(true), elf::R_X86_64_TLSDESC) | (Some(false), elf::R_AARCH64_TLSDESC) => {
                Slot::Descriptor(addend)
            }
            (Some(true), elf::R_X86_64_DTPMOD64) | (Some(false), elf::R_AARCH64_TLS_DTPMOD) => {
                let second = address + 8;
                let offset = dynamic
                    .iter()
                    .find(|(address, _)| *address == second)
                    .map(|(_, relocation)| value(relocation))
                    .or_else(|| word(second));
                Slot::ModuleAndOffset(offset.unwrap_or_default())
            }
            _ => continue,
        };
        slots.insert(*address, slot);
    }
    slots
}
