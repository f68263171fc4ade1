import sys


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


descend(int(sys.argv[1]) - 2)  # calls descend
