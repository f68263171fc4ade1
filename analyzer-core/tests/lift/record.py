#!/usr/bin/env python3
"""Records what instructions do in a CPU emulator, as vectors for lift_emulated.rs.

    pip install unicorn capstone pyelftools numpy
    record.py x86_64  COUNT FILE.so... > vectors/x86_64.txt
    record.py aarch64 COUNT FILE.so... > vectors/aarch64.txt

Takes COUNT different instructions from the code of the files, rare shapes
first, runs each from a state made from a seed (the same generator is in
lift_emulated.rs), and prints one line for each:

    bytes seed next-pc reg=value,... address=bytes,...

with only the registers and memory bytes that changed. An instruction the
emulator does not know, or that faults in every state tried, is left out; how
many is said on standard error.

With --random, instructions are made up instead: mutations of the code's.
"""

import mmap
import os
import random
import sys
from collections import defaultdict

import capstone
import numpy
import unicorn
from elftools.elf.elffile import ELFFile
from unicorn import UC_PROT_ALL
from unicorn import arm64_const as a64
from unicorn import x86_const as x86

CODE = 0x1_4000_0000
PAGE = 4096
MASK = (1 << 64) - 1


def mix(value):
    """splitmix64's output function."""
    value = (value + 0x9E3779B97F4A7C15) & MASK
    value = ((value ^ value >> 30) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ value >> 27) * 0x94D049BB133111EB) & MASK
    return value ^ value >> 31


def value(seed, index):
    """What register `index` holds before: mostly pointers, some numbers."""
    random_bits = mix((seed * 64 + index) & MASK)
    kind, rest = random_bits & 7, random_bits >> 8
    if kind == 0:
        return rest & 0x3F
    if kind == 1:
        return mix(random_bits)
    if kind == 2:
        return -(rest & 0xFF) & MASK
    return 0x1000_0000 + (rest & 0xFFF_FFFF)


THREAD_POINTER, FLAGS = 40, 41


def page_content(start):
    addresses = numpy.arange(start, start + PAGE, dtype=numpy.uint64)
    return ((addresses * numpy.uint64(0x9E3779B97F4A7C15)) >> numpy.uint64(56)).astype(numpy.uint8).tobytes()


class X86:
    registers = [
        x86.UC_X86_REG_RAX, x86.UC_X86_REG_RCX, x86.UC_X86_REG_RDX, x86.UC_X86_REG_RBX,
        x86.UC_X86_REG_RSP, x86.UC_X86_REG_RBP, x86.UC_X86_REG_RSI, x86.UC_X86_REG_RDI,
        x86.UC_X86_REG_R8, x86.UC_X86_REG_R9, x86.UC_X86_REG_R10, x86.UC_X86_REG_R11,
        x86.UC_X86_REG_R12, x86.UC_X86_REG_R13, x86.UC_X86_REG_R14, x86.UC_X86_REG_R15,
    ]
    pc = x86.UC_X86_REG_RIP
    privileged = set(
        "cli sti hlt in out insb insw insd outsb outsw outsd clts invd wbinvd rdmsr wrmsr "
        "lgdt lidt lldt ltr lmsw invlpg swapgs rdpmc".split()
    )

    def __init__(self):
        self.uc = unicorn.Uc(unicorn.UC_ARCH_X86, unicorn.UC_MODE_64)
        self.md = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)

    def skips(self, code):
        """Where the emulator is not like the processors."""
        legacy = b"\x66\x67\x2e\x36\x3e\x26\x64\x65\xf0\xf2\xf3"
        rest = code.lstrip(legacy + bytes(range(0x40, 0x50)))
        prefixes = code[: len(code) - len(rest)]
        segments = [byte for byte in prefixes if byte in b"\x2e\x36\x3e\x26\x64\x65"]
        opcode = rest[:1]
        return (
            # It takes VEX, EVEX and XOP prefixes for instructions, and the last
            # of several segment prefixes where 64-bit mode ignores it.
            opcode in (b"\xc4", b"\xc5", b"\x62", b"\x8f")
            or len(segments) > 1
            # It follows AMD: the operand size cuts the target off.
            or 0x66 in prefixes and self.is_branch(code)
            # It lets 66 win over F2 and F3 where those select the instruction.
            or 0x66 in prefixes and opcode == b"\x0f" and (0xF2 in prefixes or 0xF3 in prefixes)
            # It takes `pause` with REX.B for `xchg`.
            or opcode == b"\x90"
            # It saves more than 108 bytes of FPU state.
            or opcode == b"\xdd"
            # It runs in kernel mode.
            or self.is_privileged(code)
            # It takes `sysenter` for nothing.
            or rest[:2] == b"\x0f\x34"
            # It takes `ah` for `spl` with a REX prefix.
            or opcode == b"\x9f"
            # It returns to nowhere instead of faulting.
            or opcode in (b"\xcf", b"\xca", b"\xcb")
            # It takes the bytes a return drops for signed.
            or opcode == b"\xc2" and rest[2:3] > b"\x7f"
            # It computes `rip` without the immediate byte.
            or rest[:2] in (b"\x0f\xa4", b"\x0f\xac") and rest[2] & 0xC7 == 5
            # It takes `xabort` and `xbegin` for `mov`.
            or rest[:2] in (b"\xc6\xf8", b"\xc7\xf8")
        )

    def is_privileged(self, code):
        mnemonics = [mnemonic for _, _, mnemonic, _ in self.md.disasm_lite(code, CODE)]
        return any(mnemonic.split()[-1] in self.privileged for mnemonic in mnemonics)

    def is_branch(self, code):
        mnemonics = [mnemonic for _, _, mnemonic, _ in self.md.disasm_lite(code, CODE)]
        return any(mnemonic.split()[-1][0] == "j" or "call" in mnemonic or "ret" in mnemonic or "loop" in mnemonic for mnemonic in mnemonics)

    def set_special(self, seed):
        self.uc.reg_write(x86.UC_X86_REG_FS_BASE, value(seed, THREAD_POINTER))
        self.uc.reg_write(x86.UC_X86_REG_GS_BASE, 0x3000_0000)
        # CF, PF, ZF, SF, OF
        self.uc.reg_write(x86.UC_X86_REG_EFLAGS, 2 | value(seed, FLAGS) & 0x8C5 | mix(seed) & 0x8C5)

    def mutate(self, code, rng):
        code = bytearray(code)
        for _ in range(rng.randint(1, 2)):
            code[rng.randrange(len(code))] = rng.randrange(256)
        if rng.random() < 0.3:
            code.insert(0, rng.choice([0x66, 0x67, 0xF2, 0xF3, 0x64, 0x65, 0x48, 0x41, 0xF0, 0x2E]))
        for _, size, _, _ in self.md.disasm_lite(bytes(code), CODE):
            return bytes(code[:size])
        return b""


