//! The x86-64 decoder against iced-x86's: every opcode with many operands and
//! prefixes.

use analyzer_core::addr::VirtAddr;
use analyzer_core::code::ir::{Flow, Lifted, Op, Reg};
use analyzer_core::code::{lift, text};
use analyzer_core::report::Arch;
use iced_x86::{
    Decoder, DecoderOptions, FastFormatterOptions, FlowControl, Instruction,
    InstructionInfoFactory, OpAccess, SpecializedFormatter, SpecializedFormatterTraitOptions,
};

const AT: u64 = 0x40_0000;

/// What follows an opcode here: displacements and immediates.
const TAIL: [u8; 13] = [0xf0, 0x12, 0x34, 0x9a, 1, 2, 3, 4, 5, 6, 7, 8, 9];

/// Instructions that only iced knows: for the kernel, for hypervisors, for
/// enclaves, of processors that are gone, and APX, AMX and FMA4.
const NOT_OURS: &[&str] = &[
    "aadd",
    "aand",
    "aor",
    "axor",
    "aesdec128kl",
    "aesdec256kl",
    "aesdecwide128kl",
    "aesdecwide256kl",
    "aesenc128kl",
    "aesenc256kl",
    "aesencwide128kl",
    "aesencwide256kl",
    "ccs_encrypt",
    "ccs_hash",
    "clgi",
    "clrssbsy",
    "clui",
    "clzero",
    "encls",
    "enclu",
    "enclv",
    "encodekey128",
    "encodekey256",
    "enqcmd",
    "enqcmds",
    "erets",
    "eretu",
    "extrq",
    "femms",
    "fndisi",
    "fneni",
    "fnsetpm",
    "getsec",
    "getsecq",
    "hreset",
    "insertq",
    "invept",
    "invlpga",
    "invlpgb",
    "invpcid",
    "invvpid",
    "lkgs",
    "loadiwkey",
    "mcommit",
    "monitorx",
    "movdir64b",
    "mwaitx",
    "pbndkb",
    "pconfig",
    "psmash",
    "pvalidate",
    "rdmsrlist",
    "rdpru",
    "rmpadjust",
    "rmpquery",
    "rmpupdate",
    "rsm",
    "rstorssp",
    "saveprevssp",
    "seamcall",
    "seamops",
    "seamret",
    "setssbsy",
    "skinit",
    "stgi",
    "stui",
    "tdcall",
    "testui",
    "tlbsync",
    "uiret",
    "undoc",
    "vmcall",
    "vmclear",
    "vmfunc",
    "vmgexit",
    "vmlaunch",
    "vmload",
    "vmmcall",
    "vmptrld",
    "vmptrst",
    "vmread",
    "vmresume",
    "vmrun",
    "vmsave",
    "vmwrite",
    "vmxoff",
    "vmxon",
    "wrmsrlist",
    "wrmsrns",
    "wrssd",
    "wrssq",
    "wrussd",
    "wrussq",
    "xcryptcbc",
    "xcryptcfb",
    "xcryptctr",
    "xcryptecb",
    "xcryptofb",
    "xresldtrk",
    "xsha1",
    "xsha256",
    "xsha512",
    "xsha512_alt",
    "xstore",
    "xstore_alt",
    "xsusldtrk",
];

/// Forms without documentation that only iced takes for instructions, by the
/// start of their text.
const NOT_DOCUMENTED: &[&str] = &["fstp st("];

/// Names that differ: far transfers, hints, what an address-size prefix or
/// `REX.W` changes, and implied operands.
const OTHER_NAMES: &[&str] = &[
    "callf", "jmpf", "retfq", "cldemote", "nop", "jecxz", "loopd", "looped", "loopned", "xlat",
    "senduipi", "umonitor", "xbegin",
];

struct Style;

impl SpecializedFormatterTraitOptions for Style {
    const ENABLE_DB_DW_DD_DQ: bool = false;

    fn space_after_operand_separator(_: &FastFormatterOptions) -> bool {
        true
    }

