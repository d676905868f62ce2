"""Each workload with tiny parameters: its line of JSON, and what must hold in it. Natively, and on
the emulated and the simulated machine."""

import json
import os
import subprocess
from pathlib import Path

import pytest

BUILD = Path(os.environ["SYNCOPATE_BUILD_DIR"]) / "papers/workloads"
LOCKS = ("pthread", "libgomp", "mcs:monitor", "one_spinner", "speculative_tatas",
         "speculative_ticket", "priority", "htm_1", "htm_10", "published:htm-1",
         "published:htm-10-fb-aahtm:4")  # fmt: skip
BARRIERS = ("futex", "poll_then_futex", "central", "dissemination", "two_level")
MODES = ("small_atomic", "small_critical", "large_critical", "small_tm", "large_tm")
COUNTERS = ("mutex", "atomic", "privatize", "elided", "coarsened", "adaptive")
SOLVERS = ("mutex", "try", "barrier", "elided", "lockset", "try_lockset", "coarsened", "adaptive",
           "whole")  # fmt: skip
MACHINES = {  # and what their programs are told
    "emulated": {"SYNCOPATE_ELIDE": "always"},
    "simulated": {"SYNCOPATE_MACHINE": "haswell-4c8t", "SYNCOPATE_QUIET": "1"},
}
BUILT = [name for name in MACHINES if (BUILD / f"array_bench.{name}").exists()]


def run(program: str, machine: str = "", stats: str = "", **parameters):
    """The finished process. `stats`: where the machine's report is to be written."""
    words = [word for name, value in parameters.items() for word in (f"--{name}", str(value))]
    suffix = f".{machine}" if machine else ""
    settings = MACHINES.get(machine, {}) | ({"SYNCOPATE_STATS": stats} if stats else {})
    return subprocess.run(
        [BUILD / (program + suffix), *words],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=os.environ | settings,
    )


def check_refused(done: subprocess.CompletedProcess, message: str) -> None:
    """Bad use: one line that says so, and nothing else."""
    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def measure(program: str, machine: str = "", stats: str = "", **parameters) -> dict:
    """The program's line of JSON, checked for what every workload promises."""
    done = run(program, machine, stats, **parameters)
    assert done.returncode == 0, done.stdout + done.stderr
    (line,) = done.stdout.splitlines()
    result = json.loads(line)
    assert result["workload"] == Path(program).name
    assert result["consistent"] is True
    assert result["threads"] == parameters.get("threads", 2) == len(result["per_thread"])
    assert result["operations"] == sum(result["per_thread"])
    assert result["seconds"] > 0
    return result


@pytest.mark.parametrize("lock", LOCKS)
def test_lock_pingpong(lock):
    result = measure("lock_pingpong", lock=lock, threads=3, pairs=50, work=100)
    assert result["per_thread"] == [50, 50, 50]
    assert result["lock"] == lock


def test_lock_pingpong_with_no_work_outside():
    result = measure("lock_pingpong", lock="libgomp", threads=2, pairs=40, work=500, outside=0)
    assert result["seconds"] > 2 * 40 * 450e-9  # the work inside, one after the other


@pytest.mark.parametrize("lock", LOCKS)
def test_parallel_tasks(lock):
    # More than a queue for two takes: some are run at once.
    result = measure("parallel_tasks", lock=lock, threads=2, tasks=200, work=100)
    assert result["operations"] == 400


@pytest.mark.parametrize("barrier", BARRIERS)
def test_barrier_rounds(barrier):
    result = measure("barrier_rounds", barrier=barrier, threads=2, rounds=40, work=500)
    assert result["per_thread"] == [40, 40]
    assert result["seconds"] > 40 * 450e-9  # the work alone; the clock's rate is measured


@pytest.mark.parametrize("lock", LOCKS)
def test_array_bench(lock):
    for contended in (0, 1):
        measure("array_bench", lock=lock, contended=contended, elements=1000, microseconds=300)
    measure("array_bench", lock=lock, contended=1, optimized=1, footprint=100, microseconds=300)


@pytest.mark.parametrize("protect", [0, 1])
def test_adversarial(protect):
    measure("adversarial", lock="speculative_tatas", protect=protect, microseconds=300)


@pytest.mark.parametrize("lock", LOCKS)
def test_map_bench(lock):
    measure("map_bench", lock=lock, keys=200, changes=100, microseconds=300)


@pytest.mark.parametrize("lock", LOCKS)
def test_coarse_cache(lock):
    measure("coarse_cache", lock=lock, keys=20, sets=50, work=0, threads=3, microseconds=300)


@pytest.mark.parametrize("lock", [*LOCKS, "rwlock"])
def test_tree_database(lock):
    measure("tree_database", lock=lock, keys=2000, threads=3, microseconds=300)


def test_tree_database_computes_between_operations():
    result = measure("tree_database", keys=2000, threads=1, microseconds=3000, between=100_000)
    assert 0 < result["operations"] <= 31  # the last one begins before the end


def test_map_bench_only_finds():
    result = measure("map_bench", keys=200, changes=0, microseconds=30_000)
    assert 0 < result["found"] < result["operations"]


@pytest.mark.parametrize("mode", MODES)
def test_clomp_tm(mode):
    for scatters in (1, 5):
        result = measure("clomp_tm", mode=mode, scatters=scatters, threads=3, passes=2)
        assert result["operations"] == 2 * 16 * 64 * scatters
        assert result["per_thread"] == [n * 2 * 64 * scatters for n in (5, 5, 6)]


@pytest.mark.parametrize("variant", COUNTERS)
def test_histogram(variant):
    for threads in (1, 3):
        sizes = {"pixels": 2000, "bins": 100, "granularity": 7}
        result = measure("histogram", variant=variant, threads=threads, **sizes)
        assert result["operations"] == 2000
        assert result["variant"] == variant


