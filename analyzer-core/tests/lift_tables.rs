//! Instructions by hand: bytes from assemblers and from published reports,
//! effects from the architecture manuals.

#[path = "lift/notation.rs"]
mod notation;

use analyzer_core::addr::VirtAddr;
use analyzer_core::code::ir::{LiftError, Lifted};
use analyzer_core::code::{lift, text};
use analyzer_core::report::Arch;

/// Every instruction of the tables lies here.
const AT: VirtAddr = VirtAddr(0x40_0123);
const AT_ALIGNED: VirtAddr = VirtAddr(0x40_0120);

fn bytes(digits: &str) -> Vec<u8> {
    let digits: Vec<char> = digits.chars().filter(|char| !char.is_whitespace()).collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(&pair.iter().collect::<String>(), 16).expect("digits"))
        .collect()
}

/// Rows are bytes, disassembly, effects, flow.
fn check(arch: Arch, at: VirtAddr, rows: &[[&str; 4]]) {
    let mut lifted = Lifted::new();
    for [digits, disassembly, effects, flow] in rows {
        let code = bytes(digits);
        lift(arch, &code, at, &mut lifted).unwrap_or_else(|error| panic!("{digits}: {error:?}"));
        assert_eq!(text::format(arch, &code, at, &|_| None), *disassembly, "{digits}");
        assert_eq!(notation::effects(arch, &lifted), *effects, "{disassembly}");
        assert_eq!(notation::flow(arch, &lifted.flow), *flow, "{disassembly}");
        assert_eq!(usize::from(lifted.len), code.len(), "{disassembly}");
        assert_eq!(lifted.address, at, "{disassembly}");
    }
}

#[test]
fn x86_64_moves() {
    check(
        Arch::X86_64,
        AT,
        &[
            ["48 89 df", "mov rdi, rbx", "rdi = rbx", "next"],
            ["89 df", "mov edi, ebx", "rdi:32 = rbx", "next"],
            ["66 89 df", "mov di, bx", "rdi = ?", "next"],
            ["40 88 df", "mov dil, bl", "rdi = ?", "next"],
            ["48 c7 c0 f8 ff ff ff", "mov rax, 0xfffffffffffffff8", "rax = -0x8", "next"],
            ["bb 08 06 00 00", "mov ebx, 0x608", "rbx:32 = 0x608", "next"],
            [
                "48 b8 88 77 66 55 44 33 22 11",
                "mov rax, 0x1122334455667788",
                "rax = 0x1122334455667788",
                "next",
            ],
            ["48 8b 05 c9 c0 26 00", "mov rax, [0x66c1f3]", "rax = [@0x66c1f3]8", "next"],
            ["8b 3c 25 94 b9 a5 00", "mov edi, [0xa5b994]", "rdi:32 = [0xa5b994]4", "next"],
            [
                "48 a1 00 00 00 40 01 00 00 00",
                "mov rax, [0x140000000]",
                "rax = [0x140000000]8",
                "next",
            ],
            ["88 65 f8", "mov [rbp-0x8], ah", "temp0 = rax >> 0x8; [rbp + -0x8]1 = temp0", "next"],
            [
                "48 c7 44 24 08 ff ff ff ff",
                "mov qword ptr [rsp+0x8], 0xffffffffffffffff",
                "[rsp + 0x8]8 = -0x1",
                "next",
            ],
            ["0f b6 07", "movzx eax, byte ptr [rdi]", "rax:32 = [rdi]1", "next"],
            ["0f b6 c4", "movzx eax, ah", "temp0 = rax >> 0x8; rax:32 = zext8 temp0", "next"],
            ["48 0f bf c1", "movsx rax, cx", "rax = sext16 rcx", "next"],
            ["48 63 07", "movsxd rax, [rdi]", "rax = s[rdi]4", "next"],
            ["66 0f be c1", "movsx ax, cl", "rax = ?", "next"],
            ["0f 45 c7", "cmovne eax, edi", "rax:32 = rax or rdi", "next"],
            ["48 0f 44 07", "cmove rax, [rdi]", "temp0 = [rdi]8; rax = rax or temp0", "next"],
            ["48 93", "xchg rbx, rax", "temp0 = rbx; rbx = rax; rax = temp0", "next"],
            ["87 07", "xchg [rdi], eax", "temp0 = [rdi]4; [rdi]4 = rax; rax:32 = temp0", "next"],
            ["90", "nop", "", "next"],
            ["f3 0f 1e fa", "endbr64", "", "next"],
            ["66 2e 0f 1f 84 00 00 00 00 00", "nop word ptr cs:[rax+rax]", "", "next"],
        ],
    );
}

