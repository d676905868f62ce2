"""Threads of Python's that wait for something to do, as the program ends; with "locked", two more
that wait for each other."""

import os
import queue
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

first, second = threading.Lock(), threading.Lock()


condition = threading.Condition()


def waits_for_condition():
    with condition:
        condition.wait()


def waits_for_release():  # by another thread, as some queues have it
    taken = threading.Lock()
    taken.acquire()
    taken.acquire()


def takes_both(one, other):
    with one:
        time.sleep(0.1)
        with other:
            pass


waits = [threading.Event().wait, queue.Queue().get, queue.SimpleQueue().get, waits_for_condition,
         threading.Semaphore(0).acquire, threading.Barrier(2).wait, waits_for_release]  # fmt: skip
if "locked" in sys.argv:
    waits += [lambda: takes_both(first, second), lambda: takes_both(second, first)]
for each in waits:
    threading.Thread(target=each, daemon=True).start()
pool = ThreadPoolExecutor(2)
list(pool.map(time.sleep, [0.01] * 4))
time.sleep(0.4)
os._exit(0)
