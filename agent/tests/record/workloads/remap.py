import ctypes
import mmap
import os
import sys


def spin():
    x = 0
    while True:
        x = (x + 1) % 1000003


def code_page():
    for line in open("/proc/self/maps"):
        fields = line.split()
        if len(fields) == 6 and "x" in fields[1] and "python" in fields[5]:
            return fields[5], int(fields[2], 16)


path, offset = code_page()
descriptor = os.open(path, os.O_RDONLY)
stray = [
    mmap.mmap(descriptor, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC, offset=place)
    for place in (0, offset, offset + 4096)
]
if len(sys.argv) > 1:
    second = ctypes.CDLL(sys.argv[1])
sys.stdout.write("ready\n")
sys.stdout.flush()
spin()  # calls spin
