"""Processes of multiprocessing that wait for one Lock, which lies in memory that they share."""

import multiprocessing
import time


def work(lock, q, n):
    for i in range(40):
        with lock:
            time.sleep(0.001)
        q.put((n, i))


if __name__ == "__main__":
    lock, q = multiprocessing.Lock(), multiprocessing.Queue()
    ps = [multiprocessing.Process(target=work, args=(lock, q, n)) for n in range(3)]
    for p in ps:
        p.start()
    for _ in range(120):
        q.get()
    for p in ps:
        p.join()
    print("ok")
