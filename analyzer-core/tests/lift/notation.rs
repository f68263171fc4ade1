//! The lifted form as short text, for tables.
//!
//! `rax:32 = rbx + 0x8` keeps 32 bits (64 where nothing is said),
//! `rax = s[tp + rdi + w1.s<<3 + 0x10]4` is a sign-extended load of 4 bytes,
//! `[rsp]8 = rax` a store, `rax = ?`, `[rsp]8 = ?` and `[] = ?` are clobbers,
//! `@0x1000` is an address relative to the instruction.

use std::fmt::Write as _;

use analyzer_core::code::ir::{Address, BinaryOp, Flow, Lifted, Op, Operand, Reg, Target, Width};
use analyzer_core::code::reg_name;
use analyzer_core::report::Arch;

pub(crate) fn effects(arch: Arch, lifted: &Lifted) -> String {
    let texts: Vec<String> = lifted.ops.iter().map(|op| effect(arch, op)).collect();
    texts.join("; ")
}

pub(crate) fn flow(arch: Arch, flow: &Flow) -> String {
    match flow {
        Flow::Next => "next".into(),
        Flow::Jump(to) => format!("jump {}", target(arch, to)),
        Flow::Branch(to) => format!("branch {to}"),
        Flow::Call(to) => format!("call {}", target(arch, to)),
        Flow::Return => "return".into(),
        Flow::Stop => "stop".into(),
    }
}

fn target(arch: Arch, target: &Target) -> String {
    match target {
        Target::Address(address) => address.to_string(),
        Target::Memory(address) => self::address(arch, address),
        Target::Reg(reg) => reg_name(arch, *reg).into(),
    }
}

fn effect(arch: Arch, op: &Op) -> String {
    let to = |dst: &Reg, width: &Width| match width {
        Width::W64 => reg_name(arch, *dst).to_owned(),
        _ => format!("{}:{}", reg_name(arch, *dst), u32::from(width.bytes()) * 8),
    };
    let value = |operand: &Operand| self::operand(arch, operand);
    match op {
        Op::Move { dst, src, width } => format!("{} = {}", to(dst, width), value(src)),
        Op::Binary { op, dst, left, right, width } => {
            let sign = match op {
                BinaryOp::Add => "+",
                BinaryOp::Sub => "-",
                BinaryOp::And => "&",
                BinaryOp::Or => "|",
                BinaryOp::Xor => "^",
                BinaryOp::Shl => "<<",
                BinaryOp::Shr => ">>",
                BinaryOp::Sar => ">>>",
                BinaryOp::Mul => "*",
            };
            format!("{} = {} {sign} {}", to(dst, width), value(left), value(right))
        }
        Op::Extend { dst, src, from, signed, width } => {
            let kind = if *signed { "sext" } else { "zext" };
            let bits = u32::from(from.bytes()) * 8;
            format!("{} = {kind}{bits} {}", to(dst, width), value(src))
        }
        Op::Lea { dst, address, width } => {
            format!("{} = &{}", to(dst, width), self::address(arch, address))
        }
        Op::Load { dst, address, size, signed, width } => {
            let sign = if *signed { "s" } else { "" };
            format!("{} = {sign}{}{size}", to(dst, width), self::address(arch, address))
        }
        Op::Store { address, src, size } => {
            format!("{}{size} = {}", self::address(arch, address), value(src))
        }
        Op::Select { dst, left, right, width } => {
            format!("{} = {} or {}", to(dst, width), value(left), value(right))
        }
        Op::ThreadPointer { dst } => format!("{} = tp", to(dst, &Width::W64)),
        Op::Clobber { dst } => format!("{} = ?", to(dst, &Width::W64)),
        Op::ClobberMemory { address, size } => {
            format!("{}{size} = ?", self::address(arch, address))
        }
        Op::ClobberAllMemory => "[] = ?".into(),
    }
}

fn operand(arch: Arch, operand: &Operand) -> String {
    match operand {
        Operand::Reg(reg) => reg_name(arch, *reg).into(),
        Operand::Const(number) => signed(*number),
        Operand::Pc(address) => format!("@{address}"),
    }
}

fn address(arch: Arch, address: &Address) -> String {
    let mut terms = Vec::new();
    if address.thread_pointer {
        terms.push("tp".to_owned());
    }
    if address.base != Operand::Const(0) {
        terms.push(operand(arch, &address.base));
    }
    if let Some(index) = address.index {
        let mut term = reg_name(arch, index.reg).to_owned();
        if index.width != Width::W64 {
            let sign = if index.signed { 's' } else { 'u' };
            write!(term, ".{sign}{}", u32::from(index.width.bytes()) * 8).expect("a string");
        }
        if index.shift != 0 {
            write!(term, "<<{}", index.shift).expect("a string");
        }
        terms.push(term);
    }
    if address.displacement != 0 || terms.is_empty() {
        terms.push(signed(address.displacement));
    }
    format!("[{}]", terms.join(" + "))
}

fn signed(number: u64) -> String {
    match number as i64 {
        small @ -0xffff..0 => format!("-{:#x}", small.unsigned_abs()),
        _ => format!("{number:#x}"),
    }
}
