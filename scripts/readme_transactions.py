"""What was measured of transactions, as Markdown: STAMP-like programs, and single ones."""

import math
import statistics

from interleaved import number

LOCKS = ("tm:auto", "tm:global_lock", "tm:irrevocable")  # may take one lock for all
STOCK, STOCK_SOFTWARE = "tm:stock", "tm:stock:ml_wt"
# Goals of single transactions on one thread, but for the last: nanoseconds (bench/tm_bench.cpp).
COSTS = {
    "empty": 20,
    "write_1": 30,
    "read_10": 45,
    "write_10": 100,
    "read_100": 350,
    "two_disjoint": 120,
}


def geometric_mean(values: list[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, values)))


class Times:
    """The medians of one number of threads: seconds by program and variant."""

    def __init__(self, rows: dict):
        self.of = {
            program: {
                variant: statistics.median(v if v is not None else math.inf for v in seconds)
                for variant, seconds in variants.items()
            }
            for program, variants in rows.items()
        }
        self.variants = list(next(iter(self.of.values())))

    def faster(self, variant: str, base: str) -> float:
        """How many times as fast, in the geometric mean over the programs."""
        return geometric_mean([each[base] / each[variant] for each in self.of.values()])

    def best_optimistic(self) -> list[str]:
        """The fastest, and the fastest without hardware transactions."""
        ours = [v for v in self.variants if v.startswith("tm:") and not v.startswith(STOCK)]
        by_speed = sorted(
            (v for v in ours if v not in LOCKS), key=lambda v: -self.faster(v, STOCK_SOFTWARE)
        )
        software = [v for v in by_speed if not v.startswith("tm:htm")]
        return list(dict.fromkeys([by_speed[0], *software[:1]]))

    def rows(self) -> list[list[str]]:
        base = self.variants[0]
        table = [
            [program, f"{each[base]:.3f}", *(f"{each[v] / each[base]:.2f}" for v in self.variants)]
            for program, each in self.of.items()
        ]
        means = [f"{1 / self.faster(v, base):.2f}" for v in self.variants]
        return [*table, ["geometric mean", "", *means]]


def verdict(is_met: bool) -> str:
    return "reached" if is_met else "not reached"


def speed_goal(times: Times, variant: str, base: str, least: float) -> str:
    faster = times.faster(variant, base)
    return (
        f"- `{variant}`, times as fast as `{base}`, geometric mean: at least {least:g};"
        f" {number(faster)}, {verdict(faster >= least)}\n"
    )


def worst_goal(what: str, most: float, ratios: dict[str, float]) -> str:
    """Of each program's ratio: at most `most`; names those beyond."""
    beyond = [f"{name} {ratio:.2f}" for name, ratio in ratios.items() if ratio > most]
    found = f"not reached by {', '.join(beyond)}" if beyond else "reached by all"
    return f"- {what}, each program: at most {most:g}; {found}\n"


def goals(threads: int, times: Times) -> str:
    single = [v for v in times.variants if v.startswith("tm:") and v != "tm:auto"]
    single = ["lock", *(v for v in single if not v.startswith(STOCK))]
    lines = []
    if threads == 1:
        ratios = {name: t["tm:auto"] / t["sequential"] for name, t in times.of.items()}
        lines.append(worst_goal("time of `tm:auto` over sequential code", 1.1, ratios))
    else:
        lines += [speed_goal(times, "tm:auto", base, 4) for base in (STOCK, STOCK_SOFTWARE)]
        ratios = {name: t["tm:auto"] / t[STOCK] for name, t in times.of.items()}
        lines.append(worst_goal(f"time of `tm:auto` over `{STOCK}`", 1, ratios))
        ratios = {name: t["tm:auto"] / min(t[v] for v in single) for name, t in times.of.items()}
        lines.append(worst_goal("time of `tm:auto` over the best of the others", 1.1, ratios))
    lines += [speed_goal(times, v, STOCK_SOFTWARE, 1.8) for v in times.best_optimistic()]
    return "\nGoals:\n\n" + "".join(lines)


def stamp_tables(report: dict, markdown) -> list[str]:
    """What bench/stamp_compare.py measured: a table for each number of threads."""
    found = []
    for threads, rows in report["seconds"].items():
        times = Times(rows)
        titles = ["program", "seconds", *(f"`{v}`" for v in times.variants)]
        found.append(
            f"{threads} thread{'s' * (int(threads) > 1)}, preset {report['preset']}; time as a"
            f" multiple of `{times.variants[0]}`:\n\n"
            + markdown(times.rows(), titles)
            + goals(int(threads), times)
        )
    return found


def costs_table(report: dict, markdown) -> str:
    """What bench/tm_compare.py measured: nanoseconds of each kind of transaction."""
    columns = list(next(iter(report["nanoseconds"].values())))
    rows = []
    for shape, each in report["nanoseconds"].items():
        cells = []
        for column in columns:
            values = each[column]
            middle = statistics.median(values)
            cells.append(f"{middle:.1f} ({min(values):.1f} .. {max(values):.1f})")
        rows.append([shape, *cells, str(COSTS.get(shape, ""))])
    titles = ["nanoseconds", *(f"`{column}`" for column in columns), "goal: at most"]
    return markdown(rows, titles)