    fn rip_relative_addresses(_: &FastFormatterOptions) -> bool {
        false
    }

    fn uppercase_hex(_: &FastFormatterOptions) -> bool {
        false
    }

    fn use_hex_prefix(_: &FastFormatterOptions) -> bool {
        true
    }
}

/// What both decoders are asked about the same bytes.
struct Case {
    bytes: Vec<u8>,
    iced: Instruction,
    iced_text: String,
    ours: Option<Lifted>,
    our_text: String,
}

impl Case {
    fn new(bytes: Vec<u8>) -> Self {
        let iced = Decoder::with_ip(64, &bytes, AT, DecoderOptions::NONE).decode();
        let mut iced_text = String::new();
        SpecializedFormatter::<Style>::new().format(&iced, &mut iced_text);
        let mut lifted = Lifted::new();
        let ours = lift(Arch::X86_64, &bytes, VirtAddr(AT), &mut lifted).ok().map(|()| lifted);
        let nameless = |_: VirtAddr| None::<String>;
        let our_text = text::format(Arch::X86_64, &bytes, VirtAddr(AT), &nameless);
        Self { bytes, iced, iced_text, ours, our_text }
    }

    /// iced's name.
    fn name(&self) -> String {
        let text = plain(&self.iced_text).replace("lock ", "");
        text.split(' ').next().unwrap_or_default().to_owned()
    }

    /// Compares everything; `has_every_name` where the table is meant to name
    /// every instruction.
    fn check(&self, has_every_name: bool) {
        let Self { bytes, iced, iced_text, ours, our_text } = self;
        let start = &bytes[..bytes.len().min(iced.len().max(1))];
        let said = format!("{start:02x?}: {iced_text} | {our_text}");
        let Some(ours) = ours else {
            let is_known = NOT_OURS.contains(&self.name().as_str())
                || NOT_DOCUMENTED.iter().any(|text| plain(iced_text).starts_with(text));
            assert!(iced.is_invalid() || is_known, "{said}");
            return;
        };
        if iced.is_invalid() {
            assert!(!has_every_name || is_more(our_text), "{said}");
            return;
        }
        assert!(usize::from(ours.len) == iced.len() || self.name() == "xbegin", "{said}");
        assert!(flows_alike(iced, ours), "{said}: {:?} {:?}", iced.flow_control(), ours.flow);
        self.check_writes(ours, &said);
        let is_named = !our_text.starts_with('(');
        assert!(is_named || !has_every_name, "{said}");
        if is_named && !OTHER_NAMES.contains(&self.name().as_str()) {
            assert_eq!(plain(iced_text), plain(our_text), "{start:02x?}");
        }
    }

    /// Whatever iced says is written is written.
    fn check_writes(&self, ours: &Lifted, said: &str) {
        if ours.flow == Flow::Stop {
            return;
        }
        let mut factory = InstructionInfoFactory::new();
        let info = factory.info(&self.iced);
        for used in info.used_registers().iter().filter(|used| writes(used.access())) {
            let register = used.register().full_register();
            if !register.is_gpr64() {
                continue;
            }
            let number = register as u8 - iced_x86::Register::RAX as u8;
            let pushes = number == 4 && matches!(ours.flow, Flow::Call(_));
            assert!(pushes || written(ours).contains(&Reg(number)), "{said}: {register:?}");
        }
        let writes_memory = info.used_memory().iter().any(|used| writes(used.access()));
        let has_store = ours.ops.iter().any(|op| {
            matches!(op, Op::Store { .. } | Op::ClobberMemory { .. } | Op::ClobberAllMemory)
        });
        // iced takes restoring the processor's state for a write.
        assert!(has_store || !writes_memory || self.name().contains("xrstor"), "{said}");
    }
}

fn writes(access: OpAccess) -> bool {
    use OpAccess::{CondWrite, ReadCondWrite, ReadWrite, Write};
    matches!(access, Write | CondWrite | ReadWrite | ReadCondWrite)
}

