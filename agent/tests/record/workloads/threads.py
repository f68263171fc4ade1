import sys
import threading
import time
import zlib


def hold():
    x = 0
    while True:
        x = (x + 1) % 1000003


def wait():
    while True:
        time.sleep(0.001)


def pack(data):
    zlib.compress(data, 9)


def release():
    data = bytes(bytearray(range(256))) * 4096
    while True:
        pack(data)  # calls pack


def start(function):
    thread = threading.Thread(target=function)
    thread.daemon = True
    thread.start()


for function in [hold, wait, wait, release]:
    start(function)
sys.stdout.write("ready\n")
sys.stdout.flush()
while True:
    time.sleep(1)
