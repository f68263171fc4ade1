//! Returns and indirect jumps behind a call that is never returned from.
//!
//! `-mindirect-branch=thunk`, `-mfunction-return=thunk` (gcc) and
//! `-mretpoline` (clang) put
//!
//! ```text
//!         call    2f
//! 1:      pause
//!         lfence
//!         jmp     1b
//! 2:      lea     rsp, [rsp+8]      or   mov [rsp], REGISTER
//!         ret
//! ```
//!
//! for `ret`, or for `jmp REGISTER`, inline or as a function of its own
//! (gcc 7.3 `output_indirect_thunk` in `config/i386/i386.c`; LLVM 6
//! `X86RetpolineThunks.cpp`, which aligns both parts). Speculation runs in the
//! loop, the program never does.

use crate::{
    addr::VirtAddr,
    code::ir::{Flow, Reg, Target},
    image::Image,
    report::Arch,
};

/// Most bytes between the call and where it goes: two aligned parts.
const FARTHEST: u8 = 48;

/// Length of `call rel32`.
const CALL: u8 = 5;

/// Where the code at link-time address `at` really goes, if it is this idiom.
pub(crate) fn seen_through(image: &Image<'_>, at: VirtAddr) -> Option<Flow> {
    const LOOP: [&[u8]; 2] = [&[0xf3, 0x90, 0x0f, 0xae, 0xe8, 0xeb], &[0xf3, 0x90, 0xeb]];
    if image.arch() != Arch::X86_64 {
        return None;
    }
    let [0xe8, distance, 0, 0, 0] = *image.bytes_from(at, CALL.into()) else { return None };
    if distance == 0 || distance > FARTHEST {
        return None;
    }
    let caught_at = at.0.wrapping_add(CALL.into());
    let spins = |at: u64| {
        let bytes = image.bytes_from(VirtAddr(at), LOOP[0].len());
        LOOP.iter().any(|start| bytes.starts_with(start))
    };
    // clang aligns the loop.
    if !spins(caught_at) && !spins(caught_at.next_multiple_of(16)) {
        return None;
    }
    match *image.bytes_from(VirtAddr(caught_at.wrapping_add(distance.into())), 6) {
        [0x48, 0x8d, 0x64, 0x24, 0x08, 0xc3] | [0x48, 0x83, 0xc4, 0x08, 0xc3, ..] => {
            Some(Flow::Return)
        }
        // mov [rsp], reg: REX.W and its R, the opcode, ModRM with the register, SIB.
        [rex @ (0x48 | 0x4c), 0x89, modrm, 0x24, 0xc3, ..] if modrm & 0xc7 == 0x04 => {
            let number = (modrm >> 3) & 7 | (rex & 4) << 1;
            Some(Flow::Jump(Target::Reg(Reg(number))))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        report::ImageKind,
        shrink::{ElfBuilder, Permissions},
    };

    const AT: VirtAddr = VirtAddr(0x1_0000);

    fn seen(code: &[u8]) -> Option<Flow> {
        let mut file = ElfBuilder::new(Arch::X86_64, ImageKind::Shared);
        file.map(AT, 0x1000, Permissions::CODE).bytes(AT, code);
        let bytes = file.build().expect("a file");
        let image = Image::parse(&bytes).expect("an image");
        seen_through(&image, AT)
    }

    #[test]
    fn what_gcc_and_clang_write() {
        let gcc = [0xe8, 7, 0, 0, 0, 0xf3, 0x90, 0x0f, 0xae, 0xe8, 0xeb, 0xf9];
        let returns = [&gcc[..], &[0x48, 0x8d, 0x64, 0x24, 8, 0xc3]].concat();
        assert_eq!(seen(&returns), Some(Flow::Return));
        let jumps = [&gcc[..], &[0x4c, 0x89, 0x1c, 0x24, 0xc3]].concat();
        assert_eq!(seen(&jumps), Some(Flow::Jump(Target::Reg(Reg(11)))));
        let mut clang = [0xcc; 0x25];
        clang[..5].copy_from_slice(&[0xe8, 0x1b, 0, 0, 0]);
        clang[0x10..0x17].copy_from_slice(&[0xf3, 0x90, 0x0f, 0xae, 0xe8, 0xeb, 0xf9]);
        clang[0x20..].copy_from_slice(&[0x4c, 0x89, 0x1c, 0x24, 0xc3]);
        assert_eq!(seen(&clang), Some(Flow::Jump(Target::Reg(Reg(11)))));
    }

    #[test]
    fn a_call_is_a_call() {
        // Without the loop, and with another way on.
        let plain = [0xe8, 7, 0, 0, 0, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xc3];
        assert_eq!(seen(&plain), None);
        let other = [0xe8, 7, 0, 0, 0, 0xf3, 0x90, 0x0f, 0xae, 0xe8, 0xeb, 0xf9, 0x90, 0xc3];
        assert_eq!(seen(&other), None);
    }
}
