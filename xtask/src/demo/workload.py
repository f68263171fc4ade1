"""Four small programs that everybody knows, for a flame graph to recognise."""

import json
import sys
import time


def is_safe(queens, column):
    row = len(queens)
    return all(
        column != other and abs(column - other) != row - index
        for index, other in enumerate(queens)
    )


def place_queens(size, queens=()):
    if len(queens) == size:
        return 1
    return sum(
        place_queens(size, queens + (column,))
        for column in range(size)
        if is_safe(queens, column)
    )


class Mandelbrot:
    def __init__(self, width, height):
        self.width, self.height = width, height

    def escapes_after(self, c):
        z = 0
        for step in range(60):
            z = z * z + c
            if abs(z) > 2:
                return step
        return 60

    def draw(self):
        return [
            [
                self.escapes_after(complex(3 * x / self.width - 2, 2 * y / self.height - 1))
                for x in range(self.width)
            ]
            for y in range(self.height)
        ]


def sieve(limit):
    prime = [True] * limit
    for number in range(2, int(limit**0.5) + 1):
        if prime[number]:
            for multiple in range(number * number, limit, number):
                prime[multiple] = False
    return sum(prime[2:])


def round_trip(records):
    text = json.dumps([{"id": i, "squares": [j * j for j in range(10)]} for i in range(records)])
    return sorted(json.loads(text), key=lambda record: -record["id"])


def main(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        place_queens(7)
        Mandelbrot(90, 40).draw()
        sieve(120000)
        round_trip(1500)


main(float(sys.argv[1]))
