"""Checks the offsets of one version against a running CPython, 3.7 to 3.12.

    python3.11 check_run.py cpython-layouts.csv 3.11.7 x86_64

reads this process's own memory at the offsets that the file gives for release
builds of that version and machine, and compares with what the interpreter
tells by other ways: Python objects, functions of the C API, pthread_getspecific,
the ELF symbol table, and copies of memory made with and without the GIL. Every
member has to hold; the version that runs may be another than the one named.

As `__startup__` and `__init__prog` of a program that cx_Freeze made, it takes
the arguments from the environment variable CHECK_RUN (see README.md).
"""

import ctypes
import os
import struct
import sys
import threading

# Reads memory without a Python function, which would have a frame of its own.
WORD = ctypes.c_uint64.from_address


class Offsets:
    """The members of one version's release builds, and which of them held."""

    def __init__(self, path, version, machine):
        self.known = {}
        self.results = {}
        version = numbers(version)
        with open(path) as lines:
            next(lines)
            for line in lines:
                structure, member, flavours, machines, first, last, offset = line.strip().split(",")
                builds = "release" in flavours.split() and machine in machines.split()
                if builds and numbers(first) <= version <= numbers(last):
                    self.known[structure, member] = int(offset)

    def has(self, structure, member):
        return (structure, member) in self.known

    def of(self, structure, member):
        return self.known[structure, member]

    def record(self, structure, member, holds):
        """A member holds when each of its comparisons does."""
        key = structure, member
        self.results[key] = key in self.known and self.results.get(key, True) and bool(holds)

    def pointer(self, address, structure, member):
        return WORD(address + self.of(structure, member)).value

    def number(self, address, structure, member, form):
        return at(address + self.of(structure, member), form)


def numbers(version):
    return tuple(int(part) for part in version.split("."))


def at(address, form):
    return struct.unpack("<" + form, ctypes.string_at(address, struct.calcsize(form)))[0]


def function(name, *arguments, result=ctypes.c_void_p):
    found = getattr(ctypes.pythonapi, name)
    found.restype, found.argtypes = result, list(arguments)
    return found


def runtime():
    return ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, "_PyRuntime"))


def held_and_free(address, form):
    """What is there while this thread has the GIL, and while nobody has it."""
    found = []
    for library in (ctypes.PyDLL(None), ctypes.CDLL(None)):
        copy = ctypes.create_string_buffer(struct.calcsize(form))
        library.memcpy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
        library.memcpy.restype = ctypes.c_void_p
        library.memcpy(copy, address, len(copy))
        found.append(struct.unpack("<" + form, copy.raw)[0])
    return tuple(found)


def objects(offsets):
    items = ("first", 2, None)
    kind = offsets.pointer(id(items), "PyObject", "ob_type")
    offsets.record("PyObject", "ob_type", kind == id(tuple))
    size = offsets.number(id(items), "PyVarObject", "ob_size", "q")
    offsets.record("PyVarObject", "ob_size", size == len(items))
    start = id(items) + offsets.of("PyTupleObject", "ob_item")
    found = [WORD(start + 8 * index).value for index in range(3)]
    offsets.record("PyTupleObject", "ob_item", found == [id(item) for item in items])
    data = b"some bytes to find"
    found = ctypes.string_at(id(data) + offsets.of("PyBytesObject", "ob_sval"), len(data) + 1)
    offsets.record("PyBytesObject", "ob_sval", found == data + b"\0")


def types(offsets):
    for kind in (tuple, dict, type, threading.Thread):
        name = ctypes.string_at(offsets.pointer(id(kind), "PyTypeObject", "tp_name")).decode()
        offsets.record("PyTypeObject", "tp_name", name.split(".")[-1] == kind.__name__)
        flags = offsets.number(id(kind), "PyTypeObject", "tp_flags", "Q")
        offsets.record("PyTypeObject", "tp_flags", flags == kind.__flags__)
    # What the type of code objects tells of its members: name, type, offset,
    # flags and documentation of each.
    entry = offsets.pointer(id(type(types.__code__)), "PyTypeObject", "tp_members")
    members = {}
    while WORD(entry).value:
        members[ctypes.string_at(WORD(entry).value).decode()] = at(entry + 16, "q")
        entry += 40
    told = {"co_argcount", "co_name", "co_filename", "co_firstlineno"} <= set(members)
    offsets.record("PyTypeObject", "tp_members", told)
    for member, offset in members.items():
        if offsets.has("PyCodeObject", member):
            offsets.record("PyCodeObject", member, offset == offsets.of("PyCodeObject", member))


