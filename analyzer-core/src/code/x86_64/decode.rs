//! A decoder of 64-bit mode.
//!
//! Source of the encodings: Intel SDM, volume 2 (order number 325383),
//! chapter 2 and appendix A. Which forms there are is a table (`opcodes.txt`).
//! VEX and EVEX are decoded whole as to length, registers and memory; what
//! the table has no form for is taken to write whatever it could
//! ([`Unnamed`]).

mod forms;
mod kind;
mod operand;

pub(crate) use kind::{Kind, RAX, RBX, RCX, RDX};
pub(crate) use operand::{Base, FS, File, GS, Memory, Operand, Register};

use crate::addr::VirtAddr;
use crate::bytes::{self, sign_extended};
use crate::code::MAX_INSTRUCTION_LEN;
use crate::code::ir::LiftError;
use forms::{ANY, Form, Map, Tail, Vex};
use operand::{Class, Size, Spec};

/// Operands of an instruction, at most.
pub(crate) const MOST_OPERANDS: usize = forms::MOST_OPERANDS + 1;

/// One instruction.
pub(crate) struct Instruction {
    pub(crate) address: VirtAddr,
    /// Length in bytes.
    pub(crate) len: u8,
    /// What the table says of it; `None` where it has no form.
    form: Option<&'static Form>,
    prefixes: Prefixes,
    encoding: Encoding,
    map: u8,
    opcode: u8,
    modrm: u8,
    /// The address that `ModRM` or the bytes behind the opcode name.
    memory: Memory,
    /// As it is in the code, zero-extended.
    immediate: u64,
}

/// Prefixes, and the same bits of VEX and EVEX.
#[derive(Clone, Copy)]
struct Prefixes {
    operand_16: bool,
    address_32: bool,
    lock: bool,
    /// `F3` (2), `F2` (3), or neither (0): the last one counts.
    repeat: u8,
    segment: Option<u8>,
    rex: u8,
    has_rex: bool,
    /// `vvvv`, not inverted.
    source: u8,
    /// Length of vectors: 0 is 128 bits, 1 is 256, 2 is 512.
    length: u8,
    /// EVEX: the mask register.
    mask: u8,
    /// EVEX: bit 4 of a vector register's number, in place of `REX.R` and
    /// `REX.B`; whether masked elements become zero.
    high: (u8, u8),
    zeroing: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Legacy,
    Vex,
    Evex,
}

impl Prefixes {
    const NONE: Self = Self {
        operand_16: false,
        address_32: false,
        lock: false,
        repeat: 0,
        segment: None,
        rex: 0,
        has_rex: false,
        source: 0,
        length: 0,
        mask: 0,
        high: (0, 0),
        zeroing: false,
    };

    const fn bit(self, number: u8) -> bool {
        self.rex >> number & 1 == 1
    }

    /// `REX.W`.
    const fn wide(self) -> bool {
        self.bit(3)
    }

    /// Bit 3 of a register number: `REX.B` (0), `.X` (1) or `.R` (2).
    const fn extension(self, number: u8) -> u8 {
        (self.rex >> number & 1) << 3
    }

    /// Operand size in bits.
    const fn size(self) -> u8 {
        if self.wide() {
            64
        } else if self.operand_16 {
            16
        } else {
            32
        }
    }
}

/// Bytes of one instruction, read one after the other.
struct Bytes<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Bytes<'_> {
    /// The next byte; an instruction has no more than 15.
    fn next(&mut self) -> Result<u8, LiftError> {
        if self.at >= MAX_INSTRUCTION_LEN {
            return Err(LiftError::Undecodable);
        }
        let byte = self.bytes.get(self.at).ok_or(LiftError::Truncated)?;
        self.at += 1;
        Ok(*byte)
    }

    /// The next `count` bytes, at most 8, as a number.
    fn number(&mut self, count: u8) -> Result<u64, LiftError> {
        let end = self.at.wrapping_add(count.into());
        if end > MAX_INSTRUCTION_LEN {
            // Truncated comes first, as for single bytes.
            return match self.bytes.get(..MAX_INSTRUCTION_LEN) {
                Some(_) => Err(LiftError::Undecodable),
                None => Err(LiftError::Truncated),
            };
        }
        let part = self.bytes.get(self.at..end).ok_or(LiftError::Truncated)?;
        self.at = end;
        Ok(bytes::number(part))
    }
}

