"""The HPC set with small inputs: every variant ends in what one thread computes, natively and on
the emulated machine, and one of each program on the simulated machine."""

import json

import pytest
from test_workloads import BUILT, check_refused, measure, run

VARIANTS = ("original", "elided", "lockset", "static", "coarsened", "adaptive")
# Inputs that every machine finishes at once.
SIZES = {
    "hpc/graph_cluster": {"vertices": 600, "rounds": 3},
    "hpc/ua": {"side": 3, "steps": 2},
    "hpc/nufft": {"side": 12, "samples": 400},
    "hpc/canneal": {"elements": 500, "steps": 12, "moves": 1500},
}
RUNS = [
    (program, variant)
    for program in SIZES
    for variant in VARIANTS
    if (program, variant) != ("hpc/ua", "lockset")  # its mortars have no locks
]


@pytest.mark.parametrize(("program", "variant"), RUNS)
def test_every_variant_ends_in_the_sequential_result(program, variant):
    operations = set()
    for threads in (1, 3):
        result = measure(program, variant=variant, threads=threads, granularity=5, **SIZES[program])
        assert result["variant"] == variant
        operations.add(result["operations"])
    assert len(operations) == 1  # the work does not depend on the threads


@pytest.mark.skipif("emulated" not in BUILT, reason="no emulated machine in this build")
@pytest.mark.parametrize(("program", "variant"), RUNS)
def test_emulated(program, variant, tmp_path):
    check_transactions(program, "emulated", variant, tmp_path, SIZES[program])


@pytest.mark.skipif("simulated" not in BUILT, reason="no simulated machine in this build")
@pytest.mark.parametrize("program", SIZES)
def test_simulated(program, tmp_path):
    variant = "elided" if program == "hpc/canneal" else "coarsened"
    check_transactions(program, "simulated", variant, tmp_path, SIZES[program])


def check_transactions(program, machine, variant, tmp_path, sizes):
    """The check at the end holds, and sections run as transactions where they are elided."""
    stats = tmp_path / "stats.json"
    measure(program, machine, str(stats), variant=variant, threads=3, **sizes)
    commits = sum(each["commits"] for each in transactions_in(stats))
    assert (commits > 0) == elides(program, machine, variant)


def transactions_in(stats):
    return json.loads(stats.read_text()).get("transactions", [])


def elides(program, machine, variant):
    """The emulated machine runs our mutexes as transactions, too."""
    locked = program in ("hpc/graph_cluster", "hpc/nufft")
    return variant != "original" or (locked and machine == "emulated")


def test_clusters_cut_less_than_half_of_the_graph():
    result = measure("hpc/graph_cluster", vertices=5000)
    assert 0 < result["cut"] < result["weight"] / 2


def test_annealing_shortens_the_nets():
    result = measure("hpc/canneal", threads=1, **SIZES["hpc/canneal"])
    assert result["cost"] == result["cost_sequential"] < result["cost_before"]


@pytest.mark.parametrize("trajectory", ["radial", "random"])
def test_trajectories(trajectory):
    measure("hpc/nufft", trajectory=trajectory, variant="lockset", threads=3, **SIZES["hpc/nufft"])


@pytest.mark.parametrize(
    ("program", "parameters", "message"),
    [
        ("hpc/ua", {"variant": "lockset"}, "no variant is called 'lockset'"),
        ("hpc/ua", {"side": 101}, "--side needs a whole number of at most 100"),
        (
            "hpc/canneal",
            {"preset": "huge"},
            "no preset is called 'huge'; there are",
        ),
        ("hpc/canneal", {"granularity": 0}, "--granularity needs a whole number of at least 1"),
        ("hpc/graph_cluster", {"vertices": "few"}, "--vertices needs a whole number of at least 1"),
        ("hpc/nufft", {"trajectory": "spiral"}, "no trajectory is called 'spiral'"),
        ("hpc/nufft", {"side": 3}, "--side needs at least 4"),
    ],
)
def test_bad_use(program, parameters, message):
    check_refused(run(program, **parameters), message)


@pytest.mark.parametrize("program", SIZES)
def test_help_names_presets(program):
    done = run(program, help="")
    assert done.returncode == 0
    assert "sizes: small, paper or large" in done.stdout


def test_too_much_is_one_line():
    many = run("hpc/ua", threads=100_000)
    assert (many.returncode, many.stdout) == (2, "")
    assert many.stderr.endswith(": --threads needs at most 4096\n")
    large = run("hpc/nufft", side=100_000)
    assert large.returncode == 3
    assert large.stderr == "no memory for this size; choose a smaller one\n"