class Aarch64:
    registers = (
        [a64.UC_ARM64_REG_X0 + n for n in range(29)]
        + [a64.UC_ARM64_REG_X29, a64.UC_ARM64_REG_X30, a64.UC_ARM64_REG_SP]
    )
    pc = a64.UC_ARM64_REG_PC

    def __init__(self):
        self.uc = unicorn.Uc(unicorn.UC_ARCH_ARM64, unicorn.UC_MODE_ARM)
        self.uc.ctl_set_cpu_model(a64.UC_CPU_ARM64_MAX)
        self.uc.reg_write(a64.UC_ARM64_REG_CPACR_EL1, 3 << 20)
        self.md = capstone.Cs(capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM)

    def skips(self, _code):
        return False

    def set_special(self, seed):
        self.uc.reg_write(a64.UC_ARM64_REG_TPIDR_EL0, value(seed, THREAD_POINTER))
        self.uc.reg_write(a64.UC_ARM64_REG_NZCV, mix(seed) & 0xF000_0000)

    @staticmethod
    def mutate(code, rng):
        word = int.from_bytes(code, "little")
        if rng.random() < 0.3:
            return rng.getrandbits(32).to_bytes(4, "little")
        for _ in range(rng.randint(1, 6)):
            word ^= 1 << rng.randrange(32)
        return word.to_bytes(4, "little")


def code_of(path):
    with open(path, "rb") as file:
        for section in ELFFile(file).iter_sections():
            if section["sh_flags"] & 4 and section["sh_type"] == "SHT_PROGBITS":
                yield section["sh_addr"], section.data()


def shape_of(operands):
    text = []
    previous = ""
    for char in operands:
        kind = "9" if char.isdigit() else "a" if char.isalpha() else char
        if kind != previous or kind not in "9a":
            text.append(kind)
        previous = kind
    return "".join(text)


def collect(machine, paths):
    found = defaultdict(set)
    for path in paths:
        for address, data in code_of(path):
            offset = 0
            while offset < len(data):
                size = 1
                for _, size, mnemonic, operands in machine.md.disasm_lite(data[offset:], address + offset):
                    found[mnemonic, shape_of(operands), size].add(bytes(data[offset : offset + size]))
                    offset += size
                else:
                    offset += 4 if isinstance(machine, Aarch64) else 1
    return found


