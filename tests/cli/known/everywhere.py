"""Locks of Python's taken and let go of where a stack is hard to ask for: in finalizers that the
collector runs, under exceptions, in generators, deep down, in coroutines, in code made at run time,
in a forked child, in subinterpreters, with the tracer of allocations on."""

import contextlib
import gc
import os
import sys
import threading
import time
import tracemalloc
import types

tracemalloc.start(5)
gc.set_threshold(1)
lock, count = threading.RLock(), 0
plain = threading.Lock()


class Finalized:
    def __init__(self):
        self.itself = self

    def __del__(self):
        global count
        with lock:
            count += 1


def fails():
    with plain:
        Finalized()
        raise KeyError("kept")


def deep(n):
    if n:
        return deep(n - 1)
    with plain:
        time.sleep(0.0005)
        return 0


def generated():
    with plain:
        yield 1
    with lock:
        yield 2


def template():
    with plain:
        return 1


def made(number):
    code = template.__code__.replace(co_firstlineno=1 + number % 50)
    return types.FunctionType(code, globals())()


async def coroutine():
    with plain:
        time.sleep(0.0002)


def work(rounds):
    for number in range(rounds):
        try:
            fails()
        except KeyError as error:
            assert error.args == ("kept",) and sys.exc_info()[1] is error
        deep(number % 200)
        assert sum(generated()) == 3
        assert made(number) == 1
        with contextlib.suppress(StopIteration):
            coroutine().send(None)
        threading.Condition().acquire()


threads = [threading.Thread(target=work, args=(60,)) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
child = os.fork()
if child == 0:
    inner = [threading.Thread(target=work, args=(20,)) for _ in range(3)]
    [each.start() for each in inner]
    [each.join() for each in inner]
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
gc.collect()
print(count, "done")