#[test]
fn x86_64_addresses() {
    check(
        Arch::X86_64,
        AT,
        &[
            ["48 8d 98 08 06 00 00", "lea rbx, [rax+0x608]", "rbx = &[rax + 0x608]", "next"],
            ["48 8d 3d 00 00 00 00", "lea rdi, [0x40012a]", "rdi = @0x40012a", "next"],
            ["66 48 8d 3d 00 00 00 00", "lea rdi, [0x40012b]", "rdi = @0x40012b", "next"],
            ["4c 8d 04 c8", "lea r8, [rax+rcx*8]", "r8 = &[rax + rcx<<3]", "next"],
            ["8d 40 d0", "lea eax, [rax-0x30]", "rax:32 = &[rax + -0x30]", "next"],
            ["67 8d 40 d0", "lea eax, [eax-0x30]", "rax = ?", "next"],
            ["67 8b 00", "mov eax, [eax]", "rax = ?", "next"],
            ["67 89 00", "mov [eax], eax", "[] = ?", "next"],
            ["64 48 8b 04 25 f8 ff ff ff", "mov rax, fs:[-0x8]", "rax = [tp + -0x8]8", "next"],
            ["64 48 8b 04 25 00 00 00 00", "mov rax, fs:[0x0]", "rax = [tp]8", "next"],
            ["64 48 8b 00", "mov rax, fs:[rax]", "rax = [tp + rax]8", "next"],
            [
                "64 48 03 04 25 10 00 00 00",
                "add rax, fs:[0x10]",
                "temp1 = [tp + 0x10]8; rax = rax + temp1",
                "next",
            ],
            ["65 48 8b 00", "mov rax, gs:[rax]", "rax = ?", "next"],
            ["65 48 89 00", "mov gs:[rax], rax", "[] = ?", "next"],
            ["f3 48 0f ae c0", "rdfsbase rax", "rax = tp", "next"],
            ["f3 0f ae c0", "rdfsbase eax", "rax = ?", "next"],
            ["f3 48 0f ae d0", "wrfsbase rax", "", "stop"],
            ["8e e0", "mov fs, eax", "", "stop"],
            ["8e e8", "mov gs, eax", "", "next"],
        ],
    );
}

