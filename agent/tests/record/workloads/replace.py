import os
import sys
import time


def before():
    end = time.time() + 1.5
    x = 0
    while time.time() < end:
        x = (x + 1) % 1000003


sys.stdout.write("ready\n")
sys.stdout.flush()
before()  # calls before
os.execv(sys.argv[1], [sys.argv[1], sys.argv[2]])
