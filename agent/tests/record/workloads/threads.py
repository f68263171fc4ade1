import hashlib
import sys
import threading
import time


def hold():
    x = 0
    while True:
        x = (x + 1) % 1000003


def wait():
    while True:
        time.sleep(0.001)


def digest(data):
    hashlib.sha256(data)


def release():
    data = b"x" * (8 << 20)
    while True:
        digest(data)  # calls digest


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
