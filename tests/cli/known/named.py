"""Locks of Python's that threads wait for, each made and used at lines of its own; prints JSON: the
line in which each function that is named here begins."""

import inspect
import json
import queue
import threading
import time

ROUNDS = 12


class Cache:
    def __init__(self):
        self.lock = threading.Lock()

    def get(self):
        with self.lock:
            time.sleep(0.002)


class Outer:
    def __init__(self):
        self.inner = Inner()


class Inner:
    def __init__(self):
        self.guard = threading.RLock()

    def use(self):
        with self.guard:
            time.sleep(0.002)


first, second, outer = Cache(), Cache(), Outer()
gate, items = threading.Event(), queue.Queue(2)
permits = threading.Semaphore(1)


def awaits_event():
    gate.wait()


def takes():
    for _ in range(ROUNDS):
        items.get()


def uses_semaphore():
    for _ in range(ROUNDS):
        with permits:
            time.sleep(0.001)


def works():
    for _ in range(ROUNDS):
        first.get()
        outer.inner.use()
        second.get()


def run(*functions):
    threads = [threading.Thread(target=each) for each in functions]
    for each in threads:
        each.start()
    return threads


all_threads = run(works, works, works, awaits_event, takes, uses_semaphore, uses_semaphore)
for number in range(ROUNDS):
    items.put(number)
    time.sleep(0.002)
gate.set()
for each in all_threads:
    each.join()
named = [Cache.__init__, Cache.get, Inner.__init__, Inner.use, Outer.__init__, awaits_event, takes,
         uses_semaphore, works]  # fmt: skip
lines = {each.__qualname__: inspect.getsourcelines(each)[1] for each in named}
print(json.dumps(lines))