#[test]
fn x86_64_arithmetic() {
    check(
        Arch::X86_64,
        AT,
        &[
            [
                "48 03 1d 0b 1e 25 00",
                "add rbx, [0x651f35]",
                "temp1 = [@0x651f35]8; rbx = rbx + temp1",
                "next",
            ],
            ["48 83 ec 08", "sub rsp, 0x8", "rsp = rsp - 0x8", "next"],
            ["83 c0 ff", "add eax, 0xffffffff", "rax:32 = rax + -0x1", "next"],
            ["48 83 e4 f0", "and rsp, 0xfffffffffffffff0", "rsp = rsp & -0x10", "next"],
            ["31 c0", "xor eax, eax", "rax:32 = 0x0", "next"],
            ["48 29 c0", "sub rax, rax", "rax = 0x0", "next"],
            ["30 c0", "xor al, al", "rax = ?", "next"],
            [
                "01 3b",
                "add [rbx], edi",
                "temp0 = [rbx]4; temp0:32 = temp0 + rdi; [rbx]4 = temp0",
                "next",
            ],
            [
                "80 0f 01",
                "or byte ptr [rdi], 0x1",
                "temp0 = [rdi]1; temp0:8 = temp0 | 0x1; [rdi]1 = temp0",
                "next",
            ],
            ["48 c1 e0 04", "shl rax, 0x4", "rax = rax << 0x4", "next"],
            ["c1 f8 1f", "sar eax, 0x1f", "rax:32 = rax >>> 0x1f", "next"],
            ["48 d1 e8", "shr rax, 0x1", "rax = rax >> 0x1", "next"],
            ["48 d3 e0", "shl rax, cl", "rax = ?", "next"],
            ["48 6b c7 18", "imul rax, rdi, 0x18", "rax = rdi * 0x18", "next"],
            ["0f af 07", "imul eax, [rdi]", "temp0 = [rdi]4; rax:32 = rax * temp0", "next"],
            ["48 f7 e7", "mul rdi", "rax = rax * rdi; rdx = ?", "next"],
            ["ff c0", "inc eax", "rax:32 = rax + 0x1", "next"],
            [
                "48 ff 0f",
                "dec qword ptr [rdi]",
                "temp0 = [rdi]8; temp0 = temp0 - 0x1; [rdi]8 = temp0",
                "next",
            ],
            ["48 f7 d8", "neg rax", "rax = 0x0 - rax", "next"],
            ["f7 d0", "not eax", "rax:32 = rax ^ -0x1", "next"],
            ["48 98", "cdqe", "rax = sext32 rax", "next"],
            ["48 99", "cqo", "rdx = rax >>> 0x3f", "next"],
            ["48 0f c8", "bswap rax", "rax = ?", "next"],
            ["48 19 c0", "sbb rax, rax", "rax = ?", "next"],
            ["48 39 f8", "cmp rax, rdi", "", "next"],
            ["85 c0", "test eax, eax", "", "next"],
            ["0f 94 c0", "sete al", "rax = ?", "next"],
            ["0f 94 07", "sete [rdi]", "[rdi]1 = ?", "next"],
            ["48 0f b3 07", "btr [rdi], rax", "[] = ?", "next"],
            ["f0 48 0f c1 07", "lock xadd [rdi], rax", "[rdi]8 = ?; rax = ?", "next"],
            ["f0 48 0f b1 0f", "lock cmpxchg [rdi], rcx", "[rdi]8 = ?; rax = ?", "next"],
            ["f3 48 ab", "rep stosq [rdi], rax", "[] = ?; rcx = ?; rdi = ?", "next"],
            ["0f 11 47 10", "movups [rdi+0x10], xmm0", "[rdi + 0x10]16 = ?", "next"],
            ["66 48 0f 7e c0", "movq rax, xmm0", "rax = ?", "next"],
            ["0f a2", "cpuid", "rax = ?; rcx = ?; rdx = ?; rbx = ?", "next"],
        ],
    );
}

#[test]
fn x86_64_stack() {
    check(
        Arch::X86_64,
        AT,
        &[
            ["53", "push rbx", "[rsp + -0x8]8 = rbx; rsp = rsp + -0x8", "next"],
            ["54", "push rsp", "[rsp + -0x8]8 = rsp; rsp = rsp + -0x8", "next"],
            ["6a ff", "push 0xffffffffffffffff", "[rsp + -0x8]8 = -0x1; rsp = rsp + -0x8", "next"],
            [
                "ff 74 24 10",
                "push qword ptr [rsp+0x10]",
                "temp0 = [rsp + 0x10]8; [rsp + -0x8]8 = temp0; rsp = rsp + -0x8",
                "next",
            ],
            ["5b", "pop rbx", "rbx = [rsp]8; rsp = rsp + 0x8", "next"],
            ["5c", "pop rsp", "rsp = [rsp]8", "next"],
            [
                "8f 04 24",
                "pop qword ptr [rsp]",
                "temp0 = [rsp]8; rsp = rsp + 0x8; [rsp]8 = temp0",
                "next",
            ],
            ["66 5c", "pop sp", "rsp = ?", "next"],
            ["9c", "pushfq", "[rsp + -0x8]8 = ?; rsp = rsp + -0x8", "next"],
            ["c9", "leave", "rsp = rbp; rbp = [rsp]8; rsp = rsp + 0x8", "next"],
            [
                "c8 20 00 00",
                "enter 0x20, 0x0",
                "[rsp + -0x8]8 = rbp; rsp = rsp + -0x8; rbp = rsp; rsp = rsp + -0x20",
                "next",
            ],
        ],
    );
}

