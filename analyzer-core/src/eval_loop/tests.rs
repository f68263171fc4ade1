use alloc::{string::String, vec};
use std::iter::repeat_n;

use super::*;
use crate::{
    report::Arch,
    test_elf::{DATA, TestElf},
};

const NOPS: [u8; 32] = [0x90; 32];

fn range(start: u64, end: u64) -> Range {
    Range { start: VirtAddr(start), end: VirtAddr(end) }
}

fn ranges(elf: TestElf) -> Vec<(u64, u64, String)> {
    let file = elf.build();
    eval_loop(&Image::parse(&file).unwrap(), None)
        .into_iter()
        .map(|range| (range.start.0, range.end.0, range.part))
        .collect()
}

/// `opcode`, then the 32-bit distance from its end to `target`.
fn x86_jump(at: u64, opcode: &[u8], target: u64) -> Vec<u8> {
    let end = at + opcode.len() as u64 + 4;
    let mut bytes = opcode.to_vec();
    let distance = u32::try_from(target.wrapping_sub(end) & 0xffff_ffff).unwrap();
    bytes.extend_from_slice(&distance.to_le_bytes());
    bytes
}

/// `jmp *table(,%rax,8)`.
fn x86_dispatch(table: u64) -> Vec<u8> {
    let mut bytes = vec![0xff, 0x24, 0xc5];
    bytes.extend_from_slice(&u32::try_from(table).unwrap().to_le_bytes());
    bytes
}

