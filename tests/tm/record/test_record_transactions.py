"""`syncopate record --tm`: what the report says of transactions whose numbers are known."""

import json
import subprocess

import pytest
from transaction_runs import line_of, run_cli

SOURCE = "known_counts.cpp"
OPTIMISTIC = ("norec", "eager_norec", "lazy", "tl2", "encounter_time")


@pytest.fixture(scope="module")
def program(build):
    return build("known_counts", "-fgnu-tm")


@pytest.fixture
def sites_of(program, tmp_path):
    """Records the program; returns the report's entries for transactions, by their lines' marks.

    GCC gives the call that begins a transaction no line of its own: it has that of what stands
    before it.
    """

    def sites(algorithm, what, *marks):
        record = recorded(tmp_path, algorithm, program, *what.split())
        (results,) = report(record)
        assert results["transactions"]["algorithm"] == algorithm
        assert results["notes"] == []
        found = sorted(results["transactions"]["sites"], key=lambda site: site["line"])
        lines = [line_of(SOURCE, mark) for mark in marks]
        assert len(found) == len(lines) and lines == sorted(lines)
        for site, line in zip(found, lines, strict=True):
            assert line - 2 <= site["line"] <= line
            assert site["file"].rsplit("/", 1)[-1] == SOURCE
        return found

    return sites


def recorded(folder, algorithm, *command):
    record = folder / "tm.rec"
    done = run_cli("record", "-q", "--tm", algorithm, "-o", record, "--", *command)
    assert done.returncode == 0, done.stderr
    return record


def report(*records):
    done = run_cli("report", "--json", *records)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["records"]


def seen(counts):
    return {name: count for name, count in counts.items() if count}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("algorithm", [*OPTIMISTIC, "two_phase"])
def test_commits_and_sizes(sites_of, algorithm):
    count, total, given_up = sites_of(algorithm, "commits", "count-up", "sum-table", "give-up")
    assert (count["started"], count["committed"], count["threads"]) == (1000, 1000, 1)
    assert count["name"] == f"count_up at {SOURCE}:{count['line']}"
    assert count["write_set"] == {"mean": 1, "max": 1}
    assert seen(count["aborts"]) == seen(count["alone"]) == {}
    assert count["run_ns"] > 0 and count["alone_ns"] == count["wasted_ns"] == 0
    assert (total["started"], total["committed"]) == (1, 1)
    # 64 values of 8 bytes, or the 16 or 17 records of 32 bytes that they lie in; GCC marks the one
    # that is written as read before, so that some logs do without it.
    entries = total["read_set"]["max"] + total["write_set"]["max"]
    assert entries in ((64, 65) if algorithm.endswith("norec") else (16, 17, 18))
    assert (given_up["started"], given_up["committed"], given_up["canceled"]) == (1, 0, 1)
    assert given_up["wasted_ns"] > 0


@pytest.mark.sampled(2)
@pytest.mark.parametrize("algorithm", OPTIMISTIC)
def test_conflict_names_the_address_and_the_winner(sites_of, algorithm):
    what = "conflict commit-waits" if algorithm == "tl2" else "conflict"
    loser, winner = sites_of(algorithm, what, "loser", "winner")
    assert (winner["started"], winner["committed"], winner["retries"]) == (1, 1, 0)
    assert winner["conflicts"] == []
    assert (loser["started"], loser["committed"]) == (1, 1)
    assert (loser["retries"], loser["most_retries"]) == (1, 1)
    (cause,) = seen(loser["aborts"])
    assert cause in ("read_conflict", "write_conflict", "commit_conflict")
    (conflict,) = loser["conflicts"]
    assert conflict["address"].endswith("disputed")
    assert (conflict["winner"], conflict["cause"], conflict["times"]) == (winner["name"], cause, 1)
    assert conflict["stack"][0]["function"].startswith("lose")
    assert loser["wasted_ns"] > 0


@pytest.mark.sampled(2)
@pytest.mark.parametrize("algorithm", [*OPTIMISTIC, "two_phase"])
def test_one_of_two_loses_to_the_other(sites_of, algorithm):
    here, there = sites_of(algorithm, "cross", "cross-here", "cross-there")
    assert (here["committed"], there["committed"]) == (1, 1)
    assert here["retries"] + there["retries"] >= 1
    for loser, winner in ((here, there), (there, here)):
        assert sum(conflict["times"] for conflict in loser["conflicts"]) == loser["retries"]
        for conflict in loser["conflicts"]:
            assert conflict["address"].endswith(("disputed", "elsewhere"))
            assert conflict["winner"] in (winner["name"], None)
        # The first time, the winner cannot have ended yet, and is seen.
        named = [conflict for conflict in loser["conflicts"] if conflict["winner"]]
        assert bool(named) == bool(loser["retries"])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("algorithm", [*OPTIMISTIC, "two_phase"])
def test_unsafe_calls_switch_in_flight(sites_of, algorithm):
    by_name, by_pointer = sites_of(algorithm, "unsafe", "unsafe-by-name", "unsafe-by-pointer")
    for site, times, function, caller in (
        (by_name, 1, "say_something", "report_by_name"),
        (by_pointer, 3, "say_more", "report_by_pointer"),
    ):
        assert (site["started"], site["committed"], site["retries"]) == (times, times, times)
        assert seen(site["aborts"]) == {"unsafe_call": times}
        assert seen(site["alone"]) == {"in_flight": times}
        assert site["alone_ns"] == site["run_ns"] > 0
        (call,) = site["unsafe_calls"]
        assert function in call["function"] and call["asked_by"] == "program"
        assert (call["times"], call["switches"]) == (times, times)
        assert [frame["function"] for frame in call["stack"][:2]] == [caller, "main"]
    assert by_name["unsafe_calls"][0]["stack"][0]["line"] == line_of(SOURCE, "unsafe-call")