#[test]
fn x86_64_flow() {
    check(
        Arch::X86_64,
        AT,
        &[
            ["74 0d", "je 0x400132", "", "branch 0x400132"],
            ["0f 84 1f c8 f2 ff", "je 0x32c948", "", "branch 0x32c948"],
            ["eb fe", "jmp 0x400123", "", "jump 0x400123"],
            ["e9 00 00 00 00", "jmp 0x400128", "", "jump 0x400128"],
            [
                "e8 00 00 00 00",
                "call 0x400128",
                "[rsp + -0x8]8 = @0x400128; rsp = rsp + -0x8",
                "call 0x400128",
            ],
            [
                "67 e8 00 00 00 00",
                "call 0x400129",
                "[rsp + -0x8]8 = @0x400129; rsp = rsp + -0x8",
                "call 0x400129",
            ],
            ["ff 25 10 00 00 00", "jmp qword ptr [0x400139]", "", "jump [@0x400139]"],
            ["f2 ff 25 10 00 00 00", "bnd jmp qword ptr [0x40013a]", "", "jump [@0x40013a]"],
            ["3e ff e0", "notrack jmp rax", "", "jump rax"],
            [
                "ff 10",
                "call qword ptr [rax]",
                "[rsp + -0x8]8 = @0x400125; rsp = rsp + -0x8",
                "call [rax]",
            ],
            [
                "ff 14 24",
                "call qword ptr [rsp]",
                "temp0 = [rsp]8; [rsp + -0x8]8 = @0x400126; rsp = rsp + -0x8",
                "call temp0",
            ],
            [
                "ff d4",
                "call rsp",
                "temp0 = rsp; [rsp + -0x8]8 = @0x400125; rsp = rsp + -0x8",
                "call temp0",
            ],
            ["65 ff 20", "jmp qword ptr gs:[rax]", "temp0 = ?", "jump temp0"],
            ["c3", "ret", "rsp = rsp + 0x8", "return"],
            ["f3 c3", "rep ret", "rsp = rsp + 0x8", "return"],
            ["c2 f0 ff", "ret 0xfff0", "rsp = rsp + 0xfff8", "return"],
            ["e2 fe", "loop 0x400123", "rcx = rcx - 0x1", "branch 0x400123"],
            ["e3 00", "jrcxz 0x400125", "", "branch 0x400125"],
            ["0f 0b", "ud2", "", "stop"],
            ["cc", "int3", "", "stop"],
            ["cd 80", "int 0x80", "", "stop"],
            ["f4", "hlt", "", "stop"],
            ["0f 05", "syscall", "[] = ?; rax = ?; rcx = ?; r11 = ?", "next"],
            ["c7 f8 00 00 00 00", "xbegin 0x400129", "rax = ?", "branch 0x400129"],
        ],
    );
}

#[test]
fn aarch64_addresses() {
    check(
        Arch::Aarch64,
        AT_ALIGNED,
        &[
            ["42 d0 3b d5", "mrs x2, tpidr_el0", "x2 = tp", "next"],
            ["43 40 01 91", "add x3, x2, #0x50", "x3 = x2 + 0x50", "next"],
            ["60 04 40 f9", "ldr x0, [x3, #0x8]", "x0 = [x3 + 0x8]8", "next"],
            ["00 00 40 91", "add x0, x0, #0x0, lsl #12", "x0 = x0", "next"],
            ["00 04 40 91", "add x0, x0, #0x1, lsl #12", "x0 = x0 + 0x1000", "next"],
            ["20 04 02 90", "adrp x0, 0x4484000", "x0 = @0x4484000", "next"],
            ["e0 ff ff 10", "adr x0, 0x40011c", "x0 = @0x40011c", "next"],
            ["ff 43 00 d1", "sub sp, sp, #0x10", "sp = sp - 0x10", "next"],
            ["fd 03 00 91", "mov x29, sp", "x29 = sp", "next"],
            ["00 00 02 8b", "add x0, x0, x2", "x0 = x0 + x2", "next"],
            ["00 0c 02 8b", "add x0, x0, x2, lsl #3", "temp0 = x2 << 0x3; x0 = x0 + temp0", "next"],
            [
                "20 4c 22 8b",
                "add x0, x1, w2, uxtw #3",
                "temp0 = zext32 x2; temp0 = temp0 << 0x3; x0 = x1 + temp0",
                "next",
            ],
            ["20 c0 22 8b", "add x0, x1, w2, sxtw", "temp0 = sext32 x2; x0 = x1 + temp0", "next"],
            ["e0 03 02 cb", "neg x0, x2", "x0 = 0x0 - x2", "next"],
            ["5f 00 00 f1", "cmp x2, #0x0", "", "next"],
        ],
    );
}