fn written(ours: &Lifted) -> Vec<Reg> {
    let target = |op: &Op| match *op {
        Op::Move { dst, .. }
        | Op::Binary { dst, .. }
        | Op::Extend { dst, .. }
        | Op::Lea { dst, .. }
        | Op::Load { dst, .. }
        | Op::Select { dst, .. }
        | Op::ThreadPointer { dst }
        | Op::Clobber { dst } => Some(dst),
        Op::Store { .. } | Op::ClobberMemory { .. } | Op::ClobberAllMemory => None,
    };
    ours.ops.iter().filter_map(target).collect()
}

fn flows_alike(iced: &Instruction, ours: &Lifted) -> bool {
    match ours.flow {
        Flow::Next => matches!(
            iced.flow_control(),
            FlowControl::Next | FlowControl::Call | FlowControl::XbeginXabortXend
        ),
        Flow::Jump(_) => matches!(
            iced.flow_control(),
            FlowControl::UnconditionalBranch | FlowControl::IndirectBranch
        ),
        Flow::Branch(target) => {
            target.0 == iced.near_branch_target()
                || iced.flow_control() == FlowControl::XbeginXabortXend
        }
        Flow::Call(_) => {
            matches!(iced.flow_control(), FlowControl::Call | FlowControl::IndirectCall)
        }
        Flow::Return => iced.flow_control() == FlowControl::Return,
        // Stopping is always safe; it is for what needs privileges, for far
        // transfers and traps, and for writing what `fs:` means.
        Flow::Stop => {
            iced.flow_control() != FlowControl::Next
                || iced.is_privileged()
                || ["fs", "monitor", "mwait"].iter().any(|part| {
                    format!("{:?} {:?}", iced.mnemonic(), iced.op0_register())
                        .to_lowercase()
                        .contains(part)
                })
        }
    }
}

/// What our decoder takes for an instruction although iced does not: a prefix
/// without meaning before these.
fn is_more(text: &str) -> bool {
    ["movbe", "rdrand", "rdseed", "ptwrite"].iter().any(|name| text.contains(name))
}

fn without_segment(text: &str) -> &str {
    ["es ", "cs ", "ss ", "ds ", "fs ", "gs "]
        .iter()
        .find_map(|prefix| text.strip_prefix(prefix))
        .unwrap_or(text)
}

/// Without what only iced prints: prefixes that do nothing, segments of
/// strings, and sizes of what only a vector's length tells.
fn plain(text: &str) -> String {
    let mut plain = without_segment(text).to_owned();
    for word in ["xacquire ", "xrelease ", "bnd ", "repne ", "repe ", "rep ", "es:", "ds:"] {
        plain = plain.replace(word, "");
    }
    for kind in ["fpuenv14", "fpuenv28", "fpustate94", "fpustate108", "xmmword", "ymmword"] {
        plain = plain.replace(&format!("{kind} ptr "), "");
    }
    with_sign(&plain)
}

/// A distance from the thread pointer with its sign, as we print it.
fn with_sign(text: &str) -> String {
    let Some((before, rest)) = text.split_once("fs:[0x") else { return text.to_owned() };
    let Some((digits, after)) = rest.split_once(']') else { return text.to_owned() };
    match u64::from_str_radix(digits, 16) {
        Ok(number) if (number as i64) < 0 => {
            format!("{before}fs:[-{:#x}]{after}", (number as i64).unsigned_abs())
        }
        _ => text.to_owned(),
    }
}

/// `ModRM` bytes, some with the `SIB` byte that they ask for.
fn operands() -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = Vec::new();
    // Every register field with memory, at an address of the code, and a register.
    for reg in 0..8u8 {
        for rm in [0x00, 0x05, 0x41, 0xc0, 0xc3, 0xc7] {
            all.push(vec![reg << 3 | rm]);
        }
    }
    // Every rm of a register form with some fields, for opcodes that go on there.
    for rm in 0..8u8 {
        for reg in [0, 1, 5, 7] {
            all.push(vec![0xc0 | reg << 3 | rm]);
        }
    }
    all.extend(
        [[0x04, 0x25], [0x4c, 0x24], [0x94, 0xc8], [0x44, 0x65], [0x04, 0xe5]].map(Vec::from),
    );
    all
}

