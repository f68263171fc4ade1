import sys

try:
    from functools import reduce
except ImportError:
    pass


def key(x):
    total = x
    for i in range(20):
        total ^= i
    return total


def combine(a, b):
    return a + key(b)  # calls key


def order(items):
    return sorted(items, key=key)  # calls key


def fold(items):
    return reduce(combine, items, 0)  # calls combine


def apply(items):
    list(map(combine, items, items))  # calls combine


def main():
    items = list(range(100))
    while True:
        order(items)  # calls order
        fold(items)  # calls fold
        apply(items)  # calls apply


sys.stdout.write("ready\n")
sys.stdout.flush()
main()  # calls main
