import ctypes
import mmap
import sys

if sys.version_info[0] == 2:
    sizeof = lambda item: item.__sizeof__()
else:
    sizeof = sys.getsizeof
PAGES = 4 * mmap.PAGESIZE
WORD = ctypes.sizeof(ctypes.c_size_t)
libc = ctypes.CDLL(None)
libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
kept = []


def shared_copy(item):
    """A copy of an object on pages that can be dropped and come back."""
    size = sizeof(item)
    memory = mmap.mmap(-1, PAGES)
    kept.append(memory)
    place = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    ctypes.memmove(place, id(item), size)
    return place


def replace(owner, old, new):
    """Puts one pointer for another in the words of an object."""
    words = (ctypes.c_size_t * (sizeof(owner) // WORD)).from_address(id(owner))
    places = [index for index in range(len(words)) if words[index] == id(old)]
    for index in places:
        words[index] = new
    assert places


def spin(places):
    for place in places:
        assert libc.madvise(place, PAGES, 4) == 0
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    x = 0
    while True:
        x = (x + 1) % 1000003


def caller(places):
    spin(places)  # calls spin


def run():
    name = shared_copy(spin.__code__.co_name)
    code = shared_copy(caller.__code__)
    replace(spin.__code__, spin.__code__.co_name, name)
    replace(caller, caller.__code__, code)
    caller([name, code])  # calls caller


run()  # calls run
