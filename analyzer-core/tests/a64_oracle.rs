//! Our reading of A64 against that of yaxpeax-arm: the same words are
//! instructions, and they are printed alike, but for what is listed here with
//! the reason (sections are those of the Arm ARM, DDI 0487).
//!
//! The words are every combination of the bits that hold opcodes, with
//! operands that differ, every system instruction without a register, and
//! some drawn at random.

use analyzer_core::addr::VirtAddr;
use analyzer_core::code::ir::{Lifted, Op};
use analyzer_core::code::{lift, text};
use analyzer_core::report::Arch;
use yaxpeax_arch::{Decoder, U8Reader};
use yaxpeax_arm::armv8::a64::{InstDecoder, Instruction, Opcode, Operand, ShiftStyle, SizeCode};

const AT: VirtAddr = VirtAddr(0x1234_5678_9000);
/// How the text of an instruction ends that is not promised.
const OTHER: &str = " ; vector";

/// What the other decoder says.
fn oracle(word: u32) -> Option<Instruction> {
    let mut instruction = Instruction::default();
    InstDecoder::default()
        .decode_into(&mut instruction, &mut U8Reader::new(&word.to_le_bytes()))
        .ok()
        .filter(|()| instruction.opcode != Opcode::Invalid)
        .map(|()| instruction)
}

const fn bits(word: u32, at: u32, len: u32) -> u32 {
    word >> at & ((1 << len) - 1)
}

const fn is(word: u32, mask: u32, value: u32) -> bool {
    word & mask == value
}