@pytest.mark.parametrize("variant", SOLVERS)
def test_physics_solver(variant):
    for threads in (1, 3):
        result = measure("physics_solver", variant=variant, threads=threads, steps=2)
        assert result["operations"] == 2 * 1024
        assert (result["groups"] > 1) == (variant == "barrier")


@pytest.mark.parametrize("machine", BUILT)
def test_shrinking_writes(machine):
    """What fits commits; 24 KB do not, on the machine that has the paper's limit."""
    result = measure("shrinking_writes", machine, threads=1, hundreds=2)
    counts = result["committed"]
    assert list(counts) == ["24", "20", "16", "12"]
    assert all(len(each) == 2 for each in counts.values())
    if machine == "simulated":
        assert sum(counts["24"]) == 0
        assert sum(counts["12"]) > 0


PUBLISHED = ("published:htm-1", "published:htm-10", "published:htm-10-fb-aahtm:4")
# Every workload, and what of it runs transactions.
ON_MACHINES = [
    ("lock_pingpong", {"lock": "htm_10", "pairs": 50, "work": 100}),
    ("barrier_rounds", {"rounds": 10, "work": 500}),
    ("parallel_tasks", {"lock": "libgomp", "tasks": 30, "work": 100}),
    ("adversarial", {"lock": "htm_10", "microseconds": 300}),
    *[
        ("array_bench", {"lock": lock, "microseconds": 300} | size)
        for lock in ("htm_10", "pthread")
        for size in ({"elements": 1000}, {"elements": 1000, "contended": 1, "footprint": 100})
    ],
    *[
        ("map_bench", {"lock": lock, "keys": keys, "changes": changes, "microseconds": 300})
        for lock in ("htm_10", "pthread", *PUBLISHED)
        for keys, changes in ((500, 20), (500, 100), (10000, 20))
    ],
    *[("clomp_tm", {"mode": mode, "passes": 1}) for mode in MODES],
    *[("histogram", {"variant": variant, "pixels": 2000, "bins": 100}) for variant in COUNTERS],
    *[("physics_solver", {"variant": variant, "steps": 2}) for variant in SOLVERS],
]
TRANSACTIONAL = ("htm_10", "small_tm", "large_tm", "elided", "coarsened", "adaptive", "lockset",
                 "whole", *PUBLISHED)  # fmt: skip


@pytest.mark.sampled(6)
@pytest.mark.parametrize("machine", BUILT)
@pytest.mark.parametrize(
    ("program", "parameters"), ON_MACHINES, ids=lambda p: p if isinstance(p, str) else None
)
def test_on_machines(program, parameters, machine, tmp_path):
    """The same source; its check at the end; and what should run as transactions does."""
    stats = tmp_path / "stats.json"
    measure(program, machine, str(stats), threads=3, **parameters)
    transactions = json.loads(stats.read_text()).get("transactions", [])
    commits = sum(each["commits"] for each in transactions)
    if any(name in TRANSACTIONAL for name in parameters.values()):
        assert commits > 0
    if parameters.get("lock") == "pthread":  # elided where they are ours, and transactions commit
        assert (commits > 0) == (machine == "emulated")


@pytest.mark.parametrize("machine", BUILT)
def test_an_inconsistent_run_is_told_on_machines(machine):
    sizes = {"elements": 1, "threads": 4, "microseconds": 1000 if machine == "simulated" else 20000}
    assert any(
        run("array_bench", machine, lock="null", seed=seed, **sizes).returncode == 1
        for seed in range(1, 21)
    )


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two processors")
def test_an_inconsistent_run_is_told():
    """Without a lock updates are lost, sooner or later; the program has to say so."""
    for _ in range(50):
        done = run("array_bench", lock="null", elements=1, threads=4, microseconds=20000)
        if done.returncode == 1:
            assert json.loads(done.stdout)["consistent"] is False
            return
    pytest.fail("no update was ever lost under the null lock")


@pytest.mark.parametrize(
    ("program", "parameters", "message"),
    [
        ("lock_pingpong", {"lock": "nosuch"}, "no lock is called 'nosuch'"),
        ("barrier_rounds", {"barrier": "nosuch"}, "no barrier is called 'nosuch'"),
        ("clomp_tm", {"mode": "nosuch"}, "no mode is called 'nosuch'"),
        ("clomp_tm", {"mode": "serial", "threads": 2}, "serial needs --threads 1"),
        ("map_bench", {"threads": "0"}, "--threads needs a whole number of at least 1"),
        ("map_bench", {"threads": "two"}, "--threads needs a whole number of at least 1"),
        ("map_bench", {"thread": 2}, "there is no option '--thread'"),
        *[
            ("map_bench", {"lock": name}, f"no lock is called '{name}'")
            for name in (
                "published:htm-2",
                "published:htm-10:",
                "published:htm-10:0",
                "published:htm-10:65",
                "published:htm-10:4x",
            )
        ],
        ("histogram", {"variant": "nosuch"}, "no variant is called 'nosuch'"),
        ("histogram", {"bins": 0}, "--bins needs a whole number of at least 1"),
        ("physics_solver", {"variant": "nosuch"}, "no variant is called 'nosuch'"),
        ("physics_solver", {"barrier": "nosuch"}, "no barrier is called 'nosuch'"),
        ("physics_solver", {"hubs": 64}, "--hubs needs fewer than --objects"),
    ],
)
def test_bad_use(program, parameters, message):
    check_refused(run(program, **parameters), message)


def test_help_names_every_option():
    done = run("map_bench", help="")
    assert done.returncode == 0
    for option in ("lock", "threads", "keys", "changes", "seed"):
        assert f"--{option} " in done.stdout
