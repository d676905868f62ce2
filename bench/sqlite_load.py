"""SQLite under threads, in one process: prints one line of JSON with operations per second.

    python3 bench/sqlite_load.py --threads 4 --seconds 1

All threads share one connection, so its (recursive) mutex is fought over; Python's own global lock,
a mutex with a condition variable, is released while SQLite works. Each thread alternates a range
query and an update that moves one unit between two accounts; the sum must stay what it was.
"""

import argparse
import json
import random
import sqlite3
import sys
import threading
import time

ACCOUNTS = 2000
BALANCE = 100


def make_database():
    """Returns a connection that threads may share, in autocommit mode."""
    database = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
    database.execute("CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL)")
    rows = ((number, BALANCE) for number in range(ACCOUNTS))
    database.executemany("INSERT INTO account VALUES (?, ?)", rows)
    return database


def work(database, seed, stop, counts):
    """Alternates queries and transfers until `stop` is set; counts[seed] gets the operations."""
    draw, done = random.Random(seed), 0
    transfer = "UPDATE account SET balance = balance + CASE id WHEN ? THEN 1 ELSE -1 END"
    while not stop.is_set():
        low = draw.randrange(ACCOUNTS - 200)
        query = "SELECT sum(balance) FROM account WHERE id BETWEEN ? AND ?"
        database.execute(query, (low, low + 199)).fetchone()
        source, target = draw.sample(range(ACCOUNTS), 2)
        database.execute(f"{transfer} WHERE id IN (?, ?)", (target, source, target))
        done += 2
    counts[seed] = done


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=1.0)
    arguments = parser.parse_args()
    database, stop, counts = make_database(), threading.Event(), {}
    threads = [
        threading.Thread(target=work, args=(database, seed, stop, counts))
        for seed in range(arguments.threads)
    ]
    start = time.monotonic()
    for thread in threads:
        thread.start()
    time.sleep(arguments.seconds)
    stop.set()
    for thread in threads:
        thread.join()
    seconds = time.monotonic() - start
    (total,) = database.execute("SELECT sum(balance) FROM account").fetchone()
    operations = sum(counts.values())
    kept = total == ACCOUNTS * BALANCE and len(counts) == arguments.threads
    result = {"operations_per_second": operations / seconds, "total": total, "kept": kept}
    print(json.dumps(result))
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