#[test]
fn aarch64_moves_and_logic() {
    check(
        Arch::Aarch64,
        AT_ALIGNED,
        &[
            ["e0 03 13 aa", "mov x0, x19", "x0 = x19", "next"],
            ["e0 03 13 2a", "mov w0, w19", "x0:32 = x19", "next"],
            ["00 cc 81 d2", "mov x0, #0xe60", "x0 = 0xe60", "next"],
            ["20 00 a0 d2", "mov x0, #0x10000", "x0 = 0x10000", "next"],
            ["e0 00 80 92", "mov x0, #0xfffffffffffffff8", "x0 = -0x8", "next"],
            ["e0 00 80 12", "mov w0, #0xfffffff8", "x0:32 = 0xfffffff8", "next"],
            [
                "60 ac ac f2",
                "movk x0, #0x6563, lsl #16",
                "x0 = x0 & 0xffffffff0000ffff; x0 = x0 | 0x65630000",
                "next",
            ],
            ["e0 0b 40 b2", "mov x0, #0x7", "x0 = 0x7", "next"],
            ["00 ec 7c 92", "and x0, x0, #0xfffffffffffffff0", "x0 = x0 & -0x10", "next"],
            ["20 00 22 8a", "bic x0, x1, x2", "temp0 = x2 ^ -0x1; x0 = x1 & temp0", "next"],
            ["20 00 02 ca", "eor x0, x1, x2", "x0 = x1 ^ x2", "next"],
            ["20 f0 7d d3", "lsl x0, x1, #0x3", "x0 = x1 << 0x3", "next"],
            ["20 fc 43 d3", "lsr x0, x1, #0x3", "x0 = x1 >> 0x3", "next"],
            ["20 7c 03 13", "asr w0, w1, #0x3", "x0:32 = x1 >>> 0x3", "next"],
            [
                "20 7c 7d d3",
                "ubfiz x0, x1, #0x3, #0x20",
                "x0 = x1 & 0xffffffff; x0 = x0 << 0x3",
                "next",
            ],
            ["20 1c 44 d3", "ubfx x0, x1, #0x4, #0x4", "x0 = x1 >> 0x4; x0 = x0 & 0xf", "next"],
            ["20 7c 40 93", "sxtw x0, w1", "x0 = sext32 x1", "next"],
            [
                "20 7c 7d 93",
                "sbfiz x0, x1, #0x3, #0x20",
                "x0 = x1 << 0x20; x0 = x0 >>> 0x1d",
                "next",
            ],
            ["20 1c 00 53", "uxtb w0, w1", "x0:32 = x1 & 0xff", "next"],
            ["20 7c 02 9b", "mul x0, x1, x2", "x0 = x1 * x2", "next"],
            ["20 0c 02 9b", "madd x0, x1, x2, x3", "temp0 = x1 * x2; x0 = x3 + temp0", "next"],
            [
                "20 7c a2 9b",
                "umull x0, w1, w2",
                "temp0 = zext32 x1; temp1 = zext32 x2; x0 = temp0 * temp1",
                "next",
            ],
            ["20 00 82 9a", "csel x0, x1, x2, eq", "x0 = x1 or x2", "next"],
            ["e0 17 9f 1a", "cset w0, eq", "temp0:32 = 0x0 + 0x1; x0:32 = 0x0 or temp0", "next"],
            ["20 20 c2 9a", "lsl x0, x1, x2", "x0 = ?", "next"],
            ["20 08 c2 9a", "udiv x0, x1, x2", "x0 = ?", "next"],
        ],
    );
}