impl Instruction {
    /// None yet, to be decoded into.
    pub(crate) const fn new() -> Self {
        Self {
            address: VirtAddr(0),
            len: 0,
            form: None,
            prefixes: Prefixes::NONE,
            encoding: Encoding::Legacy,
            map: 1,
            opcode: 0,
            modrm: 0,
            memory: Memory {
                segment: None,
                base: Base::None,
                index: None,
                displacement: 0,
                displacement_bytes: 0,
                is_32_bit: false,
            },
            immediate: 0,
        }
    }

    /// Becomes the instruction at the start of `bytes`, which lies at
    /// link-time address `address`.
    ///
    /// # Errors
    /// The bytes end within the instruction, or are none.
    pub(crate) fn decode(&mut self, bytes: &[u8], address: VirtAddr) -> Result<(), LiftError> {
        *self = Self { address, ..const { Self::new() } };
        let mut bytes = Bytes { bytes, at: 0 };
        self.opcode(&mut bytes)?;
        if self.encoding == Encoding::Legacy {
            self.legacy(&mut bytes)?;
        } else {
            self.vector(&mut bytes)?;
        }
        self.len = bytes.at as u8;
        let next = self.next().0;
        let memory = &mut self.memory;
        if memory.base == Base::Rip {
            memory.displacement = memory.displacement.wrapping_add(next);
        }
        if memory.is_32_bit && memory.index.is_none() && !matches!(memory.base, Base::Register(_)) {
            memory.displacement &= 0xffff_ffff;
        }
        Ok(())
    }

    /// Reads prefixes and the opcode.
    fn opcode(&mut self, bytes: &mut Bytes<'_>) -> Result<(), LiftError> {
        loop {
            let byte = bytes.next()?;
            let prefixes = &mut self.prefixes;
            if byte & 0xf0 == 0x40 {
                (prefixes.rex, prefixes.has_rex) = (byte & 0xf, true);
                continue;
            }
            match byte {
                0x66 => prefixes.operand_16 = true,
                0x67 => prefixes.address_32 = true,
                0xf0 => prefixes.lock = true,
                0xf2 => prefixes.repeat = 3,
                0xf3 => prefixes.repeat = 2,
                0x26 | 0x2e | 0x36 | 0x3e => {
                    // They do nothing in 64-bit mode, not even undo `fs` or `gs`.
                    if prefixes.segment.is_none_or(|segment| segment < FS) {
                        prefixes.segment = Some(byte >> 3 & 3);
                    }
                }
                0x64 | 0x65 => prefixes.segment = Some(byte - 0x64 + FS),
                _ => {
                    self.opcode = byte;
                    break;
                }
            }
            // A REX prefix counts only right before the opcode.
            (prefixes.rex, prefixes.has_rex) = (0, false);
        }
        match self.opcode {
            0x0f => {
                self.opcode = bytes.next()?;
                self.map = 2;
                if matches!(self.opcode, 0x38 | 0x3a) {
                    self.map = if self.opcode == 0x38 { 3 } else { 4 };
                    self.opcode = bytes.next()?;
                }
            }
            0xc4 | 0xc5 => self.vex(bytes)?,
            0x62 => self.evex(bytes)?,
            _ => {}
        }
        Ok(())
    }

    /// The prefixes that VEX and EVEX replace must not stand before them.
    fn allows_vex(&self) -> Result<(), LiftError> {
        let Prefixes { operand_16, lock, repeat, has_rex, .. } = self.prefixes;
        if operand_16 || lock || repeat != 0 || has_rex {
            return Err(LiftError::Undecodable);
        }
        Ok(())
    }

    /// The mandatory prefix, as VEX and EVEX have it.
    fn set_prefix(&mut self, number: u8) {
        match number & 3 {
            1 => self.prefixes.operand_16 = true,
            number => self.prefixes.repeat = number,
        }
    }

