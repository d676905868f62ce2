"""Ratios, the rank test, `compare`, `plot` and `report`, on made-up results."""

import json
import math
import random
import subprocess
import sys

import pytest
from conftest import bench, full_disk, one_line

from syncopate.base.errors import Failure
from syncopate.bench import comparefiles, plotfile, provenance, ranktest, ratios, reportpage
from syncopate.bench.ranktest import doubled_midranks, mann_whitney


def test_exact_rank_test():
    # Without overlap, only two of the choices are as far apart: 2 / C(n + m, n).
    assert mann_whitney([1, 2, 3], [4, 5, 6]) == pytest.approx(2 / math.comb(6, 3))
    assert mann_whitney([1, 2, 3, 4], [5, 6, 7, 8]) < 0.05  # the fewest rounds that can tell
    assert mann_whitney([9, 8, 7, 6, 5], [4, 3, 2, 1, 0]) == pytest.approx(2 / math.comb(10, 5))
    # U = 3 with 4 and 5 values: 0.1111 in the published tables.
    assert mann_whitney([1, 2, 3, 7], [4, 5, 6, 8, 9]) == pytest.approx(0.1111, abs=1e-4)
    assert mann_whitney([1, 2], [1, 2]) == 1
    assert mann_whitney([5] * 4, [5] * 3) == 1


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([2, 1.9, 2.1], "2.000 ±5%"),
        ([4, 2, 10], "4.000 ±100%"),
        ([-0.00005, -0.04, 0.058], "-5e-05 ±0.049"),  # not 97,900 %
        ([0, -1, 2], "0 ±1.500"),
        ([7], "7.000"),
    ],
)
def test_a_median_with_its_spread(values, shown):
    assert comparefiles.cell(ratios.Summary.of(values)) == shown


def test_midranks_share():
    assert doubled_midranks([10, 20, 20, 30]) == [2, 5, 5, 8]
    assert doubled_midranks([3, 1, 2]) == [6, 2, 4]


def test_the_approximation_is_close(monkeypatch):
    first, second = [2 * i for i in range(15)], [2 * i + 5 for i in range(15)]
    exact = mann_whitney(first, second)
    monkeypatch.setattr(ranktest, "EXACT_UP_TO", 0)
    assert mann_whitney(first, second) == pytest.approx(exact, abs=0.02)
    assert mann_whitney([1, 1], [1, 1]) == 1


def test_ratios():
    same = ratios.ratio_of_medians([2, 4, 6], [1, 2, 3])
    assert (same.value, same.low, same.high) == (2, 2, 2), "whole rounds are drawn"
    apart = ratios.ratio_of_independent([2, 4, 6], [1, 2, 3])
    assert apart.value == 2 and apart.low < 1.5 and apart.high > 3
    assert str(ratios.ratio_of_medians([1], [0])) == "-"


@pytest.mark.long
@pytest.mark.parametrize(
    ("ratio", "fewest"),
    [
        (ratios.ratio_of_medians, ratios.FEWEST_PAIRED),
        (ratios.ratio_of_independent, ratios.FEWEST_APART),
    ],
)
def test_an_interval_covers_what_it_says_or_is_none(ratio, fewest):
    """Of rounds that differ by chance alone: how often 1 lies in it."""
    chance, trials = random.Random(7), 2000
    for rounds in (fewest - 1, fewest):
        covered = told = 0
        for trial in range(trials):
            one, two = ([chance.lognormvariate(0, 0.1) for _ in range(rounds)] for _ in "ab")
            found = ratio(one, two, resamples=200, seed=trial)
            covered += found.low <= 1 <= found.high
            told += math.isfinite(found.told(rounds, fewest).low)
        assert told == (trials if rounds >= fewest else 0)
        assert (covered > 0.91 * trials) == (rounds >= fewest), (rounds, covered / trials)


