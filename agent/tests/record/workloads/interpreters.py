import sys

CODE = """
def inside():
    x = 0
    while True:
        x = (x + 1) % 1000003
inside()
"""

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters


def outside():
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    interpreters.run_string(interpreters.create(), CODE)


outside()  # calls outside