    fn vex(&mut self, bytes: &mut Bytes<'_>) -> Result<(), LiftError> {
        self.allows_vex()?;
        self.encoding = Encoding::Vex;
        let mut first = bytes.next()?;
        let mut rex = !first >> 5 & 4;
        let mut map = 1;
        if self.opcode == 0xc4 {
            rex = !first >> 5 & 7;
            map = first & 0x1f;
            first = bytes.next()?;
            rex |= first >> 4 & 8;
        }
        self.prefixes.rex = rex;
        self.prefixes.source = !first >> 3 & 0xf;
        self.prefixes.length = first >> 2 & 1;
        self.set_prefix(first);
        self.map = map + 1;
        self.opcode = bytes.next()?;
        if !(2..=4).contains(&self.map) {
            return Err(LiftError::Undecodable);
        }
        Ok(())
    }

    fn evex(&mut self, bytes: &mut Bytes<'_>) -> Result<(), LiftError> {
        self.allows_vex()?;
        self.encoding = Encoding::Evex;
        let (first, second, third) = (bytes.next()?, bytes.next()?, bytes.next()?);
        let map = first & 7;
        if first & 8 != 0 || second & 4 == 0 || !matches!(map, 1 | 2 | 3 | 5 | 6) {
            return Err(LiftError::Undecodable);
        }
        self.prefixes.rex = (!first >> 5 & 7) | (second >> 4 & 8);
        self.prefixes.high = (!first & 0x10, (!first & 0x40) >> 2);
        self.prefixes.source = (!second >> 3 & 0xf) | (!third & 8) << 1;
        self.prefixes.length = third >> 5 & 3;
        self.prefixes.mask = third & 7;
        self.prefixes.zeroing = third & 0x80 != 0;
        self.set_prefix(second);
        self.map = map + 1;
        self.opcode = bytes.next()?;
        Ok(())
    }

    /// What is left of an instruction without VEX: chooses the form.
    fn legacy(&mut self, bytes: &mut Bytes<'_>) -> Result<(), LiftError> {
        let (map, opcode) = match (self.map, self.opcode) {
            (1, opcode @ (0x50..=0x5f | 0xb0..=0xbf)) => (Map::One, opcode & 0xf8),
            (1, 0x90) if self.prefixes.bit(0) && self.prefixes.repeat != 2 => (Map::One, 0x91),
            (1, 0x91..=0x97) => (Map::One, 0x91),
            (1, opcode) => (Map::One, opcode),
            (2, 0xc8..=0xcf) => (Map::Two, 0xc8),
            (2, opcode) => (Map::Two, opcode),
            (3, opcode) => (Map::Three, opcode),
            (_, opcode) => (Map::Four, opcode),
        };
        let forms = forms::forms(map, opcode);
        if forms.first().ok_or(LiftError::Undecodable)?.has_modrm {
            self.modrm(bytes)?;
        }
        let form = forms.iter().find(|form| self.fits(form.when)).ok_or(LiftError::Undecodable)?;
        self.form = Some(form);
        self.immediates(form, bytes)?;
        // There are six segment registers, and no move writes `cs`.
        match (self.map, self.opcode, self.modrm >> 3 & 7) {
            (1, 0x8c | 0x8e, 6 | 7) | (1, 0x8e, 1) => return Err(LiftError::Undecodable),
            _ => {}
        }
        if self.prefixes.lock
            && !(form.kind.can_be_locked() && matches!(self.operand(0), Operand::Memory(..)))
        {
            return Err(LiftError::Undecodable);
        }
        Ok(())
    }

    /// Whether the encoding is what a form wants.
    fn fits(&self, when: forms::When) -> bool {
        let prefix = match self.prefixes.repeat {
            0 => u8::from(self.prefixes.operand_16),
            repeat => repeat,
        };
        let is = |wanted: u8, found: u8| wanted == ANY || wanted == found;
        is(when.prefix, prefix)
            && is(when.reg, self.modrm >> 3 & 7)
            && is(when.rm, self.modrm & 7)
            && is(when.in_register, u8::from(self.modrm >= 0xc0))
            && is(when.size, self.prefixes.size())
    }