def test_pairs_forgive_what_disturbs_both():
    disturbed = [1, 5, 1, 9, 1, 7]
    pairs = ratios.median_ratio_of_pairs([1.02 * each for each in disturbed], disturbed)
    assert 1.0199 < pairs.low <= pairs.value <= pairs.high < 1.0201


def results(path, values: dict, machine="native", suite="array", sizes=("small",)):
    """A file with these throughputs: {variant: values of the repetitions}."""
    runs = [
        {
            "program": "low-small",
            "variant": variant,
            "size": size,
            "threads": threads,
            "repetition": turn,
            "key": f"{variant}{size}{threads}{turn}",
            "measured": 0,
            "values": {"throughput": value * threads},
        }
        for variant, found in values.items()
        for size in sizes
        for threads in (1, 2)
        for turn, value in enumerate(found)
    ]
    origin = {"processor": "P", "processors": 2, "kernel": "6.1", "date": "2026-01-02"}
    document = {"kind": "syncopate-bench", "schema": 1, "suite": suite, "machine": machine}
    document |= {"measured": [origin | {"commit": "abc"}], "runs": runs}
    path.write_text(json.dumps(document))
    return path


FAST, SLOW = [100, 101, 102, 103, 104], [50, 51, 52, 53, 54]


def test_compare_two_files(tmp_path):
    first = results(tmp_path / "a.json", {"tatas": FAST, "ticket": SLOW})
    second = results(tmp_path / "b.json", {"tatas": SLOW, "ticket": SLOW, "auto": FAST})
    rows = json.loads(bench("compare", first, second, "--json").stdout)
    found = {(row["variant"], row["threads"]): row for row in rows}
    assert set(found) == {(v, t) for v in ("tatas", "ticket") for t in (1, 2)}
    worse = found["tatas", 1]
    assert worse["verdict"] == "worse"
    assert worse["value"] == pytest.approx(52 / 102)
    assert worse["low"] <= worse["value"] <= worse["high"] < 1
    assert worse["p"] == pytest.approx(2 / math.comb(10, 5))
    assert found["ticket", 2]["verdict"] == "unclear"
    text = bench("compare", first, second).stdout
    assert "B / A [95 %]" in text and "worse" in text
    where = "native, P, 2 processors, 2026-01-02, commit abc"
    assert text.splitlines()[:3] == [f"A: {first}, {where}", f"B: {second}, {where}", ""]
    modeled = results(tmp_path / "c.json", {"tatas": SLOW}, machine="test-4c")
    said = bench("compare", first, modeled).stdout.splitlines()[1]
    assert said == f"B: {modeled}, test-4c, 2026-01-02, commit abc"


def test_sizes_are_told_where_they_differ(tmp_path):
    one = results(tmp_path / "a.json", {"tatas": FAST, "auto": SLOW})
    two = results(tmp_path / "b.json", {"tatas": FAST, "auto": SLOW}, sizes=("small", "tiny"))
    assert "low-small, 2 threads" in bench("compare", one).stdout
    for words in ([two], [one, two]):
        text = bench("compare", *words).stdout
        assert "low-small small, 2 threads" in text
    assert "low-small tiny, 1 thread " in bench("compare", two).stdout
    picture = tmp_path / "b.svg"
    assert plotfile.main([str(two), "--out", str(picture)]) == 0
    for name in ("low-small small", "low-small tiny"):
        assert f">{name}<" in picture.read_text()
    bench("report", two, "--out", tmp_path)
    data = (tmp_path / "array.html").read_text().split('id="data">')[1].split("</script>")[0]
    (file,) = json.loads(data)["files"]
    for rows in (file["metrics"][0]["rows"], file["ratios"]):
        assert {row["program"] for row in rows} == {"low-small small", "low-small tiny"}