#[test]
fn aarch64_memory() {
    check(
        Arch::Aarch64,
        AT_ALIGNED,
        &[
            ["40 30 41 f9", "ldr x0, [x2, #0x260]", "x0 = [x2 + 0x260]8", "next"],
            ["60 5c 42 b9", "ldr w0, [x3, #0x25c]", "x0:32 = [x3 + 0x25c]4", "next"],
            ["40 80 5f f8", "ldur x0, [x2, #-0x8]", "x0 = [x2 + -0x8]8", "next"],
            ["41 04 40 39", "ldrb w1, [x2, #0x1]", "x1:32 = [x2 + 0x1]1", "next"],
            ["41 00 80 39", "ldrsb x1, [x2]", "x1 = s[x2]1", "next"],
            ["41 00 80 b9", "ldrsw x1, [x2]", "x1 = s[x2]4", "next"],
            ["40 8c 40 f8", "ldr x0, [x2, #0x8]!", "x0 = [x2 + 0x8]8; x2 = x2 + 0x8", "next"],
            ["40 84 40 f8", "ldr x0, [x2], #0x8", "x0 = [x2]8; x2 = x2 + 0x8", "next"],
            ["42 84 40 f8", "ldr x2, [x2], #0x8", "x2 = ?", "next"],
            ["40 68 61 f8", "ldr x0, [x2, x1]", "x0 = [x2 + x1]8", "next"],
            ["40 78 61 f8", "ldr x0, [x2, x1, lsl #3]", "x0 = [x2 + x1<<3]8", "next"],
            ["40 58 61 f8", "ldr x0, [x2, w1, uxtw #3]", "x0 = [x2 + x1.u32<<3]8", "next"],
            ["40 d8 61 b8", "ldr w0, [x2, w1, sxtw #2]", "x0:32 = [x2 + x1.s32<<2]4", "next"],
            ["40 00 00 58", "ldr x0, 0x400128", "x0 = [@0x400128]8", "next"],
            ["e1 03 00 f9", "str x1, [sp]", "[sp]8 = x1", "next"],
            ["5f 00 00 b9", "str wzr, [x2]", "[x2]4 = 0x0", "next"],
            [
                "fd 7b be a9",
                "stp x29, x30, [sp, #-0x20]!",
                "[sp + -0x20]8 = x29; [sp + -0x18]8 = x30; sp = sp + -0x20",
                "next",
            ],
            [
                "fd 7b c2 a8",
                "ldp x29, x30, [sp], #0x20",
                "x29 = [sp]8; x30 = [sp + 0x8]8; sp = sp + 0x20",
                "next",
            ],
            ["00 04 40 a9", "ldp x0, x1, [x0]", "x1 = [x0 + 0x8]8; x0 = [x0]8", "next"],
            ["41 00 40 69", "ldpsw x1, x0, [x2]", "x1 = s[x2]4; x0 = s[x2 + 0x4]4", "next"],
            [
                "e0 07 be ad",
                "stp q0, q1, [sp, #-0x40]!",
                "[sp + -0x40]32 = ?; sp = sp + -0x40",
                "next",
            ],
            ["20 7c 5f 88", "ldxr w0, [x1]", "x0:32 = [x1]4", "next"],
            ["20 fc df c8", "ldar x0, [x1]", "x0 = [x1]8", "next"],
            ["20 c0 bf f8", "ldapr x0, [x1]", "x0 = [x1]8", "next"],
            ["20 fc 9f c8", "stlr x0, [x1]", "[x1]8 = x0", "next"],
            ["20 7c 02 c8", "stxr w2, x0, [x1]", "[x1]8 = ?; x2 = ?", "next"],
            ["43 00 e1 f8", "ldaddal x1, x3, [x2]", "[x2]8 = ?; x3 = ?", "next"],
            ["43 fc e1 c8", "casal x1, x3, [x2]", "[x2]8 = ?; x1 = ?", "next"],
            ["20 74 0b d5", "sys #0x3, c7, c4, #0x1, x0", "[] = ?; x0 = ?", "next"],
        ],
    );
}

