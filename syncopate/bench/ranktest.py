"""The Mann-Whitney rank test: whether one list's values tend to be larger than the other's.

H. B. Mann, D. R. Whitney, "On a test of whether one of two random variables is stochastically
larger than the other", Annals of Mathematical Statistics 18(1), 1947.
"""

import math

EXACT_UP_TO = 40  # values of both lists together; above, the normal approximation is close


def mann_whitney(first: list[float], second: list[float]) -> float:
    """The two-sided p value: how often chance alone gives ranks at least as far apart.

    Exact for few values, with midranks for ties. Requires: neither list is empty.
    """
    doubled = doubled_midranks([*first, *second])
    ours, count = sum(doubled[: len(first)]), len(first)
    # The sum of `count` of all doubled ranks has this mean, whatever the ties.
    mean = count * (len(doubled) + 1)
    distance = abs(ours - mean)
    if distance == 0:
        return 1.0
    if len(doubled) <= EXACT_UP_TO:
        return _exact(doubled, count, mean, distance)
    return _approximate(doubled, count, distance)


def doubled_midranks(values: list[float]) -> list[int]:
    """Twice the rank of each value, from 1 on; equal values share the mean of their ranks."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and values[order[end]] == values[order[start]]:
            end += 1
        for place in order[start:end]:
            ranks[place] = start + 1 + end  # twice the mean of the ranks start + 1 .. end
        start = end
    return ranks


def _exact(doubled: list[int], count: int, mean: int, distance: int) -> float:
    """Counts the choices of `count` ranks by their sum, and those at least as far from the mean."""
    choices: list[dict[int, int]] = [{0: 1}, *({} for _ in range(count))]
    for rank in doubled:
        for size in range(count, 0, -1):
            for total, ways in choices[size - 1].items():
                choices[size][total + rank] = choices[size].get(total + rank, 0) + ways
    far = sum(ways for total, ways in choices[count].items() if abs(total - mean) >= distance)
    return far / math.comb(len(doubled), count)


def _approximate(doubled: list[int], count: int, distance: int) -> float:
    """The normal distribution with the variance that these ranks have, ties included."""
    total = len(doubled)
    spread = sum((rank - total - 1) ** 2 for rank in doubled) / total
    variance = count * (total - count) / (total - 1) * spread
    return math.erfc(distance / math.sqrt(2 * variance)) if variance else 1.0