def test_what_is_not_compared_is_told(tmp_path):
    """Runs without a result, whose variant looks as good as its others; points of one file."""
    first = results(tmp_path / "a.json", {"tatas": FAST, "ticket": SLOW})
    document = json.loads(first.read_text())
    for run in document["runs"][:2]:
        del run["values"]
        run["error"] = "killed"
    first.write_text(json.dumps(document))
    second = results(tmp_path / "b.json", {"tatas": SLOW, "auto": FAST, "mcs": FAST})
    failed = f"syncopate: bench: 2 runs of {first} gave no result, and the figures are without"
    assert bench("compare", first).stderr.splitlines() == [failed]
    assert bench("compare", first, second, "--json").stderr.splitlines() == [
        failed,
        f"syncopate: bench: 2 points of {first} have no other to compare with",
        f"syncopate: bench: 4 points of {second} have no other to compare with",
    ]
    assert bench("compare", second).stderr == ""


@pytest.mark.parametrize("ratio", [ratios.ratio_of_medians, ratios.ratio_of_independent])
def test_a_base_that_may_be_zero_bounds_no_ratio(ratio):
    """As aborts in some rounds: of many resamples the base's median is zero."""
    found = ratio([50, 60, 70, 80, 90], [0, 0, 5, 6, 7])
    assert found.value == 14
    assert found.high == math.inf
    assert comparefiles.finite(found.high) is None


def test_one_run_has_no_interval(tmp_path):
    """As simulated suites have by default: [2.000, 2.000] would claim that none is ever another."""
    file = results(tmp_path / "a.json", {"tatas": [50], "auto": [100]})
    (row, _) = json.loads(bench("compare", file, "--json").stdout)
    assert (row["value"], row["low"], row["high"], row["verdict"]) == (2, None, None, "unclear")
    assert "2.000 [-, -]" in bench("compare", file).stdout


def test_compare_the_variants_of_one_file(tmp_path):
    file = results(tmp_path / "a.json", {"tatas": SLOW, "auto": FAST})
    (row, _) = json.loads(bench("compare", file, "--json").stdout)
    assert (row["variant"], row["verdict"]) == ("auto", "better")
    (row, _) = json.loads(bench("compare", file, "--base", "auto", "--json").stdout)
    assert (row["variant"], row["verdict"]) == ("tatas", "worse")
    said = one_line(bench("compare", file, "--base", "mcs"), 2)
    assert "has no variant 'mcs'; it has tatas, auto" in said


def test_files_that_cannot_be_compared(tmp_path):
    file = results(tmp_path / "a.json", {"tatas": SLOW})
    other = results(tmp_path / "b.json", {"tatas": SLOW}, suite="map")
    assert "has no two variants" in one_line(bench("compare", file), 1)
    assert "holds suite array" in one_line(bench("compare", file, other), 2)
    apart = results(tmp_path / "c.json", {"mcs": SLOW})
    assert "no point in common" in one_line(bench("compare", file, apart), 1)
    assert "No such file" in one_line(bench("compare", tmp_path / "nosuch"), 1)


def test_plot(tmp_path, capsys):
    file = str(results(tmp_path / "a.json", {"tatas": SLOW, "auto": FAST}))
    picture = tmp_path / "a.svg"
    assert plotfile.main([file, "--out", str(picture)]) == 0
    assert capsys.readouterr().out == f"{picture}\n"
    text = picture.read_text()
    axes = ("threads", "throughput, operations/s", "array, measured")
    for word in ("low-small", "tatas", "auto", *axes):
        assert f">{word}" in text, word
    assert "P, 2026-01-02; higher is better" in text
    plotfile.main([file, "--out", str(tmp_path / "again.svg")])
    assert (tmp_path / "again.svg").read_text() == text
    plotfile.main([file, "--out", str(tmp_path / "a.png")])
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(Failure, match=r"has to end in \.svg"):
        plotfile.main([file, "--out", "a.txt"])
    with pytest.raises(Failure, match="has no metric 'speed'; it has throughput"):
        plotfile.main([file, "--metric", "speed"])
    with pytest.raises(Failure, match="No such file"):
        plotfile.main([file, "--out", str(tmp_path / "nosuch" / "a.svg")])


