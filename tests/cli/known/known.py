"""One thread waits for a threading.Lock, again and again, that another holds; with "gil", for the
interpreter itself, which another keeps busy; with "handed", for a lock that is released by threads
which do nothing else. Prints NANOSECONDS WAITER HOLDER."""

import _thread
import sys
import threading
import time

kind = sys.argv[1] if len(sys.argv) > 1 else "lock"
lock = threading.Lock()
state = {"round": 0, "done": 0, "waited": 0}


def hold_here(number):
    with lock:
        state["round"] = number
        time.sleep(0.06)


def wait_here():
    with lock:
        pass


def holder():
    state["holder"] = threading.get_native_id()
    for number in range(1, 6):
        while state["done"] != number - 1:
            time.sleep(0.001)
        hold_here(number)


def waiter():
    state["waiter"] = threading.get_native_id()
    for number in range(1, 6):
        while state["round"] != number:
            time.sleep(0.001)
        begin = time.monotonic_ns()
        wait_here()
        state["waited"] += time.monotonic_ns() - begin
        state["done"] = number


def burn():
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        pass


def given():
    state["waiter"] = threading.get_native_id()
    begin = time.monotonic_ns()
    for _ in range(4):
        lock.acquire()
    state["waited"] = time.monotonic_ns() - begin


parts = {"gil": (burn, burn), "handed": (given,), "lock": (holder, waiter)}
if kind == "handed":
    lock.acquire()
threads = [threading.Thread(target=f) for f in parts[kind]]
for thread in threads:
    thread.start()
if kind == "handed":
    for _ in range(4):
        time.sleep(0.06)
        _thread.start_new_thread(lock.release, ())
for thread in threads:
    thread.join()
print(state["waited"], state.get("waiter", 0), state.get("holder", 0))
