import sys
import time


def work(seconds):
    end = time.thread_time() + seconds
    x = 0
    while time.thread_time() < end:
        for _ in range(200):
            x = (x * 1103515245 + 12345) % 2147483648


def sixty():
    begin = time.thread_time()
    work(0.006)  # calls work
    return time.thread_time() - begin


def thirty():
    begin = time.thread_time()
    work(0.003)  # calls work
    return time.thread_time() - begin


def ten():
    begin = time.thread_time()
    work(0.001)  # calls work
    return time.thread_time() - begin


def main():
    spent = [0.0, 0.0, 0.0]
    end = time.thread_time() + float(sys.argv[1])
    while time.thread_time() < end:
        spent[0] += sixty()  # calls sixty
        spent[1] += thirty()  # calls thirty
        spent[2] += ten()  # calls ten
    sys.stdout.write("%f %f %f\n" % tuple(spent))
    sys.stdout.flush()


main()  # calls main