/// A reason, and the words it is one for.
type Rule = (&'static str, fn(u32) -> bool);

/// Words that the other decoder takes for instructions, with why they are
/// none.
const UNALLOCATED: &[Rule] = &[
    ("C4.1.1: `udf` has 16 leading zeroes", |word| is(word, 0x9e00_0000, 0) && word >> 16 != 0),
    ("C4.1.92: 32-bit move wide by more than 16", |word| is(word, 0x9fc0_0000, 0x12c0_0000)),
    ("C4.1.92: `autiasppc` has 31 as Rd", |word| {
        is(word, 0xff80_0000, 0xf380_0000) && bits(word, 0, 5) != 31
    }),
    ("J1, DecodeBitMasks: reserved", reserved_bit_mask),
    ("C4.1.95: 32-bit logic shifted by more than 31", |word| is(word, 0x9f00_8000, 0x0a00_8000)),
    ("C4.1.95: extended register shifted by more than 4", |word| {
        is(word, 0x1fe0_0000, 0x0b20_0000) && bits(word, 10, 3) > 4
    }),
    ("C4.1.95: bit 21 of one, two sources, carry, condition", |word| {
        is(word, 0x1f20_0000, 0x1a20_0000)
    }),
    ("C4.1.94: vector register at an index extended from bytes", |word| {
        is(word, 0x3f20_4c00, 0x3c20_0800)
    }),
    ("C4.1.94: bit 31 of vector structures", |word| is(word, 0xbe00_0000, 0x8c00_0000)),
    ("C4.1.94: bit 21 of multiple structures", |word| is(word, 0xbf20_0000, 0x0c20_0000)),
    ("C7.2, LD2: one element per register", |word| {
        is(word, 0xff20_3c00, 0x0c00_0c00) && bits(word, 14, 2) != 3
    }),
    ("C4.1.96: direction of conversions of fixed point", |word| {
        is(word, 0x7f20_0000, 0x1e00_0000) && !matches!(bits(word, 16, 5), 2 | 3 | 24 | 25)
    }),
    ("C4.1.96: more than 32 fraction bits of 32", |word| is(word, 0xff20_8000, 0x1e00_0000)),
    ("C4.1.96: reserved bits of `fcmp`", |word| {
        is(word, 0xff20_3c00, 0x1e20_2000) && word & 0xc007 != 0
    }),
    ("C4.1.96: one source of half precision", |word| {
        is(word, 0xffff_fc00, 0x1ee3_4000) || is(word, 0xfffe_7c00, 0x1ee8_4000)
    }),
    ("C4.1.96: bits 23 and 22 of copies, but of half precision", |word| {
        is(word, 0x8f20_8400, 0x0e00_0400)
            && bits(word, 22, 2) != 0
            && !is(word, 0x0040_4000, 0x0040_0000)
    }),
    ("C7.2, SMOV, UMOV: element and register", |word| {
        let size = bits(word, 16, 4).trailing_zeros();
        is(word, 0xffe0_fc00, 0x4e00_2c00) && size > 2
            || is(word, 0xffe0_fc00, 0x0e00_2c00) && size > 1
    }),
];

/// A logical immediate that has no meaning.
fn reserved_bit_mask(word: u32) -> bool {
    let (n, imms) = (bits(word, 22, 1), bits(word, 10, 6));
    let len = (n << 6 | !imms & 0x3f).checked_ilog2();
    is(word, 0x1f80_0000, 0x1200_0000)
        && len.is_none_or(|len| {
            let levels = (1 << len) - 1;
            len == 0 || imms & levels == levels || word >> 31 == 0 && n == 1
        })
}

/// How an instruction is printed that the other decoder prints wrongly.
fn corrected(word: u32, mut instruction: Instruction) -> String {
    let target = |offset: u32| format!("{}", VirtAddr(AT.0 - u64::from(offset)));
    let hint = bits(word, 5, 7);
    match instruction.opcode {
        // C6.2, BTI, SEVL, and HINT: seven bits say which.
        Opcode::HINT => {
            return match hint {
                5 => "sevl".to_owned(),
                32 => "bti".to_owned(),
                34 => "bti c".to_owned(),
                36 => "bti j".to_owned(),
                38 => "bti jc".to_owned(),
                21 | 64.. => format!("hint #{hint:#x}"),
                _ => instruction.to_string(),
            };
        }
        // C6.2, MSR (register): Rt has five bits.
        Opcode::MSR => {
            if let [Operand::SystemReg(_), register, ..] = &mut instruction.operands {
                *register = Operand::Register(SizeCode::X, bits(word, 0, 5) as u16);
            }
        }
        // C6.2, AUTIASPPC: so many words back.
        Opcode::AUTIASPPC | Opcode::AUTIBSPPC | Opcode::RETAASPPC | Opcode::RETABSPPC => {
            return format!("{} {}", instruction.opcode, target(bits(word, 5, 16) * 4));
        }
        // C6.2, ADD (extended register): LSL is UXTX of 64 bits.
        Opcode::ADD | Opcode::ADDS | Opcode::SUB | Opcode::SUBS if word >> 31 == 1 => {
            if let Operand::RegShift(style @ ShiftStyle::LSL, _, SizeCode::W, _) =
                &mut instruction.operands[2]
            {
                *style = ShiftStyle::UXTW;
            }
        }
        _ => {}
    }
    let text = instruction.to_string();
    let offset = instruction.operands.iter().find_map(|operand| match operand {
        Operand::PCOffset(offset) => Some(*offset),
        _ => None,
    });
    // Targets are absolute.
    offset.map_or_else(
        || text.clone(),
        |offset| {
            let target = VirtAddr(AT.0.wrapping_add_signed(offset)).to_string();
            text.replace(&Operand::PCOffset(offset).to_string(), &target)
        },
    )
}

/// Whether it is one of the vector instructions, of which not all are printed
/// and allocation is looked at by group only.
const fn is_vector(word: u32) -> bool {
    is(word, 0x0e00_0000, 0x0e00_0000) || is_structure(word)
}

/// `ld1` to `st4`.
const fn is_structure(word: u32) -> bool {
    is(word, 0x3e00_0000, 0x0c00_0000)
}

fn check(word: u32) {
    let bytes = word.to_le_bytes();
    let ours = text::format(Arch::Aarch64, &bytes, AT, &|_| None);
    let mut lifted = Lifted::new();
    let is_lifted = lift(Arch::Aarch64, &bytes, AT, &mut lifted).is_ok();
    assert_eq!(is_lifted, ours != "(bad)", "{word:08x}: {ours}");
    let theirs = oracle(word);
    if let Some((why, _)) = UNALLOCATED.iter().find(|(_, holds)| holds(word)) {
        assert_eq!(ours, "(bad)", "{word:08x}: {why}");
        return;
    }
    let Some(theirs) = theirs else {
        assert!(!is_lifted || is_vector(word), "{word:08x}: {ours}, not theirs");
        return;
    };
    if let Some(promised) = ours.strip_suffix(OTHER) {
        let is_scalar_float = is(word, 0x5e00_0000, 0x1e00_0000);
        assert!(is_vector(word) && !is_scalar_float, "{word:08x}: {theirs}");
        assert_eq!(promised, format!(".inst {word:#x}"));
    } else {
        assert_eq!(ours, corrected(word, theirs), "{word:08x}");
    }
    check_written(word, &theirs, &lifted);
}

/// Data processing writes its first operand, if it is a general register,
/// and nothing else.
fn check_written(word: u32, instruction: &Instruction, lifted: &Lifted) {
    if bits(word, 26, 3) != 0b100 && !matches!(bits(word, 25, 3), 0b101 | 0b111) {
        return;
    }
    let only_reads = matches!(
        instruction.opcode,
        Opcode::CCMN
            | Opcode::CCMP
            | Opcode::RMIF
            | Opcode::SETF8
            | Opcode::SETF16
            | Opcode::AUTIASPPCR
            | Opcode::AUTIBSPPCR
    );
    let named = match instruction.operands[0] {
        _ if only_reads => None,
        Operand::Register(_, number) => (number < 31).then_some(number),
        Operand::RegisterOrSP(_, number) => Some(number),
        _ => return,
    };
    let written = lifted.ops.iter().filter_map(|op| match op {
        Op::Move { dst, .. }
        | Op::Binary { dst, .. }
        | Op::Extend { dst, .. }
        | Op::Select { dst, .. }
        | Op::Clobber { dst } => (dst.0 < 32).then_some(u16::from(dst.0)),
        other => panic!("{word:08x}: {other:?}"),
    });
    let mut written: Vec<u16> = written.collect();
    written.dedup();
    assert_eq!(written, Vec::from_iter(named), "{word:08x}: {instruction}");
}

/// Numbers without a pattern (xorshift).
fn next(state: &mut u32) -> u32 {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    *state
}

#[test]
fn opcodes() {
    std::thread::scope(|scope| {
        for half in 0..2u32 {
            scope.spawn(move || {
                let mut state = 0x9e37_79b9 ^ half;
                for index in 0..3 << 16 {
                    let opcode = half << 16 | index & 0xffff;
                    let word = bits(opcode, 6, 11) << 21 | bits(opcode, 0, 6) << 10;
                    let operands = match next(&mut state) {
                        // Registers 31 have a meaning of their own.
                        random if random & 7 == 0 => 0x001f_03ff,
                        random if random & 7 == 1 => random & 0x001f_03ff | 0x1f,
                        random => random & 0x001f_03ff,
                    };
                    check(word | operands);
                }
            });
        }
    });
}

#[test]
fn system_instructions() {
    for operands in 0..1 << 14 {
        check(0xd500_001f | operands << 5);
    }
}

#[test]
fn random_words() {
    let mut state = 1;
    for _ in 0..200_000 {
        check(next(&mut state));
    }
}

/// Every immediate that floating point has.
#[test]
fn float_immediates() {
    for immediate in 0..256 {
        check(0x1e60_1000 | immediate << 13);
    }
}
