import sys
import threading


def spin():
    x = 0
    while True:
        x = (x + 1) % 1000003


def descend(n):
    if n == 0:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        spin()  # calls spin
    descend(n - 1)  # calls descend


def run():
    descend(int(sys.argv[1]) - 1)  # calls descend


sys.setrecursionlimit(20000)
threading.stack_size(256 << 20)
thread = threading.Thread(target=run)
thread.start()
thread.join()
