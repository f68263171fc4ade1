import os
import sys
import time


def child():
    x = 0
    while True:
        x = (x + 1) % 1000003


def parent():
    time.sleep(1)
    pid = os.fork()
    if pid == 0:
        child()  # calls child
    sys.stdout.write("child %d\n" % pid)
    sys.stdout.flush()
    os.waitpid(pid, 0)


sys.stdout.write("ready\n")
sys.stdout.flush()
parent()  # calls parent
