import os
import sys


def before():
    end = os.times()[0] + 0.3
    x = 0
    while os.times()[0] < end:
        for _ in range(10000):
            x = (x + 1) % 1000003


sys.stdout.write("ready\n")
sys.stdout.flush()
before()  # calls before
os.execv(sys.argv[1], [sys.argv[1], sys.argv[2]])
