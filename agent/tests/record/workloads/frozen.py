import ctypes
import mmap
import os
import sys
import time


def drop_frozen_code():
    """Drops the pages of the frozen code that is running, where the program's
    file alone brings them back: at fixed addresses, so that nothing was
    relocated. Nothing may return into that code afterwards."""
    libc = ctypes.CDLL(None)
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    pages = set()
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen") and id(frame.f_code) < 1 << 32:
            pages.add(id(frame.f_code) & -mmap.PAGESIZE)
        frame = frame.f_back
    for page in pages:
        if is_of_a_file(page):
            assert libc.madvise(page, mmap.PAGESIZE, 4) == 0
            sys.stdout.write("dropped\n")
    sys.stdout.flush()


def is_of_a_file(page):
    with open("/proc/self/maps") as maps:
        for line in maps:
            words = line.split()
            start, end = (int(word, 16) for word in words[0].split("-"))
            if start <= page < end:
                return len(words) > 5 and words[5].startswith("/")
    return False


def spin():
    end = time.process_time() + 0.03
    while time.process_time() < end:
        pass
    os._exit(0)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    import frozen
else:
    drop_frozen_code()
    spin()
