import sys


def leaf(n):
    total = 0
    for i in range(n):
        total += i * i
    return total


def middle(n):
    result = leaf(n)  # calls leaf
    return result


class Shape(object):
    def area(self, n):  # shown as Shape.area
        found = middle(n)  # calls middle
        return found

    @classmethod
    def make(cls, n):  # shown as Shape.make
        shape = cls()
        return shape.area(n)  # calls area

    @staticmethod
    def plain(n):  # shown as Shape.plain | plain
        return middle(n)  # calls middle


class Square(Shape):
    pass


def numbers(n):
    for i in range(3):
        leaf(n)  # calls leaf
        yield i


def consume(n):
    for _ in numbers(n):  # calls numbers
        pass


def enclosing(n):
    def inner():  # shown as enclosing.<locals>.inner | inner
        return leaf(n)  # calls leaf

    return inner()  # calls inner


def main():
    while True:
        Shape.make(200)  # calls make
        Shape.plain(200)  # calls plain
        consume(100)  # calls consume
        enclosing(200)  # calls enclosing


sys.stdout.write("ready\n")
sys.stdout.flush()
main()  # calls main
