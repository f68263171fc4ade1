//! Bytes nobody meant: every question is asked, nothing may panic or hang.

use std::sync::OnceLock;

use analyzer_core::{
    addr::VirtAddr,
    image::{Image, Range, SymbolKind},
    report::{Arch, ImageKind, TlsSegment},
    shrink::{ElfBuilder, Permissions, RelocationKind, SymbolSpec, cut},
};
use proptest::prelude::*;

/// A file with something of everything, for either architecture.
fn seed(arch: Arch) -> Vec<u8> {
    let mut file = ElfBuilder::new(arch, ImageKind::Shared);
    let (code, data) = (VirtAddr(0x1000), VirtAddr(0x4000));
    file.map(code, 0x2000, Permissions::CODE).map(data, 0x2000, Permissions::DATA);
    file.soname("libx.so").needed("libc.so.6").build_id(&[1; 8]).interpreter("/ld.so");
    file.tls(TlsSegment { address: VirtAddr(0x4800), file_size: 8, memory_size: 16, align: 8 });
    file.relro(Range::new(data, 0x1000));
    file.bytes(code, &[0xff, 0x25, 0xfa, 0x2f, 0, 0, 0x68, 0, 0, 0, 0]);
    let plt = [0x9000_0030_u32 | 0x6000_0000, 0xf940_0211, 0x9100_0210, 0xd61f_0220];
    file.bytes(VirtAddr(0x1100), &plt.map(u32::to_le_bytes).concat());
    let import = file.import("malloc");
    for number in 0..40 {
        let name = format!("function_{number}");
        let symbol = SymbolSpec::function(&name, VirtAddr(0x1000 + 16 * number), 16);
        file.static_symbol(symbol.clone());
        let id = file.dynamic_symbol(symbol);
        let slot = |step| VirtAddr(data.0 + 8 * (number + step));
        file.relocation(slot(0), RelocationKind::JumpSlot, Some(import), 0);
        file.relocation(slot(40), RelocationKind::Relative, None, 0x1000);
        file.relocation(slot(80), RelocationKind::Absolute, Some(id), 0);
    }
    file.static_symbol(SymbolSpec::thread_local("own", 8, 8));
    file.unwind(Range::new(code, 0x100)).unwind(Range::new(VirtAddr(0x1200), 0x40));
    file.section(".got", Range::new(data, 0x400));
    file.attached_section(".gnu_debuglink", b"x.debug\0\x01\x02\x03\x04");
    file.build().unwrap()
}

fn seeds() -> &'static [Vec<u8>; 3] {
    static SEEDS: OnceLock<[Vec<u8>; 3]> = OnceLock::new();
    SEEDS.get_or_init(|| {
        let itself = std::fs::read("/proc/self/exe").unwrap_or_default();
        [seed(Arch::X86_64), seed(Arch::Aarch64), itself]
    })
}

/// Asks everything there is to ask; returns how much was answered.
fn ask(bytes: &[u8]) -> usize {
    let Ok(image) = Image::parse(bytes) else { return 0 };
    let image = image.recording();
    let mut answers = image.needed().count() + image.notes().count();
    answers += usize::from(image.soname().is_some()) + usize::from(image.interpreter().is_some());
    answers += usize::from(image.build_id().is_some()) + usize::from(image.debug_link().is_some());
    answers += image.sections().count() + usize::from(image.section(".got").is_some());
    for name in ["function_7", "malloc", "own", "nothing", ""] {
        answers += usize::from(image.symbol(name).is_some());
        answers += usize::from(image.undefined(name).is_some());
        answers += usize::from(image.copy_relocated(name).is_some());
    }
    answers += image.static_symbols_named(&["own", "function_1", ""]).len();
    answers += image.dynamic_symbols().chain(image.static_symbols()).take(2000).count();
    let mut addresses = vec![0, 1, 0x1000, 0x1100, 0x4000, 0x4140, 0x4281, u64::MAX, u64::MAX - 7];
    for segment in image.segments().iter().take(16) {
        let (start, size) = (segment.address.0, segment.memory_size);
        addresses.extend([start, start.wrapping_add(size / 2), start.wrapping_add(size)]);
    }
    for address in addresses.into_iter().map(VirtAddr) {
        answers += usize::from(image.relocation_at(address).is_some());
        answers += usize::from(image.slot_target(address).is_some());
        answers += usize::from(image.callee(address).name.is_some());
        answers += usize::from(image.function_at(address).is_some());
        answers += usize::from(image.unwind_range(address).is_some());
        answers += usize::from(image.is_constant(address)) + image.bytes_from(address, 64).len();
        answers += usize::from(image.is_copy(address));
        answers += image.u64_at(address).map_or(0, |_| 1) + image.u32_at(address).map_or(0, |_| 1);
        answers += usize::from(image.file_offset(address).is_some());
        answers += usize::from(image.address_of_offset(address.0).is_some());
    }
    // What was answered can be cut out, or the reason told.
    let record = image.record().unwrap();
    if let Ok((small, _)) = cut(&image, &record) {
        let small = Image::parse(&small).unwrap();
        assert_eq!(small.arch(), image.arch());
        assert!(small.is_reproducer());
    }
    answers
}

#[test]
fn seeds_answer() {
    for (seed, least) in seeds().iter().zip([400, 400, 1000]) {
        let answers = ask(seed);
        assert!(answers > least, "{answers}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn flipped_and_cut(
        which in 0..2_usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..24),
        end in any::<prop::sample::Index>(),
        is_cut in any::<bool>(),
    ) {
        let mut bytes = seeds()[which].clone();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if is_cut {
            bytes.truncate(end.index(bytes.len()));
        }
        ask(&bytes);
    }

    /// Changes of whole words where the counts, sizes and offsets are: in the
    /// headers and in the tables.
    #[test]
    fn absurd_numbers(
        which in 0..2_usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..8_usize), 1..6),
    ) {
        const ABSURD: [u64; 8] =
            [0, 1, 0x1001, u32::MAX as u64, 1 << 31, 1 << 63, u64::MAX, u64::MAX - 0xfff];
        let mut bytes = seeds()[which].clone();
        for (at, value) in changes {
            let at = at.index(bytes.len() / 8) * 8;
            bytes[at..at + 8].copy_from_slice(&ABSURD[value].to_le_bytes());
        }
        ask(&bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    /// The same on a real file of megabytes, in its headers.
    #[test]
    fn a_large_file_with_other_headers(
        changes in prop::collection::vec((0..0x400_usize, any::<u8>()), 1..12),
    ) {
        let mut bytes = seeds()[2].clone();
        for (at, value) in changes {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = value;
            }
        }
        ask(&bytes);
    }
}

#[test]
fn every_truncation() {
    for seed in &seeds()[..2] {
        for end in (0..seed.len()).step_by(61) {
            ask(&seed[..end]);
        }
    }
}

#[test]
fn kinds_of_symbols_survive() {
    let image = Image::parse(&seeds()[0]).unwrap();
    assert_eq!(image.symbol("own").unwrap().kind, SymbolKind::Tls);
}
