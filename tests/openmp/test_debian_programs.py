"""Programs of Debian's that use OpenMP: the same output to the byte with the library as without."""

import random

import pytest
from openmp_runs import installed, run

SETTINGS = [
    {},
    {"OMP_NUM_THREADS": "2"},
    {"SYNCOPATE_OMP_BARRIER": "central:park", "SYNCOPATE_OMP_LOCK": "ticket:park"},
    {"SYNCOPATE_OMP_BARRIER": "dissemination", "SYNCOPATE_OMP_LOCK": "mcs"},
]
every_setting = pytest.mark.parametrize("settings", SETTINGS)


@pytest.fixture(scope="module")
def proteins(tmp_path_factory):
    """Forty mutated copies of one sequence, the same in every run."""
    draw = random.Random(5)
    letters = "ACDEFGHIKLMNPQRSTVWY"
    ancestor = draw.choices(letters, k=120)
    lines = []
    for i in range(40):
        copy = [draw.choice(letters) if draw.random() < 0.2 else letter for letter in ancestor]
        lines.append(f">s{i}\n{''.join(copy)}\n")
    path = tmp_path_factory.mktemp("proteins") / "proteins.fa"
    path.write_text("".join(lines))
    return path


@pytest.mark.sampled(2)
@every_setting
def test_graphicsmagick(settings, tmp_path):
    program = installed("gm", "graphicsmagick")

    def picture(ours):
        path = tmp_path / f"{ours}.ppm"
        run(
            [program, "convert", "-size", "320x240", "gradient:red-blue", "-blur", "0x3",
             "-rotate", "17", "-resize", "60%", "-median", "2", path],
            ours, **settings,
        )  # fmt: skip
        return path.read_bytes()

    assert picture(True) == picture(False)


@pytest.mark.sampled(2)
@every_setting
def test_clustalo(settings, proteins):
    program = installed("clustalo", "clustalo")
    command = [program, "-i", proteins, "--threads=4"]
    aligned = run(command, True, **settings).stdout
    assert aligned.count(">") == 40
    assert aligned == run(command, False).stdout


@pytest.mark.long
@every_setting
def test_fasttree(settings, proteins):
    program = installed("fasttreeMP", "fasttree")
    command = [program, "-quiet", "-nosupport", proteins]
    tree = run(command, True, **settings).stdout
    assert tree.count("s") == 40
    # Its sums depend on the number of threads.
    threads = settings.get("OMP_NUM_THREADS", "4")
    assert tree == run(command, False, OMP_NUM_THREADS=threads).stdout
