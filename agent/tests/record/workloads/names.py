# -*- coding: utf-8 -*-
import sys


def größe():
    x = 0
    while x < 3000:
        x += 1


def 函数():
    größe()  # calls größe


LONG = "a_function_with_a_name_that_is_long_" * 60
exec(
    compile(
        "def %s():\n    x = 0\n    while x < 3000: x += 1\n" % LONG,
        "<generated>",
        "exec",
    )
)
long = globals()[LONG]


def main():
    while True:
        函数()  # calls 函数
        long()  # calls long


sys.stdout.write("ready\n")
sys.stdout.flush()
main()  # calls main
