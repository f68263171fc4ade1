//! What an instruction refers to, without what it does with it: a fifth of
//! the work of lifting, for reading large functions from end to end.

use super::Reader;
use super::decode::{Base, Kind, Operand};
use crate::{addr::VirtAddr, code::ir::LiftError};

/// What one instruction refers to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Glance {
    /// Length in bytes.
    pub(crate) len: u8,
    /// Where a direct jump or branch goes.
    pub(crate) jump: Option<VirtAddr>,
    /// Where a direct call goes.
    pub(crate) call: Option<VirtAddr>,
    /// The address of a memory operand or `lea`: relative to the instruction
    /// pointer, or a displacement without a base register.
    pub(crate) memory: Option<VirtAddr>,
    /// Whether that is a displacement, an address only where images are fixed.
    pub(crate) is_absolute: bool,
    /// An immediate, an address only where images are fixed.
    pub(crate) immediate: Option<u64>,
}

impl Reader<'_> {
    /// Looks at the instruction at link-time address `at`.
    ///
    /// # Errors
    /// As [`lift`](crate::code::lift).
    pub(crate) fn glance(&mut self, at: VirtAddr) -> Result<Glance, LiftError> {
        let instruction = self.decode(at)?;
        let mut seen = Glance { len: instruction.len, ..Glance::default() };
        let target = || match instruction.operand(0) {
            Operand::Target(target) => Some(target),
            _ => None,
        };
        match instruction.kind() {
            Kind::Jmp | Kind::Branch | Kind::Loop => seen.jump = target(),
            Kind::Call => seen.call = target(),
            _ => {}
        }
        let memory = instruction.memory();
        if memory.base == Base::Rip {
            seen.memory = Some(VirtAddr(memory.displacement));
        } else if memory.base == Base::None
            && memory.displacement_bytes >= 4
            && memory.segment.is_none()
        {
            seen.memory = Some(VirtAddr(memory.displacement));
            seen.is_absolute = true;
        }
        seen.immediate = instruction.wide_immediate();
        Ok(seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: VirtAddr = VirtAddr(0x1000);

    fn glance(code: &[u8]) -> Glance {
        Reader::new(code, AT).glance(AT).expect("an instruction")
    }

    #[test]
    fn what_is_referred_to() {
        let jump = glance(&[0x0f, 0x84, 0xfa, 0x0f, 0, 0]);
        assert_eq!((jump.len, jump.jump, jump.call), (6, Some(VirtAddr(0x2000)), None));
        let call = glance(&[0xe8, 0xfb, 0x0f, 0, 0]);
        assert_eq!((call.jump, call.call), (None, Some(VirtAddr(0x2000))));
        let lea = glance(&[0x48, 0x8d, 0x05, 0xf9, 0x0f, 0, 0]);
        assert_eq!((lea.memory, lea.is_absolute), (Some(VirtAddr(0x2000)), false));
        // jmp [rax*8 + 0x404040], and mov edi, 0x404040.
        let table = glance(&[0xff, 0x24, 0xc5, 0x40, 0x40, 0x40, 0]);
        assert_eq!((table.memory, table.is_absolute), (Some(VirtAddr(0x40_4040)), true));
        assert_eq!(table.jump, None);
        assert_eq!(glance(&[0xbf, 0x40, 0x40, 0x40, 0]).immediate, Some(0x40_4040));
        // mov rax, fs:[0x28] names no memory of the image.
        assert_eq!(glance(&[0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0]).memory, None);
        assert!(Reader::new(&[0xe8], AT).glance(AT).is_err());
    }
}