def pick(found, count, rng):
    """`count` instructions, the same number of each shape as far as it goes."""
    pools = [sorted(pool) for pool in found.values()]
    for pool in pools:
        rng.shuffle(pool)
    chosen = []
    depth = 0
    while len(chosen) < count and any(len(pool) > depth for pool in pools):
        layer = [pool[depth] for pool in pools if len(pool) > depth]
        rng.shuffle(layer)
        chosen += layer
        depth += 1
    return chosen[:count]


def run(machine, code, seed):
    """One instruction; the changes, or None when it faults."""
    uc = machine.uc
    pages = {}

    def map_page(address):
        start = address & ~(PAGE - 1) & MASK
        # The emulator drops the upper bits of an x86-64 address.
        if start in pages or len(pages) > 40 or start >= 1 << 33:
            return False
        content = page_content(start)
        if start == CODE:
            content = code + content[len(code) :]
        uc.mem_map(start, PAGE, UC_PROT_ALL)
        uc.mem_write(start, content)
        pages[start] = content
        return True

    def unmapped(_uc, _access, address, size, _value, _data):
        first = map_page(address)
        last = address + max(size, 1) - 1
        if last & ~(PAGE - 1) != address & ~(PAGE - 1):
            first = map_page(last) or first
        return first

    hook = uc.hook_add(unicorn.UC_HOOK_MEM_READ_UNMAPPED | unicorn.UC_HOOK_MEM_WRITE_UNMAPPED, unmapped)
    try:
        map_page(CODE)
        uc.context_restore(machine.fresh)
        before = [value(seed, index) for index in range(len(machine.registers))]
        for register, number in zip(machine.registers, before):
            uc.reg_write(register, number)
        machine.set_special(seed)
        try:
            uc.emu_start(CODE, MASK, timeout=200_000, count=1)
        except unicorn.UcError as error:
            if error.errno != unicorn.UC_ERR_FETCH_UNMAPPED:
                return None
        # Some exceptions are not reported; a `rep` may not be done.
        if uc.reg_read(machine.pc) == CODE:
            return None
        after = [uc.reg_read(register) for register in machine.registers]
        changed = [(n, new) for n, (old, new) in enumerate(zip(before, after)) if old != new]
        memory = []
        for start, content in sorted(pages.items()):
            now = bytes(uc.mem_read(start, PAGE))
            if now == content:
                continue
            different = numpy.flatnonzero(
                numpy.frombuffer(now, dtype=numpy.uint8) != numpy.frombuffer(content, dtype=numpy.uint8)
            )
            for offset in different.tolist():
                if memory and memory[-1][0] + len(memory[-1][1]) == start + offset:
                    memory[-1][1].append(now[offset])
                else:
                    memory.append((start + offset, bytearray([now[offset]])))
        return uc.reg_read(machine.pc), changed, memory
    finally:
        uc.hook_del(hook)
        for start in pages:
            uc.mem_unmap(start, PAGE)


def main():
    arguments = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    made_up = "--random" in sys.argv
    arch, count, paths = arguments[0], int(arguments[1]), arguments[2:]
    rng = random.Random(7)
    machine = {"x86_64": X86, "aarch64": Aarch64}[arch]()
    machine.fresh = machine.uc.context_save()
    chosen = pick(collect(machine, paths), count, rng)
    if made_up:
        chosen = [machine.mutate(rng.choice(chosen), rng) for _ in range(count)]
    # The emulator aborts on a few instructions: a child does the work, and the
    # next one goes on after the instruction at which it died.
    progress = mmap.mmap(-1, 16)
    while (start := int.from_bytes(progress[:8], "little")) < len(chosen):
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            record(machine, chosen, start, progress)
            sys.stdout.flush()
            os._exit(0)
        os.waitpid(child, 0)
    recorded = int.from_bytes(progress[8:], "little")
    print(f"{len(chosen)} instructions, {len(chosen) - recorded} left out", file=sys.stderr)


def record(machine, chosen, start, progress):
    for number in range(start, len(chosen)):
        progress[:8] = (number + 1).to_bytes(8, "little")
        code = chosen[number]
        if not code or machine.skips(code):
            continue
        for attempt in range(3):
            seed = number * 16 + attempt
            result = run(machine, code, seed)
            if result:
                break
        else:
            continue
        pc, changed, memory = result
        print(
            code.hex(),
            f"{seed:x}",
            f"{pc:x}",
            ",".join(f"{register}={new:x}" for register, new in changed) or "-",
            ",".join(f"{address:x}={data.hex()}" for address, data in memory) or "-",
            flush=True,
        )
        recorded = int.from_bytes(progress[8:], "little") + 1
        progress[8:] = recorded.to_bytes(8, "little")


main()