    /// What is left of an instruction with VEX or EVEX.
    fn vector(&mut self, bytes: &mut Bytes<'_>) -> Result<(), LiftError> {
        let (own, shared) = match self.map {
            2 => (Map::VexTwo, Map::Two),
            3 => (Map::VexThree, Map::Three),
            _ => (Map::VexFour, Map::Four),
        };
        let has_modrm = (self.map, self.opcode, self.encoding) != (2, 0x77, Encoding::Vex);
        if has_modrm {
            self.modrm(bytes)?;
        }
        // `vzeroall` is told from `vzeroupper` by its length; it has a free
        // opcode in the table.
        let is_zero_all = !has_modrm && self.prefixes.length == 1;
        let opcode = self.opcode.wrapping_add(u8::from(is_zero_all));
        let forms = |map| forms::forms(map, opcode).iter();
        let mut form = None;
        if self.encoding == Encoding::Vex {
            let shared = forms(shared).filter(|form| form.vex != Vex::No);
            form = forms(own).chain(shared).find(|form| self.fits(form.when));
        } else if self.map == 2 {
            form = forms(Map::EvexTwo).find(|form| self.fits(form.when));
        }
        self.form = form;
        if let Some(form) = form {
            if self.encoding == Encoding::Evex && self.memory.displacement_bytes == 1 {
                // A displacement of one byte counts whole vectors.
                let scale = u64::from(self.vector_bytes());
                self.memory.displacement = self.memory.displacement.wrapping_mul(scale);
            }
            return self.immediates(form, bytes);
        }
        // Every opcode of the last map has a byte behind it, and these.
        if self.map == 4
            || (self.map == 2 && matches!(self.opcode, 0x70..=0x73 | 0xc2 | 0xc4..=0xc6))
        {
            self.immediate = bytes.number(1)?;
        }
        Ok(())
    }

    /// Reads `ModRM`, `SIB` and the displacement.
    fn modrm(&mut self, bytes: &mut Bytes<'_>) -> Result<(), LiftError> {
        self.modrm = bytes.next()?;
        let (mode, rm) = (self.modrm >> 6, self.modrm & 7);
        if mode == 3 {
            return Ok(());
        }
        let prefixes = self.prefixes;
        let memory = &mut self.memory;
        let mut wide = mode == 2;
        memory.base = Base::Register(rm | prefixes.extension(0));
        if rm == 4 {
            let sib = bytes.next()?;
            let index = (sib >> 3 & 7) | prefixes.extension(1);
            if index != 4 {
                memory.index = Some((index, sib >> 6));
            }
            memory.base = Base::Register(sib & 7 | prefixes.extension(0));
            if sib & 7 == 5 && mode == 0 {
                memory.base = Base::None;
                wide = true;
            }
        } else if rm == 5 && mode == 0 {
            memory.base = Base::Rip;
            wide = true;
        }
        memory.displacement_bytes = if wide { 4 } else { u8::from(mode == 1) };
        let displacement = bytes.number(memory.displacement_bytes)?;
        memory.displacement = sign_extended(displacement, memory.displacement_bytes);
        memory.segment = prefixes.segment;
        memory.is_32_bit = prefixes.address_32;
        Ok(())
    }

    /// Reads what stands behind `ModRM` and its displacement.
    fn immediates(&mut self, form: &Form, bytes: &mut Bytes<'_>) -> Result<(), LiftError> {
        let count = match form.tail {
            Tail::Bytes(0) => return Ok(()),
            Tail::Bytes(count) => count,
            // A word is 4 bytes where it is extended to 8.
            Tail::Word if self.prefixes.size() == 16 => 2,
            Tail::Word => 4,
            Tail::Wide => self.prefixes.size() / 8,
            Tail::Address => {
                let count = if self.prefixes.address_32 { 4 } else { 8 };
                self.memory.displacement = bytes.number(count)?;
                self.memory.displacement_bytes = count;
                self.memory.segment = self.prefixes.segment;
                return Ok(());
            }
        };
        self.immediate = bytes.number(count)?;
        Ok(())
    }

    fn bytes_of(&self, size: Size) -> u16 {
        let operand = u16::from(self.prefixes.size() / 8);
        match size {
            Size::Bytes(bytes) => bytes,
            Size::V => operand,
            Size::Y => {
                if self.prefixes.wide() {
                    8
                } else {
                    4
                }
            }
            Size::U => {
                if operand == 2 {
                    2
                } else {
                    8
                }
            }
            Size::Z => operand.min(4),
        }
    }

