# What the live check runs inside a Python: two threads that stop where they
# are told to, and say beforehand what is true of each. Runs on 2.7 and later.
#
# Each thread waits in read(2) on one pipe after the other, with the GIL
# released (a call through CDLL) or held (through PyDLL), so that a thread in
# read(2) is in a known state. The check writes into the pipes itself, by way
# of /proc/PID/fd: while one thread holds the GIL no other could let it go on.
import ctypes
import json
import mmap
import os
import sys
import threading

AARCH64 = os.uname()[4] == "aarch64"

held = ctypes.PyDLL(None)
released = ctypes.CDLL(None)


def thread_pointer():
    # mov rax, fs:0; ret  or  mrs x0, tpidr_el0; ret
    code = b"\x40\xd0\x3b\xd5\xc0\x03\x5f\xd6" if AARCH64 else b"\x64\x48\x8b\x04\x25\0\0\0\0\xc3"
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    address = ctypes.addressof((ctypes.c_char * 1).from_buffer(page))
    keep.append(page)
    return ctypes.PYFUNCTYPE(ctypes.c_uint64)(address)()


keep = []


def facts():
    get = ctypes.pythonapi.PyThreadState_Get
    get.restype = ctypes.c_void_p
    owned = ctypes.pythonapi.PyGILState_GetThisThreadState
    owned.restype = ctypes.c_void_p
    return {
        "tid": released.syscall(178 if AARCH64 else 186),
        "thread_pointer": thread_pointer(),
        "attached": get(),
        "owned": owned(),
    }


def wait(library, descriptor):
    if library.read(descriptor, ctypes.create_string_buffer(1), ctypes.c_size_t(1)) != 1:
        sys.exit(1)


main_pipes = [os.pipe() for _ in range(3)]
other_pipes = [os.pipe() for _ in range(2)]
other_facts = []
ready = threading.Event()


def other():
    other_facts.append(facts())
    ready.set()
    wait(released, other_pipes[0][0])
    wait(held, other_pipes[1][0])


thread = threading.Thread(target=other)
thread.daemon = True
thread.start()
ready.wait()

version = released.gnu_get_libc_version
version.restype = ctypes.c_char_p
said = {
    "machine": os.uname()[4],
    "python": ".".join(map(str, sys.version_info[:3])),
    "glibc": version().decode(),
    "main": facts(),
    "other": other_facts[0],
    "main_pipes": main_pipes,
    "other_pipes": other_pipes,
}
sys.stdout.write(json.dumps(said) + "\n")
sys.stdout.flush()

wait(released, main_pipes[0][0])
wait(held, main_pipes[1][0])
wait(released, main_pipes[2][0])
