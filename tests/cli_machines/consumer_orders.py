"""In how many orders the sections of a producer and N consumers of K items each can stand: counted
without the machine, from what a mutex and a condition variable are. No search that runs each order
once, and takes no two threads for the same, has fewer executions.

    python3 tests/cli_machines/consumer_orders.py N K [WAKE-UPS WITHOUT A CAUSE]
"""

import sys
from functools import cache


def orders(consumers: int, each: int, wake_ups: int = 0) -> int:
    """`wake_ups`: of each consumer. Each counts as an order of its own, also where it is followed
    by the same as a signal: an upper bound then."""

    @cache
    def behind(items: int, put: int, threads: tuple[tuple[int, int], ...], queue: tuple) -> int:
        """`threads`: items and wake-ups that each has left; `queue`: who sleeps, in order."""
        found = 0
        if put < consumers * each:  # a section of the producer, which wakes who came first
            found += behind(items + 1, put + 1, threads, queue[1:])
        for i, (left, sudden) in enumerate(threads):

            def now(left: int, sudden: int, i: int = i) -> tuple[tuple[int, int], ...]:
                return (*threads[:i], (left, sudden), *threads[i + 1 :])

            if i in queue:
                if sudden:
                    others = tuple(k for k in queue if k != i)
                    found += behind(items, put, now(left, sudden - 1), others)
            elif left and items:
                found += behind(items - 1, put, now(left - 1, sudden), queue)
            elif left:
                found += behind(items, put, threads, (*queue, i))
        return found or 1

    return behind(0, 0, ((each, wake_ups),) * consumers, ())


if __name__ == "__main__":
    print(f"{orders(*map(int, sys.argv[1:])):,}")