    /// What the instruction does besides writing its operands.
    pub(crate) fn kind(&self) -> Kind {
        self.form.map_or(Kind::Other, |form| form.kind)
    }

    /// Registers written that are no operand: [`RAX`] and the like.
    pub(crate) fn clobbers(&self) -> u8 {
        self.form.map_or(0, |form| form.clobbers)
    }

    /// Link-time address of the following instruction.
    pub(crate) fn next(&self) -> VirtAddr {
        VirtAddr(self.address.0.wrapping_add(u64::from(self.len)))
    }

    /// The address that `ModRM` or the bytes behind the opcode name; nothing
    /// but a segment where neither does.
    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Operand size in bits, as prefixes set it: 16, 32 or 64.
    pub(crate) fn size(&self) -> u8 {
        self.prefixes.size()
    }

    /// Whether addresses are computed in 32 bits.
    pub(crate) fn has_32_bit_addresses(&self) -> bool {
        self.prefixes.address_32
    }

    /// Whether a prefix repeats the instruction.
    pub(crate) fn is_repeated(&self) -> bool {
        self.prefixes.repeat != 0
    }

    /// The name, without the `v` that VEX puts before it ([`Self::has_vex_name`]);
    /// `None` where the table has no form.
    pub(crate) fn name(&self) -> Option<&'static str> {
        self.form.map(Form::name)
    }

    /// Whether the name starts with the `v` of VEX.
    pub(crate) fn has_vex_name(&self) -> bool {
        self.encoding == Encoding::Vex && self.form.is_some_and(|form| form.vex != Vex::No)
    }

    /// Whether memory that `ModRM` names could have been a general register of
    /// the same size.
    pub(crate) fn memory_is_general(&self) -> bool {
        self.form.is_some_and(|form| {
            form.operands().any(|spec| spec.class == Class::E && spec.size == spec.memory)
        })
    }

    /// Whether an operand is a general register that no bits of the encoding
    /// name.
    pub(crate) fn is_implied(&self, number: usize) -> bool {
        self.spec(number).is_some_and(|spec| matches!(spec.class, Class::Fixed(_)))
    }

    /// Encoding, map, opcode, and whether `W` is set, of an instruction that
    /// the table has no form for.
    pub(crate) fn raw(&self) -> (&'static str, u8, u8, bool) {
        let encoding = if self.encoding == Encoding::Evex { "evex" } else { "vex" };
        (encoding, self.map - 1, self.opcode, self.prefixes.wide())
    }

    /// Whether the instruction is locked.
    pub(crate) fn is_locked(&self) -> bool {
        self.prefixes.lock
    }

    /// `F3` or `F2`, where it is no part of the opcode.
    pub(crate) fn repeat_prefix(&self) -> Option<u8> {
        let is_opcode = self.form.is_none_or(|form| form.when.prefix != ANY);
        match self.prefixes.repeat {
            _ if is_opcode || self.encoding != Encoding::Legacy => None,
            2 => Some(0xf3),
            3 => Some(0xf2),
            _ => None,
        }
    }

    /// The segment that a prefix names.
    pub(crate) fn segment(&self) -> Option<u8> {
        self.prefixes.segment
    }

    /// The EVEX mask register, if elements are masked, and whether those
    /// become zero.
    pub(crate) fn mask(&self) -> Option<(u8, bool)> {
        (self.prefixes.mask != 0).then_some((self.prefixes.mask, self.prefixes.zeroing))
    }

    /// Bits of the immediate `operand` that are printed: those of the operand.
    pub(crate) fn printed(&self, number: usize, value: u64) -> u64 {
        let Some(spec) = self.spec(number) else { return value };
        let bytes = match spec.class {
            Class::Is if self.kind() == Kind::Push => self.bytes_of(Size::U),
            Class::Is => u16::from(self.prefixes.size() / 8),
            Class::I if spec.size == Size::Z => u16::from(self.prefixes.size() / 8),
            _ => self.bytes_of(spec.size),
        };
        match bytes {
            1 => value & 0xff,
            2 => value & 0xffff,
            4 => value & 0xffff_ffff,
            _ => value,
        }
    }

    /// The immediate, if the second operand is one of 4 bytes or more.
    pub(crate) fn wide_immediate(&self) -> Option<u64> {
        if let Tail::Bytes(_) = self.form?.tail {
            return None;
        }
        let spec = self.spec(1)?;
        let is_wide = spec.class == Class::I && self.bytes_of(spec.size) >= 4;
        is_wide.then(|| self.plain_immediate(spec.size))
    }

    /// Operand number `number`, from 0.
    pub(crate) fn operand(&self, number: usize) -> Operand {
        if self.added_source() == Some(number) {
            let first = self.form.and_then(|form| form.operand(0));
            let is_short = first.is_some_and(|spec| matches!(spec.class, Class::Vx | Class::Ux));
            let bytes = if is_short { 16 } else { self.vector_bytes() };
            return Operand::Register(Register::vector(self.prefixes.source, bytes));
        }
        self.spec(number).map_or(Operand::None, |spec| self.resolve(spec))
    }

    /// Which operand is the source that VEX adds to the form's.
    fn added_source(&self) -> Option<usize> {
        let form =
            self.form.filter(|form| self.encoding == Encoding::Vex && form.vex == Vex::OneMore)?;
        // Shifts by an immediate write the register that VEX adds.
        let is_first = form.operand(0).is_some_and(|spec| spec.class == Class::U);
        Some(usize::from(!is_first))
    }

    /// How the form names operand number `number`; `None` for the source that
    /// VEX adds, and where there is none.
    fn spec(&self, number: usize) -> Option<Spec> {
        let skipped = match self.added_source() {
            Some(added) if added == number => return None,
            Some(added) => usize::from(number > added),
            None => 0,
        };
        self.form?.operand(number - skipped)
    }

    fn vector_bytes(&self) -> u16 {
        16u16.wrapping_shl(u32::from(self.prefixes.length))
    }

    /// What an operand is in this instruction.
    fn resolve(&self, spec: Spec) -> Operand {
        let reg = (self.modrm >> 3 & 7) | self.prefixes.extension(2);
        let rm = (self.modrm & 7) | self.prefixes.extension(0);
        let bytes = self.bytes_of(spec.size);
        let general = |number| Register::general(number, bytes, self.prefixes.has_rex);
        let vector = |number| Register::vector(number, self.vector_bytes());
        let (high_reg, high_rm) = self.prefixes.high;
        let short = |number| Register::vector(number, 16);
        let of = |file, number| Register { file, number };
        let memory = || {
            let bytes = self.bytes_of(spec.memory);
            let grows = matches!(spec.class, Class::W | Class::Wi | Class::Mi);
            let shift = if grows { u32::from(self.prefixes.length) } else { 0 };
            Operand::Memory(self.memory, bytes.wrapping_shl(shift))
        };
        let in_memory = self.modrm < 0xc0;
        Operand::Register(match spec.class {
            Class::E | Class::W | Class::Wx | Class::Wi | Class::Q | Class::Ke if in_memory => {
                return memory();
            }
            Class::M | Class::Mi | Class::O => return memory(),
            Class::E | Class::R => general(rm),
            Class::G => general(reg),
            Class::Z => general(self.opcode & 7 | self.prefixes.extension(0)),
            Class::B => general(self.prefixes.source),
            Class::Fixed(number) => general(number),
            Class::V => vector(reg | high_reg),
            Class::W | Class::U => vector(rm | high_rm),
            Class::H => vector(self.prefixes.source),
            Class::L => vector((self.immediate >> 4 & 0xf) as u8),
            Class::Vx => short(reg),
            Class::Wx | Class::Wi | Class::Ux => short(rm),
            Class::Hx => short(self.prefixes.source),
            Class::P => of(File::Mmx, reg & 7),
            Class::Q | Class::N => of(File::Mmx, rm & 7),
            Class::S => of(File::Segment, reg & 7),
            Class::Segment(number) => of(File::Segment, number),
            Class::C => of(File::Control, reg),
            Class::D => of(File::Debug, reg),
            Class::Top => of(File::X87, 0),
            Class::Stack => of(File::X87, rm & 7),
            Class::K => of(File::Mask, reg & 7),
            Class::Km | Class::Ke => of(File::Mask, rm & 7),
            Class::I => return Operand::Immediate(self.plain_immediate(spec.size)),
            Class::Second => return Operand::Immediate(self.immediate >> 16),
            Class::Is => return Operand::Immediate(sign_extended(self.immediate, 1)),
            Class::One => return Operand::Immediate(1),
            Class::J => {
                let distance = sign_extended(self.immediate, bytes as u8);
                return Operand::Target(VirtAddr(self.next().0.wrapping_add(distance)));
            }
            Class::X => return self.string(6, self.prefixes.segment, bytes),
            Class::Y => return self.string(7, None, bytes),
            Class::T => return Operand::Memory(self.at(7, self.prefixes.segment), bytes),
            Class::Table => {
                let index = Some((0, 0));
                let memory = Memory { index, ..self.at(3, self.prefixes.segment) };
                return Operand::Memory(memory, bytes);
            }
        })
    }

    fn string(&self, base: u8, segment: Option<u8>, bytes: u16) -> Operand {
        Operand::String(self.at(base, segment), bytes)
    }

    /// Memory at a register.
    fn at(&self, base: u8, segment: Option<u8>) -> Memory {
        Memory {
            segment,
            base: Base::Register(base),
            index: None,
            displacement: 0,
            displacement_bytes: 0,
            is_32_bit: self.prefixes.address_32,
        }
    }

    /// An immediate: 32 bits of it are sign-extended where the operand has 64.
    fn plain_immediate(&self, size: Size) -> u64 {
        match size {
            Size::Z if self.prefixes.size() == 64 => sign_extended(self.immediate, 4),
            Size::U if self.bytes_of(size) == 8 => sign_extended(self.immediate, 4),
            Size::Bytes(2) => self.immediate & 0xffff,
            _ => self.immediate,
        }
    }

    /// Registers and memory that an instruction without a form may write.
    pub(crate) fn unnamed(&self) -> Option<Unnamed> {
        if self.form.is_some() {
            return None;
        }
        let reg = (self.modrm >> 3 & 7) | self.prefixes.extension(2);
        let rm = (self.modrm & 7) | self.prefixes.extension(0);
        let rm = (self.modrm >= 0xc0).then_some(rm);
        let Self { map, opcode, .. } = *self;
        if self.encoding == Encoding::Vex {
            let registers = [Some(reg), rm, Some(self.prefixes.source)];
            return Some(Unnamed { registers, memory: rm.is_none() });
        }
        let (mut registers, is_store) = ([None; 3], evex_stores(map, self.prefixes.repeat, opcode));
        match (map, opcode) {
            (2 | 6, 0x2c | 0x2d | 0x78 | 0x79 | 0xc5) => registers[0] = Some(reg),
            (2 | 6, 0x7e) | (4, 0x14..=0x17) => registers[0] = rm,
            _ => {}
        }
        Some(Unnamed { registers, memory: rm.is_none() && is_store })
    }
}

/// What an instruction that the table has no form for may write.
pub(crate) struct Unnamed {
    /// General registers, by number.
    pub(crate) registers: [Option<u8>; 3],
    /// Memory, who knows where.
    pub(crate) memory: bool,
}

/// Whether an instruction that EVEX encodes writes its memory operand: moves,
/// conversions to narrower elements, compressions, extractions, scatters.
const fn evex_stores(map: u8, prefix: u8, opcode: u8) -> bool {
    match map {
        2 | 6 => matches!(opcode, 0x11 | 0x13 | 0x17 | 0x29 | 0x2b | 0x7e | 0x7f | 0xd6 | 0xe7),
        3 if prefix == 2 => matches!(opcode, 0x10..=0x15 | 0x20..=0x25 | 0x30..=0x35),
        3 => matches!(opcode, 0x63 | 0x8a | 0x8b | 0xa0..=0xa3),
        _ => matches!(opcode, 0x14..=0x17 | 0x19 | 0x1b | 0x1d | 0x39 | 0x3b),
    }
}