@pytest.mark.parametrize("algorithm", ["global_lock", "irrevocable", "auto"])
def test_running_alone_by_the_algorithm(sites_of, algorithm):
    count, _, _ = sites_of(algorithm, "commits", "count-up", "sum-table", "give-up")
    assert seen(count["alone"]) == {"by_algorithm": 1000}
    assert count["alone_ns"] == count["run_ns"] > 0
    assert count["read_set"] is count["write_set"] is None


@pytest.mark.sampled(2)
@pytest.mark.parametrize("algorithm", [*OPTIMISTIC, "two_phase"])
def test_unsafe_on_every_path_begins_alone(sites_of, algorithm):
    (site,) = sites_of(algorithm, "serial", "start-serial")
    assert (site["started"], site["committed"], site["retries"]) == (4, 4, 0)
    assert seen(site["alone"]) == {"start_serial": 4}
    assert site["alone_ns"] == site["run_ns"] > 0


@pytest.mark.sampled(2)
@pytest.mark.parametrize("algorithm", ["norec", "eager_norec", "lazy", "encounter_time"])
def test_who_fails_too_often_runs_alone(sites_of, algorithm):
    """Its retries are those until then; each is a conflict that the other site won."""
    loser, winner = sites_of(f"{algorithm}:serialize", "starve", "starving", "winning")
    assert (loser["started"], loser["committed"]) == (1, 1)
    assert seen(loser["alone"]) == {"after_failures": 1}
    assert loser["retries"] == loser["most_retries"] == sum(loser["aborts"].values()) > 1
    assert winner["committed"] >= loser["retries"]
    assert sum(conflict["times"] for conflict in loser["conflicts"]) == loser["retries"]
    assert {conflict["winner"] for conflict in loser["conflicts"]} == {winner["name"]}
    assert loser["alone_ns"] > 0 and loser["wasted_ns"] > 0


def test_every_hardware_attempt_is_counted(sites_of):
    """Where none commits, and where all do but those that an interrupt or the like has aborted."""
    (count, _, _) = sites_of("htm", "commits", "count-up", "sum-table", "give-up")
    assert count["committed"] == 1000
    fell_back = 1000 - count["hardware"]
    assert sum(count["aborts"].values()) >= (64 if fell_back == 1000 else fell_back)
    assert all(name.startswith("hardware_") for name in seen(count["aborts"]))


def drawn(page):
    """The page after its scripts have run."""
    browser = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    browser.append(f"--user-data-dir={page.parent}/profile")  # the home may be read-only
    done = subprocess.run(
        [*browser, f"file://{page}"], capture_output=True, text=True, timeout=120, check=True
    )
    return done.stdout


def test_text_and_page(program, tmp_path):
    record = recorded(tmp_path, "norec", program, "conflict")
    text = run_cli("report", record, COLUMNS="140").stdout
    assert "transactions by norec" in text
    (row,) = [line for line in text.splitlines() if "disputed" in line]
    loser, winner = (f"{SOURCE}:{line_of(SOURCE, mark)}" for mark in ("loser", "winner"))
    assert row.split() == ["lose", "at", loser, "disputed", "win", "at", winner, "read", "1"]
    for idle in (["--folded"], ["--lock", "disputed"], ["--firefox", tmp_path / "profile"]):
        done = run_cli("report", *idle, record)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert f"{idle[0]} is of locks" in done.stderr
    page = tmp_path / "page.html"
    assert run_cli("report", "--html", page, record).returncode == 0
    assert winner in page.read_text()
    # Behind the table of conflicts: the loser's stack, as a browser draws it.
    stacks = drawn(page).partition('id="conflict-stacks"')[2].partition("<h3>")[0]
    assert "disputed in lose" in stacks
    assert f'>lose <span class="soft">{SOURCE}:' in stacks

    unsafe = recorded(tmp_path, "norec", program, "unsafe")
    text = run_cli("report", unsafe, COLUMNS="200").stdout
    by_pointer = f"report_by_pointer at {SOURCE}:"
    (call,) = [line for line in text.splitlines() if line.startswith("say_more")]
    assert f" in {by_pointer}" in call and call.endswith("3 times, 3 began again")
    for word in ("started", "retries", "reads", "writes", "alone", "wasted", "in flight"):
        assert word in text, word
    assert run_cli("report", "--html", page, unsafe).returncode == 0
    for said in ("say_more", "report_by_pointer", '"in_flight":', '"alone_ns":', '"read_set":'):
        assert said in page.read_text(), said


def test_library_form_and_children(build, tmp_path):
    source = "library_form.cpp"
    record = recorded(tmp_path, "norec", build("library_form"))
    (child,) = [path for path in tmp_path.iterdir() if path.name.startswith("tm.rec.")]
    counts = [
        {site["line"]: site["committed"] for site in results["transactions"]["sites"]}
        for results in report(record, child)
    ]
    once, twice = (line_of(source, mark) for mark in ("add", "add-twice"))
    assert counts == [{once: 5, twice: 1}, {twice: 3}]


def test_program_without_transactions(tmp_path):
    done = run_cli("record", "--tm", "norec", "-o", tmp_path / "r", "--", "true")
    assert done.returncode == 0
    assert "no record was written" in done.stderr and "libitm" in done.stderr


@pytest.mark.parametrize("option", [["--lock", "ticket"], ["--omp"]])
def test_locks_and_transactions_are_recorded_apart(option, tmp_path):
    done = run_cli("record", "--tm", "norec", *option, "-o", tmp_path / "r", "--", "true")
    assert done.returncode == 2
    said = f"syncopate: record: {option[0]} with --tm: transactions are recorded, "
    assert done.stderr.startswith(said)
