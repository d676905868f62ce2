"""Stacks for flame graphs: `outermost;...;innermost;[lock] microseconds`, one stack a line."""

import sys
from collections import Counter


def _word(text: str) -> str:
    return text.replace(";", ":").replace("\n", " ")


def lines(records: list[dict], side: str) -> list[str]:
    """Folded stacks of all records; `side` is "waiters" or "holders"."""
    weights: Counter[str] = Counter()
    for results in records:
        for lock in results["locks"]:
            for stack in lock[side]:
                frames = [_word(frame["function"]) for frame in reversed(stack["frames"])]
                path = ";".join([*(frames or ["[unknown]"]), f"[{_word(lock['name'])}]"])
                weights[path] += stack["ns"]
    return [f"{path} {round(ns / 1000)}" for path, ns in weights.items() if ns >= 500]


def show(records: list[dict], side: str) -> None:
    sys.stdout.reconfigure(errors="replace")
    for line in lines(records, side):
        print(line)