def test_a_plot_names_all_machines_and_days_that_its_runs_are_of(tmp_path):
    file = results(tmp_path / "a.json", {"tatas": SLOW, "auto": FAST})
    document = json.loads(file.read_text())
    first = document["measured"][0]
    document["measured"] += [first | {"processor": "Q"}, first | {"date": "2026-01-03"}]
    for number, run in enumerate(document["runs"]):
        run["measured"] = number % 3
    file.write_text(json.dumps(document))
    plotfile.main([str(file), "--out", str(tmp_path / "a.svg")])
    told = "P and Q, 2026-01-02 and 2026-01-03; higher is better"
    assert told in (tmp_path / "a.svg").read_text()


def test_a_commit_is_that_of_our_own_tree(tmp_path, monkeypatch):
    """A package that is installed below another project's tree has none."""
    for words in (["init", "-q"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q",
                                   "--allow-empty", "-m", "theirs"]):  # fmt: skip
        subprocess.run(["git", "-C", tmp_path, *words], check=True)
    monkeypatch.delenv("SYNCOPATE_COMMIT", raising=False)
    theirs = tmp_path / "venv/site-packages"
    theirs.mkdir(parents=True)
    monkeypatch.setattr(provenance, "ROOT", theirs)
    assert provenance.commit() == "unknown"
    monkeypatch.setattr(provenance, "ROOT", tmp_path)
    assert len(provenance.commit()) >= 7 and provenance.commit() != "unknown"
    monkeypatch.setattr(provenance, "ROOT", tmp_path / "none")
    assert provenance.commit() == "unknown"


def test_a_full_disk_leaves_the_picture_and_the_page_as_they_were(tmp_path):
    file = str(results(tmp_path / "a.json", {"tatas": SLOW}))
    picture, page = tmp_path / "a.svg", tmp_path / "array.html"
    for path, write in (
        (picture, lambda: plotfile.main([file, "--out", str(picture)])),
        (page, lambda: reportpage.main([file, "--out", str(tmp_path)])),
    ):
        path.write_text("as it was")
        with full_disk(), pytest.raises(Failure, match=f"cannot write {path}: File too large"):
            write()
        assert path.read_text() == "as it was"
    assert len(list(tmp_path.iterdir())) == 3, "nothing is left behind"


def test_plot_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(Failure, match="needs the Python package matplotlib"):
        plotfile.need_pyplot()


def test_report_is_one_page_a_suite(tmp_path):
    native = results(tmp_path / "a.json", {"tatas</script>": SLOW, "auto": FAST})
    simulated = results(tmp_path / "b.json", {"tatas": SLOW}, machine="test-4c")
    other = results(tmp_path / "c.json", {"tatas": SLOW}, suite="map")
    done = bench("report", native, simulated, other, "--out", tmp_path)
    assert done.stdout.splitlines() == [f"{tmp_path}/array.html", f"{tmp_path}/map.html"]
    page = (tmp_path / "array.html").read_text()
    data = page.split('id="data">')[1].split("</script>")[0]
    files = json.loads(data)["files"]
    assert [file["machine"] for file in files] == ["native", "test-4c"]
    assert files[0]["metrics"][0]["rows"][0]["cells"][1] == [102, 101, 103, 5]
    assert files[0]["ratios"][0]["verdict"] == "better"
    assert files[1]["ratios"] == []
    for outside in ('src="', "<link", "@import", "https://"):
        assert outside not in page
    deeper = tmp_path / "new" / "deeper"
    assert bench("report", native, "--out", deeper).returncode == 0
    assert list(deeper.iterdir()), "the folder is made"
    assert "File exists" in one_line(bench("report", native, "--out", native), 1)