#[test]
fn aarch64_flow() {
    check(
        Arch::Aarch64,
        AT_ALIGNED,
        &[
            ["04 00 00 14", "b 0x400130", "", "jump 0x400130"],
            ["20 00 00 54", "b.eq 0x400124", "", "branch 0x400124"],
            ["2e 00 00 54", "b.al 0x400124", "", "jump 0x400124"],
            ["40 00 00 b4", "cbz x0, 0x400128", "", "branch 0x400128"],
            ["40 00 00 35", "cbnz w0, 0x400128", "", "branch 0x400128"],
            ["40 00 f8 b6", "tbz x0, #0x3f, 0x400128", "", "branch 0x400128"],
            ["04 00 00 94", "bl 0x400130", "x30 = @0x400124", "call 0x400130"],
            ["60 02 3f d6", "blr x19", "x30 = @0x400124", "call x19"],
            ["c0 03 3f d6", "blr x30", "temp0 = x30; x30 = @0x400124", "call temp0"],
            ["20 02 1f d6", "br x17", "", "jump x17"],
            ["30 0a 1f d7", "braa x17, x16", "", "jump x17"],
            ["20 0a 3f d7", "blraa x17, x0", "x30 = @0x400124", "call x17"],
            ["c0 03 5f d6", "ret", "", "return"],
            ["ff 0b 5f d6", "retaa", "", "return"],
            ["3f 23 03 d5", "paciasp", "", "next"],
            ["bf 23 03 d5", "autiasp", "", "next"],
            ["1f 21 03 d5", "pacia1716", "x17 = ?", "next"],
            ["ff 20 03 d5", "xpaclri", "x30 = ?", "next"],
            ["5f 24 03 d5", "bti c", "", "next"],
            ["1f 20 03 d5", "nop", "", "next"],
            ["00 10 c1 da", "autia x0, x0", "x0 = ?", "next"],
            ["bf 3b 03 d5", "dmb ish", "", "next"],
            ["01 00 00 d4", "svc #0x0", "[] = ?; x0 = ?", "next"],
            ["00 00 20 d4", "brk #0x0", "", "stop"],
            ["00 00 00 00", "udf #0x0", "", "stop"],
            ["40 e0 3b d5", "mrs x0, cntvct_el0", "x0 = ?", "next"],
            ["40 d0 1b d5", "msr tpidr_el0, x0", "", "stop"],
        ],
    );
}

#[test]
fn names_stand_in_the_text() {
    let names = |at: VirtAddr| {
        let name = match at.0 {
            0x40_0128 => "PyThread_tss_get@plt",
            0x66_c1f3 => "_PyRuntime@got",
            _ => return None,
        };
        Some(name.to_owned())
    };
    for (arch, at, digits, expected) in [
        (Arch::X86_64, AT, "e8 00 00 00 00", "call PyThread_tss_get@plt"),
        (Arch::X86_64, AT, "48 8b 05 c9 c0 26 00", "mov rax, [0x66c1f3 <_PyRuntime@got>]"),
        (Arch::Aarch64, AT_ALIGNED, "02 00 00 94", "bl PyThread_tss_get@plt"),
        (Arch::Aarch64, AT_ALIGNED, "40 00 00 58", "ldr x0, 0x400128 <PyThread_tss_get@plt>"),
        (Arch::X86_64, AT, "06", "(bad)"),
        (Arch::Aarch64, AT_ALIGNED, "ff ff ff ff", "(bad)"),
    ] {
        assert_eq!(text::format(arch, &bytes(digits), at, &names), expected);
    }
}

#[test]
fn what_is_no_instruction() {
    let mut lifted = Lifted::new();
    for (arch, digits, expected) in [
        (Arch::X86_64, "", LiftError::Truncated),
        (Arch::X86_64, "48", LiftError::Truncated),
        (Arch::X86_64, "e8 00 00", LiftError::Truncated),
        (Arch::X86_64, "06 00", LiftError::Undecodable),
        (
            Arch::X86_64,
            "66 66 66 66 66 66 66 66 66 66 66 66 66 66 66 66 90",
            LiftError::Undecodable,
        ),
        (Arch::Aarch64, "", LiftError::Truncated),
        (Arch::Aarch64, "1f 20 03", LiftError::Truncated),
        (Arch::Aarch64, "ff ff ff ff", LiftError::Undecodable),
        // movz w0, #1, lsl #32
        (Arch::Aarch64, "20 00 c0 52", LiftError::Undecodable),
        // and w0, w1, w2, lsl #32
        (Arch::Aarch64, "20 80 02 0a", LiftError::Undecodable),
    ] {
        assert_eq!(lift(arch, &bytes(digits), AT, &mut lifted), Err(expected), "{digits}");
        assert!(lifted.ops.is_empty() && lifted.len == 0, "{digits}");
    }
}
