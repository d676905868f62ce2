"""`syncopate bench plot`: a result file as a picture, SVG or PNG."""

from __future__ import annotations

from pathlib import Path

from syncopate.base import figurefile
from syncopate.base.arguments import Parser
from syncopate.base.errors import BAD_USE, Failure, near
from syncopate.base.since import zip_equal
from syncopate.bench import resultfile
from syncopate.bench.comparefiles import heading
from syncopate.bench.points import Case, Points, program_names
from syncopate.bench.suites import Metric

COLUMNS = 3
# Told apart without colors too: by their markers, and by their order in the legend.
MARKERS = "osv^D*xP+<>"


def main(arguments: list[str]) -> int:
    parser = Parser(
        "bench plot",
        description="Draws medians; the bars reach from the lower to the upper quartile.",
    )
    parser.add_argument("file", metavar="FILE", help="of `bench run`")
    parser.add_argument("--metric", help="default: the suite's first one")
    parser.add_argument("--out", metavar="PICTURE", help=".svg (default), .png or .pdf")
    options = parser.parse_args(arguments)
    points = Points(resultfile.read(options.file))
    metric = chosen_metric(points, options.metric)
    out = Path(options.out or Path(options.file).with_suffix(".svg").name)
    if out.suffix not in figurefile.KINDS:
        raise Failure(
            f"bench plot: {out}: the name has to end in {', '.join(figurefile.KINDS)}", BAD_USE
        )
    page = draw(points, metric)
    figurefile.save(page, out, dpi=150, metadata={"Date": None} if out.suffix == ".svg" else None)
    print(out)
    return 0


def chosen_metric(points: Points, name: str | None) -> Metric:
    metrics = {metric.name: metric for metric in points.metrics()}
    if not metrics:
        raise Failure(f"bench: {points.file.path} holds no results")
    if name is not None and name not in metrics:
        raise Failure(
            f"bench: {points.file.path} has no metric '{name}'{near(name, list(metrics))};"
            f" it has {', '.join(metrics)}",
            BAD_USE,
        )
    return metrics[name] if name else next(iter(metrics.values()))


def draw(points: Points, metric: Metric):
    """The figure: a panel for each program, lines over the numbers of threads."""
    pyplot = need_pyplot()
    name = program_names(points.cases)
    programs: dict[str, list[Case]] = {}
    for case in points.cases:
        if shown(points, case, metric):
            programs.setdefault(name(case), []).append(case)
    columns = min(COLUMNS, len(programs))
    rows = -(-len(programs) // columns)
    size = (1.2 + 4.2 * columns, 1.4 + 3.2 * rows)
    page, axes = pyplot.subplots(rows, columns, squeeze=False, figsize=size, layout="constrained")
    flat = [axis for line in axes for axis in line]
    for axis, (program, cases) in zip(flat, programs.items()):
        panel(axis, points, metric, sorted(cases))
        axis.set_title(program, fontsize=10)
    for axis in flat[len(programs) :]:
        axis.set_visible(False)
    for line in axes:
        line[0].set_ylabel(heading(metric.name, metric.unit))
    legend(page, flat[: len(programs)])
    kind = "measured" if points.file.machine == "native" else "simulated"
    arrow = "higher is better" if metric.higher_is_better else "lower is better"
    page.suptitle(f"{points.file.suite}, {kind}: {where(points)}; {arrow}", fontsize=11)
    return page


def shown(points: Points, case: Case, metric: Metric) -> bool:
    return any(points.values(case, variant, metric.name) for variant in points.variants)


def where(points: Points) -> str:
    if points.file.machine != "native":
        return points.file.machine
    kept = points.file.measured  # runs of several days, or machines, may be in one file
    found = (dict.fromkeys(each[of] for each in kept) for of in ("processor", "date"))
    return ", ".join(" and ".join(each) for each in found)


def panel(axis, points: Points, metric: Metric, cases: list[Case]) -> None:
    """One program at one size: lines over the numbers of threads."""
    for index, variant in enumerate(points.variants):
        found = [(case.threads, points.summary(case, variant, metric.name)) for case in cases]
        found = [(threads, summary) for threads, summary in found if summary]
        if not found:
            continue
        low = [summary.median - summary.lower_quartile for _, summary in found]
        high = [summary.upper_quartile - summary.median for _, summary in found]
        axis.errorbar(
            [threads for threads, _ in found],
            [summary.median for _, summary in found],
            yerr=(low, high),
            label=variant,
            marker=MARKERS[index % len(MARKERS)],
            color=f"C{index % 10}",
            markersize=5,
            linewidth=1.2,
            capsize=3,
        )
    threads = sorted({case.threads for case in cases})
    axis.set_xticks(threads if any(threads) else [])
    axis.set_xlabel("threads" if any(threads) else "")
    axis.set_ylim(bottom=0)
    axis.yaxis.set_major_formatter("{x:.4g}" if is_plain(axis) else engineering())
    axis.grid(alpha=0.3)


def is_plain(axis) -> bool:
    """Whether numbers are read without a prefix: from hundredths to thousands."""
    return 0.05 <= axis.get_ylim()[1] < 10_000


def engineering():
    """Numbers with a prefix: 1.2 M, 50 µ."""
    from matplotlib.ticker import EngFormatter

    return EngFormatter()


def legend(page, axes: list) -> None:
    """One legend for all panels, below them."""
    handles = {}
    for axis in axes:
        for handle, label in zip_equal(*axis.get_legend_handles_labels()):
            handles.setdefault(label, handle)
    columns = min(len(handles), 3 + 2 * len(axes))
    place = {"loc": "outside lower center", "ncol": columns, "fontsize": 8}
    page.legend(list(handles.values()), list(handles), **place)


def need_pyplot():
    """matplotlib.pyplot; a Failure of one line where there is none."""
    try:
        import matplotlib
    except ImportError:
        raise Failure(
            "bench plot needs the Python package matplotlib; install python3-matplotlib, or"
            " `pip install matplotlib`"
        ) from None
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.fonttype"] = "none"  # text stays text
    matplotlib.rcParams["svg.hashsalt"] = "syncopate"  # the same bytes for the same results
    from matplotlib import pyplot

    return pyplot
