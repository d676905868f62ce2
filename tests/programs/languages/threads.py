# Python: the global lock, Lock, RLock, Condition with timeout, Queue, Event and a thread pool.
import queue
import threading
import time
from concurrent.futures import ThreadPoolExecutor

THREADS, STEPS = 4, 5000
lock, condition, items = threading.RLock(), threading.Condition(), queue.Queue(maxsize=8)
counter = ready = 0


def count():
    global counter
    for _ in range(STEPS):
        with lock, lock:
            counter += 1


def consume():
    total = 0
    while (item := items.get()) is not None:
        total += item
    return total


def announce():
    global ready
    with condition:
        ready += 1
        condition.notify_all()


threads = [threading.Thread(target=count) for _ in range(THREADS)]
for thread in threads:
    thread.start()
with ThreadPoolExecutor(THREADS) as pool:
    sums = [pool.submit(consume) for _ in range(THREADS)]
    for number in range(1000):
        items.put(number)
    for _ in range(THREADS):
        items.put(None)
    total = sum(each.result() for each in sums)
for thread in threads:
    thread.join()
announcers = [threading.Thread(target=announce) for _ in range(THREADS)]
for thread in announcers:
    thread.start()
with condition:
    woken = condition.wait_for(lambda: ready == THREADS, timeout=20)
start = time.monotonic()
timed_out = not threading.Event().wait(0.05) and time.monotonic() - start >= 0.045
good = woken and timed_out
print(f"counter={counter} sum={total} waits={'right' if good else 'wrong'}")