/// `adrp x1, table; add x1, x1, #low; ldr x1, [x1, x0, lsl #3]; br x1`.
fn aarch64_dispatch(at: u64, table: u64) -> Vec<u8> {
    let pages = u32::try_from((table >> 12) - (at >> 12)).unwrap();
    let adrp = 0x9000_0001 | (pages & 3) << 29 | pages >> 2 << 5;
    let add = 0x9100_0021 | u32::try_from(table & 0xfff).unwrap() << 10;
    [adrp, add, 0xf860_7821, 0xd61f_0020].iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn table(targets: impl IntoIterator<Item = u64>) -> Vec<u8> {
    targets.into_iter().flat_map(u64::to_le_bytes).collect()
}

const JE: &[u8] = &[0x0f, 0x84];
const JMP: &[u8] = &[0xe9];
const CALL: &[u8] = &[0xe8];

#[test]
fn a_jump_into_other_code_leads_to_the_cold_part() {
    let mut elf = TestElf::new(Arch::X86_64);
    let cold = elf.function("", &NOPS);
    let colder = elf.function("", &NOPS);
    let other = elf.function("helper", &NOPS);
    let hot = elf.function("_PyEval_EvalFrameDefault", &NOPS);
    elf.function("PyEval_EvalFrameEx", &NOPS);
    elf.patch(hot, &x86_jump(hot, JE, cold + 8));
    elf.patch(hot + 6, &x86_jump(hot + 6, CALL, other));
    elf.patch(hot + 11, &x86_jump(hot + 11, JMP, other));
    elf.patch(cold, &x86_jump(cold, JE, colder + 4));
    elf.patch(cold + 6, &x86_jump(cold + 6, JMP, hot + 5));
    let cold_part = |at: u64| (at, at + 32, String::from("cold"));
    let expected = [(hot, hot + 32, "hot".into()), cold_part(cold), cold_part(colder)];
    assert_eq!(ranges(elf), expected);
}

#[test]
fn a_part_that_is_entered_at_its_start_comes_back() {
    let mut elf = TestElf::new(Arch::X86_64);
    let cold = elf.function("", &NOPS);
    let other = elf.function("", &NOPS);
    let hot = elf.function("_PyEval_EvalFrameDefault", &NOPS);
    elf.patch(hot, &x86_jump(hot, JE, cold));
    elf.patch(hot + 6, &x86_jump(hot + 6, JMP, other));
    elf.patch(cold + 8, &x86_jump(cold + 8, JMP, hot + 16));
    elf.patch(other + 8, &x86_jump(other + 8, JMP, hot));
    assert_eq!(ranges(elf), [(hot, hot + 32, "hot".into()), (cold, cold + 32, "cold".into())]);
}

#[test]
fn before_3_6_the_loop_has_another_name() {
    let mut elf = TestElf::new(Arch::X86_64);
    let hot = elf.function("PyEval_EvalFrameEx", &NOPS);
    assert_eq!(ranges(elf), [(hot, hot + 32, "hot".into())]);
    assert_eq!(ranges(TestElf::new(Arch::X86_64)), []);
}

#[test]
fn symbols_of_clones_are_parts() {
    let mut elf = TestElf::new(Arch::X86_64);
    let cold = elf.function("_PyEval_EvalFrameDefault.cold", &NOPS);
    let part = elf.function("_PyEval_EvalFrameDefault.part.0", &NOPS);
    let hot = elf.function("_PyEval_EvalFrameDefault", &NOPS);
    let expected = [
        (hot, hot + 32, "hot".into()),
        (cold, cold + 32, "cold".into()),
        (part, part + 32, "hot".into()),
    ];
    assert_eq!(ranges(elf), expected);
}

#[test]
fn a_dispatch_table_leads_to_labels() {
    let mut elf = TestElf::new(Arch::X86_64);
    let cold = elf.function("", &NOPS);
    let hot = elf.function("_PyEval_EvalFrameDefault", &NOPS);
    let labels = repeat_n(hot + 16, 255).chain([cold + 9]);
    let opcodes = elf.object("", &table(labels));
    elf.patch(hot, &x86_dispatch(opcodes));
    assert_eq!(ranges(elf), [(hot, hot + 32, "hot".into()), (cold, cold + 32, "cold".into())]);
}

#[test]
fn a_shorter_table_is_none() {
    let mut elf = TestElf::new(Arch::X86_64);
    let cold = elf.function("", &NOPS);
    let hot = elf.function("_PyEval_EvalFrameDefault", &NOPS);
    let opcodes = elf.object("", &table(repeat_n(cold + 9, 255).chain([DATA])));
    elf.patch(hot, &x86_dispatch(opcodes));
    assert_eq!(ranges(elf), [(hot, hot + 32, "hot".into())]);
}

/// The evaluation function calls the first handler, handlers dispatch through
/// the table, and two of them go on in one more function for errors.
fn tail_calls(name_of_handlers: &'static str) -> (TestElf, [u64; 6]) {
    let mut elf = TestElf::new(Arch::X86_64);
    let handler = [(); 3].map(|()| elf.function(name_of_handlers, &NOPS));
    let error = elf.function(name_of_handlers, &NOPS);
    let other = elf.function("helper", &NOPS);
    let hot = elf.function("_PyEval_EvalFrameDefault", &NOPS);
    let [first, second, third] = handler;
    let opcodes = elf.object("", &table(repeat_n(second, 100).chain(repeat_n(third, 156))));
    elf.patch(hot, &x86_jump(hot, CALL, first));
    for (handler, goes_on) in [(first, third), (second, error), (third, error)] {
        elf.patch(handler, &x86_dispatch(opcodes));
        elf.patch(handler + 7, &x86_jump(handler + 7, JE, goes_on));
    }
    elf.patch(second + 13, &x86_jump(second + 13, JMP, other));
    (elf, [first, second, third, error, other, hot])
}

#[test]
fn a_tail_call_interpreter_is_its_handlers() {
    for name in ["", "_TAIL_CALL_NOP.llvm.123"] {
        let (elf, [first, _, _, error, _, hot]) = tail_calls(name);
        let expected = [(hot, hot + 32, "hot".into()), (first, error + 32, "handlers".into())];
        assert_eq!(ranges(elf), expected, "{name:?}");
    }
}

#[test]
fn addresses_formed_in_two_steps_are_followed() {
    let mut elf = TestElf::new(Arch::Aarch64);
    let handler = elf.function("", &[0; 32]);
    let hot = elf.function("_PyEval_EvalFrameDefault", &[0; 32]);
    let opcodes = elf.object("", &table(repeat_n(handler, 256)));
    elf.patch(hot, &aarch64_dispatch(hot, opcodes));
    let expected = [(hot, hot + 32, "hot".into()), (handler, handler + 32, "handlers".into())];
    assert_eq!(ranges(elf), expected);
}

#[test]
fn damaged_code_does_not_panic() {
    let (elf, _) = tail_calls("");
    let file = elf.build();
    for at in (0..file.len()).filter(|&at| file[at] != 0 || at % 61 == 0) {
        let mut damaged = file.clone();
        damaged[at] ^= 0x81;
        if let Ok(image) = Image::parse(&damaged) {
            let _ = eval_loop(&image, None);
        }
    }
}

#[test]
fn neighbours_are_joined() {
    let handlers = vec![range(0x140, 0x180), range(0x100, 0x131), range(0x1000, 0x1008)];
    assert_eq!(joined(handlers), [range(0x100, 0x180), range(0x1000, 0x1008)]);
    assert_eq!(
        joined(vec![range(u64::MAX - 1, u64::MAX), range(0, 1)]),
        [range(0, 1), range(u64::MAX - 1, u64::MAX)]
    );
}

#[test]
fn parts_do_not_overlap() {
    let mut parts = Parts::default();
    parts.add(range(0x100, 0x200), "hot", "symbol");
    parts.add(range(0x180, 0x280), "cold", "jumps");
    parts.add(range(0x200, 0x200), "cold", "empty");
    parts.add(range(0x200, 0x240), "cold", "jumps");
    assert_eq!(parts.ranges.len(), 2);
    assert!(parts.hold(VirtAddr(0x23f)));
    assert!(!parts.hold(VirtAddr(0x240)));
}