def strings(offsets):
    for text, width in [("ascii", 1), ("caf\u00e9s", 1), ("\u4e2d\u6587", 2), ("\U0001f40d!", 4)]:
        ascii = width == 1 and max(text) < "\x80"
        length = offsets.number(id(text), "PyASCIIObject", "length", "q")
        offsets.record("PyASCIIObject", "length", length == len(text))
        state = offsets.number(id(text), "PyASCIIObject", "state", "I")
        offsets.record("PyASCIIObject", "state", state & 0x7C == width << 2 | 1 << 5 | ascii << 6)
        structure = "PyASCIIObject" if ascii else "PyCompactUnicodeObject"
        raw = ctypes.string_at(id(text) + offsets.of(structure, "sizeof"), len(text) * width)
        encoding = {1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}[width]
        offsets.record(structure, "sizeof", raw == text.encode(encoding))
    derived = type("Derived", (str,), {})("not compact")
    data = offsets.pointer(id(derived), "PyUnicodeObject", "data")
    offsets.record("PyUnicodeObject", "data", ctypes.string_at(data, 11) == b"not compact")


class Sample:
    def method(self, one, two, *, three=3):
        here = one
        return lambda: (here, two)


def generator(value):
    yield value


def codes(offsets):
    for code in (Sample.method.__code__, generator.__code__, codes.__code__, threads.__code__):
        for member in ("co_argcount", "co_flags", "co_firstlineno"):
            value = offsets.number(id(code), "PyCodeObject", member, "i")
            offsets.record("PyCodeObject", member, value == getattr(code, member))
        own = ["co_filename", "co_name", "co_qualname", "co_code", "co_lnotab", "co_linetable"]
        for member in own + ["co_varnames"]:
            if offsets.has("PyCodeObject", member):
                value = offsets.pointer(id(code), "PyCodeObject", member)
                offsets.record("PyCodeObject", member, value == id(getattr(code, member)))
        if sys.version_info >= (3, 11):
            cells = tuple(name for name in code.co_cellvars if name not in code.co_varnames)
            names = offsets.pointer(id(code), "PyCodeObject", "co_localsplusnames")
            names = ctypes.cast(names, ctypes.py_object).value
            holds = names == code.co_varnames + cells + code.co_freevars
            offsets.record("PyCodeObject", "co_localsplusnames", holds)
            import dis

            steps = dis.get_instructions(code)
            resume = next(step.offset // 2 for step in steps if step.opname == "RESUME")
            first = offsets.number(id(code), "PyCodeObject", "_co_firsttraceable", "i")
            offsets.record("PyCodeObject", "_co_firsttraceable", first == resume)
    if sys.version_info >= (3, 11):
        # Instructions may be specialized; the arguments of these never are.
        space = {}
        listed = ", ".join("abc"[n % 3] if n % 2 else str(n) for n in range(40))
        exec("def never_called(a, b, c):\n    return [%s]" % listed, space)
        code = space["never_called"].__code__
        start = id(code) + offsets.of("PyCodeObject", "co_code_adaptive")
        raw = ctypes.string_at(start, len(code.co_code))
        offsets.record("PyCodeObject", "co_code_adaptive", raw[1::2] == code.co_code[1::2])


def frames(offsets):
    """Looks at frames below a call from C, a generator, and another call from C."""
    look = frame_objects if sys.version_info < (3, 11) else interpreter_frames
    callback = ctypes.PYFUNCTYPE(ctypes.py_object)(lambda: look(offsets))

    def values():
        yield callback()

    list(map(lambda _: next(values()), [0]))


def chain_of(frame):
    chain = []
    while frame is not None:
        chain.append(frame)
        frame = frame.f_back
    return chain


def frame_objects(offsets):
    state, expected = function("PyThreadState_Get")(), chain_of(sys._getframe())
    frame_at = state + offsets.of("PyThreadState", "frame")
    frame = WORD(frame_at).value
    offsets.record("PyThreadState", "frame", frame == id(expected[0]))
    scale = 2 if sys.version_info >= (3, 10) else 1
    for position, python in enumerate(expected):
        code = offsets.pointer(frame, "PyFrameObject", "f_code")
        offsets.record("PyFrameObject", "f_code", code == id(python.f_code))
        # This frame itself goes on.
        if position:
            index = offsets.number(frame, "PyFrameObject", "f_lasti", "i")
            offsets.record("PyFrameObject", "f_lasti", index * scale == python.f_lasti)
        frame = offsets.pointer(frame, "PyFrameObject", "f_back")
        below = id(expected[position + 1]) if position + 1 < len(expected) else 0
        offsets.record("PyFrameObject", "f_back", frame == below)
    if offsets.has("PyThreadState", "cframe"):
        # One for each frame, and one inside the thread state.
        cframe_at = state + offsets.of("PyThreadState", "cframe")
        holds = of_cframes(offsets, state, WORD(cframe_at).value, "CFrame") == len(expected) + 1
        offsets.record("PyThreadState", "cframe", holds)


def of_cframes(offsets, state, cframe, structure):
    """How many there are down to the one that is part of the thread state."""
    count = last = 0
    while cframe and count < 1000:
        count, last = count + 1, cframe
        cframe = offsets.pointer(cframe, structure, "previous")
    offsets.record(structure, "previous", state < last < state + 400)
    return count


def interpreter_frames(offsets):
    structure = "_PyInterpreterFrame"
    state, expected = function("PyThreadState_Get")(), chain_of(sys._getframe())
    cframe_at = state + offsets.of("PyThreadState", "cframe")
    current = offsets.of("_PyCFrame", "current_frame")
    cframe = WORD(cframe_at).value
    frame = WORD(cframe + current).value
    position = entered = generators = 0
    while frame:
        owner = offsets.number(frame, structure, "owner", "b")
        if owner == 3:
            # Only from 3.12 on: a call from C.
            entered += 1
        elif position == len(expected):
            break
        else:
            python = expected[position]
            code = offsets.pointer(frame, structure, "f_code")
            offsets.record(structure, "f_code", code == id(python.f_code))
            generators += owner
            offsets.record(structure, "owner", owner == (python.f_code.co_flags >> 5 & 1))
            # This frame itself goes on.
            if position:
                last = offsets.pointer(frame, structure, "prev_instr")
                start = code + offsets.of("PyCodeObject", "co_code_adaptive")
                offsets.record(structure, "prev_instr", last - start == python.f_lasti)
            if offsets.has(structure, "is_entry"):
                entry = offsets.number(frame, structure, "is_entry", "B")
                offsets.record(structure, "is_entry", entry in (0, 1))
                entered += entry
            position += 1
        frame = offsets.pointer(frame, structure, "previous")
    whole = position == len(expected) and not frame
    for of, member in [
        ("PyThreadState", "cframe"),
        ("_PyCFrame", "current_frame"),
        (structure, "previous"),
    ]:
        offsets.record(of, member, whole)
    # Each native evaluation has one, and the thread state another.
    evaluations = of_cframes(offsets, state, cframe, "_PyCFrame") - 1
    mark = "is_entry" if offsets.has(structure, "is_entry") else "owner"
    offsets.record(structure, mark, entered == evaluations and 1 < entered < len(expected))
    offsets.record(structure, "owner", generators == 1)
    # The link of a frame object is filled in when its frame ends.
    ended = own_frame()
    back = offsets.pointer(id(ended), "PyFrameObject", "f_back")
    offsets.record("PyFrameObject", "f_back", back == id(sys._getframe()))


def own_frame():
    return sys._getframe()


def native_id():
    return threading.get_native_id() if sys.version_info >= (3, 8) else None


def threads(offsets):
    """Starts others, which wait, so that the GIL is free when this one gives it up."""
    end, told = threading.Event(), []

    def wait():
        told.append((function("PyThreadState_Get")(), threading.get_ident(), native_id()))
        end.wait()

    others = []
    for count in range(1, 4):
        others.append(threading.Thread(target=wait))
        others[-1].start()
        while len(told) < count:
            pass
    this = function("PyThreadState_Get")()
    try:
        thread_chain(offsets)
        thread_identities(offsets, [(this, threading.get_ident(), native_id())] + told)
        gil(offsets, this, told[0][0])
        key(offsets, this)
    finally:
        end.set()
        for other in others:
            other.join()


def thread_chain(offsets):
    interpreter = function("PyInterpreterState_Head")()
    state = function("PyInterpreterState_ThreadHead", ctypes.c_void_p)(interpreter)
    follow = function("PyThreadState_Next", ctypes.c_void_p)
    head = "tstate_head" if sys.version_info < (3, 11) else "threads.head"
    found = offsets.pointer(interpreter, "PyInterpreterState", head)
    offsets.record("PyInterpreterState", head, found == state)
    count = before = 0
    while state:
        after = follow(state) or 0
        for member, expected in [("next", after), ("prev", before), ("interp", interpreter)]:
            found = offsets.pointer(state, "PyThreadState", member)
            offsets.record("PyThreadState", member, found == expected)
        count, before, state = count + 1, state, after
    offsets.record("PyThreadState", "next", count == 4)


def thread_identities(offsets, told):
    structure, ids = "PyThreadState", []
    for state, ident, native in told:
        found = offsets.number(state, structure, "thread_id", "Q")
        offsets.record(structure, "thread_id", found == ident)
        if offsets.has(structure, "native_thread_id"):
            found = offsets.number(state, structure, "native_thread_id", "Q")
            offsets.record(structure, "native_thread_id", found == native)
        ids.append(offsets.number(state, structure, "id", "Q"))
        if sys.version_info >= (3, 9):
            number = function("PyThreadState_GetID", ctypes.c_void_p, result=ctypes.c_uint64)
            offsets.record(structure, "id", ids[-1] == number(state))
    counted = list(range(ids[1], ids[1] + 3))
    offsets.record(structure, "id", ids[1:] == counted and 0 < ids[0] < ids[1])


def gil(offsets, this, other):
    if sys.version_info >= (3, 12):
        structure, prefix = "PyInterpreterState", "_gil."
        base = function("PyInterpreterState_Head")()
        pointed = offsets.pointer(base, structure, "ceval.gil")
        for member in ("ceval.gil", "_gil"):
            offsets.record(structure, member, pointed == base + offsets.of(structure, "_gil"))
        status = this + offsets.of("PyThreadState", "_status")
        active = [word >> 4 & 1 for word in held_and_free(status, "I")]
        waiting = offsets.number(other, "PyThreadState", "_status", "I") >> 4 & 1
        offsets.record("PyThreadState", "_status", active == [1, 0] and waiting == 0)
    else:
        structure, prefix, base = "_PyRuntimeState", "ceval.gil.", runtime()
        holder = base + offsets.of(structure, "gilstate.tstate_current")
        found = held_and_free(holder, "Q")
        offsets.record(structure, "gilstate.tstate_current", found == (this, 0))
    locked = base + offsets.of(structure, prefix + "locked")
    offsets.record(structure, prefix + "locked", held_and_free(locked, "i") == (1, 0))
    holder = offsets.pointer(base, structure, prefix + "last_holder")
    offsets.record(structure, prefix + "last_holder", holder == this)


def key(offsets, this):
    member = "autoTSSkey" if sys.version_info >= (3, 12) else "gilstate.autoTSSkey"
    tss = runtime() + offsets.of("_PyRuntimeState", member)
    specific = ctypes.PyDLL(None).pthread_getspecific
    specific.restype, specific.argtypes = ctypes.c_void_p, [ctypes.c_uint]
    # The flag, then the key.
    holds = at(tss, "i") == 1 and specific(at(tss + 4, "I")) == this
    created = function("PyThread_tss_is_created", ctypes.c_void_p, result=ctypes.c_int)
    get = function("PyThread_tss_get", ctypes.c_void_p)
    holds = holds and created(tss) == 1 and get(tss) == this
    offsets.record("_PyRuntimeState", member, holds)


def interpreters(offsets):
    """Makes a second one, which then is the first of the list."""
    if sys.version_info >= (3, 8):
        import _xxsubinterpreters

        made = _xxsubinterpreters.create()
    else:
        # No Python function may be called between the two.
        this, create = function("PyThreadState_Get")(), function("Py_NewInterpreter")
        switch, made = function("PyThreadState_Swap", ctypes.c_void_p), 1
        create()
        switch(this)
    interpreter = function("PyInterpreterState_Head")()
    head = offsets.pointer(runtime(), "_PyRuntimeState", "interpreters.head")
    offsets.record("_PyRuntimeState", "interpreters.head", head == interpreter)
    main = offsets.pointer(runtime(), "_PyRuntimeState", "interpreters.main")
    holds = main == function("PyInterpreterState_Main")() and main != head
    offsets.record("_PyRuntimeState", "interpreters.main", holds)
    follow = function("PyInterpreterState_Next", ctypes.c_void_p)
    number = function("PyInterpreterState_GetID", ctypes.c_void_p, result=ctypes.c_int64)
    ids = []
    while interpreter:
        after = follow(interpreter) or 0
        found = offsets.pointer(interpreter, "PyInterpreterState", "next")
        offsets.record("PyInterpreterState", "next", found == after)
        ids.append(offsets.number(interpreter, "PyInterpreterState", "id", "q"))
        offsets.record("PyInterpreterState", "id", ids[-1] == number(interpreter))
        interpreter = after
    offsets.record("PyInterpreterState", "id", ids == [int(made), 0])
    if offsets.has("_PyRuntimeState", "sizeof"):
        size = offsets.of("_PyRuntimeState", "sizeof")
        offsets.record("_PyRuntimeState", "sizeof", size == symbol_size(b"_PyRuntime"))


def symbol_size(name):
    """Of a dynamic symbol, in the first mapped ELF file that defines it."""
    with open("/proc/self/maps") as maps:
        mapped = [line.split(None, 5)[5].strip() for line in maps if "/" in line]
    for path in dict.fromkeys([sys.executable] + [path for path in mapped if "python" in path]):
        if not os.path.isfile(path):
            continue
        with open(path, "rb") as file:
            data = file.read()
        if data[:4] != b"\x7fELF":
            continue
        table = struct.unpack_from("<Q", data, 0x28)[0]
        count = struct.unpack_from("<H", data, 0x3C)[0]
        sections = [struct.unpack_from("<IIQQQQIIQQ", data, table + 64 * n) for n in range(count)]
        for _, kind, _, _, offset, size, link, *_ in sections:
            # 11 is SHT_DYNSYM.
            for symbol in range(offset, offset + size, 24) if kind == 11 else ():
                named, _, _, home, _, bytes_of = struct.unpack_from("<IBBHQQ", data, symbol)
                start = sections[link][4] + named
                if home and data[start : start + len(name) + 1] == name + b"\0":
                    return bytes_of
    return None


def main(path, version, machine):
    offsets = Offsets(path, version, machine)
    for check in (objects, types, strings, codes, frames, threads, interpreters):
        check(offsets)
    held = 0
    for (structure, member), offset in sorted(offsets.known.items()):
        holds = offsets.results.get((structure, member))
        held += holds is True
        if not holds:
            result = "was not looked at" if holds is None else "does not hold"
            print(f"{structure}.{member} at {offset} {result}")
    here = "%d.%d.%d" % sys.version_info[:3]
    print(f"{here} as {version} on {machine}: {held} of {len(offsets.known)} members hold")
    return 0 if held == len(offsets.known) > 0 else 1


def init():
    """cx_Freeze calls this first."""


def run(*_):
    """And then this."""
    status = main(*os.environ["CHECK_RUN"].split())
    sys.stdout.flush()
    os._exit(status)


if __name__ == "__main__":
    status = main(*sys.argv[1:])
    sys.stdout.flush()
    # Not by way of the second interpreter.
    os._exit(status)