#[test]
fn legacy_instructions() {
    const PREFIXES: [&[u8]; 14] = [
        &[],
        &[0x66],
        &[0xf3],
        &[0xf2],
        &[0x48],
        &[0x66, 0x48],
        &[0x41],
        &[0x4d],
        &[0xf3, 0x48],
        &[0xf2, 0x4c],
        &[0x64],
        &[0x67],
        &[0xf0],
        &[0x66, 0xf2],
    ];
    const MAPS: [&[u8]; 4] = [&[], &[0x0f], &[0x0f, 0x38], &[0x0f, 0x3a]];
    let operands = operands();
    for prefix in PREFIXES {
        for map in MAPS {
            for opcode in 0..=255u8 {
                let is_prefix = matches!(opcode, 0x26 | 0x2e | 0x36 | 0x3e | 0x40..=0x4f)
                    || matches!(
                        opcode,
                        0x62 | 0x64..=0x67 | 0xc4 | 0xc5 | 0xf0 | 0xf2 | 0xf3 | 0x0f
                    );
                // `mov` of control and debug registers, for the kernel alone:
                // iced ignores what `ModRM.mod` says and knows which there are.
                if map == [0x0f] && matches!(opcode, 0x20..=0x23) {
                    continue;
                }
                if map.is_empty() && is_prefix
                    || map == [0x0f] && matches!(opcode, 0x0f | 0x38 | 0x3a)
                {
                    continue;
                }
                for operand in &operands {
                    let bytes = [prefix, map, &[opcode], operand, &TAIL].concat();
                    Case::new(bytes).check(true);
                }
            }
        }
    }
}

#[test]
fn vex_instructions() {
    for map in 1..4u8 {
        for bits in 0..16u8 {
            let (pp, long, wide) = (bits & 3, bits >> 2 & 1, bits >> 3);
            for source in [0xf, 0x3u8] {
                for opcode in 0..=255u8 {
                    for operand in [0x00, 0x05, 0x48, 0xc0, 0xd9, 0x38, 0x13] {
                        let second = wide << 7 | source << 3 | long << 2 | pp;
                        let bytes = [&[0xc4, 0xe0 | map, second, opcode, operand], &TAIL[..]];
                        Case::new(bytes.concat()).check(false);
                    }
                }
            }
        }
    }
    // The short form is the long one's first map.
    let short = Case::new(vec![0xc5, 0xf9, 0x6f, 0x00]);
    short.check(true);
    assert_eq!(short.our_text, "vmovdqa xmm0, [rax]");
}

#[test]
fn evex_instructions() {
    for map in [1, 2, 3, 5, 6u8] {
        for bits in 0..24u8 {
            let (pp, wide, length) = (bits & 3, bits >> 2 & 1, bits >> 3);
            for opcode in 0..=255u8 {
                for operand in [0x00, 0x48, 0xc0, 0xd9] {
                    let second = wide << 7 | 0x7c | pp;
                    let bytes =
                        [&[0x62, 0xf0 | map, second, length << 5 | 8, opcode, operand], &TAIL[..]];
                    Case::new(bytes.concat()).check(false);
                }
            }
        }
    }
}

#[test]
fn long_and_cut_instructions() {
    // Fifteen bytes are the most; a byte more, and it is none.
    let long = [&[0x66; 11][..], &[0x0f, 0x1f, 0x40, 0x00]].concat();
    assert_eq!(Case::new(long.clone()).ours.expect("an instruction").len, 15);
    let longer = [&[0x66][..], &long].concat();
    assert!(Case::new(longer).ours.is_none());
    for len in 0..7 {
        assert!(Case::new(vec![0x48, 0x8b, 0x05, 1, 2, 3, 4][..len].to_vec()).ours.is_none());
    }
}
