"""What runs on the simulated machine leave: reports and tables, or a word; and what sweeps vary."""

import json
import re
import signal

import pytest
from test_on_machines import on_machines, source

ENDS = """\
#include <csignal>
#include <cstring>
#include <unistd.h>

extern "C" void syncopate_mark(const char*, unsigned long);

int main(int, char** arguments) {
  const char* how = arguments[1];
  if (std::strcmp(how, "exec") == 0) execl("/bin/true", "true", nullptr);
  if (std::strcmp(how, "signal") == 0) raise(SIGTERM);
  for (int file = 3; std::strcmp(how, "closed") == 0 && file < 1024; ++file) close(file);
  if (std::strcmp(how, "closed") == 0) close(STDERR_FILENO);
  const bool many = std::strcmp(how, "each") == 0;
  for (int i = 0; i < 10; ++i) {
    usleep(1000);
    if (many) syncopate_mark("turns", 1);
  }
  if (!many) syncopate_mark("turns", 10);
}
"""


@pytest.fixture(scope="module")
def ends(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ends")
    path = source(folder, "ends.cpp", ENDS)
    done = on_machines("c++", "--machine=simulated", "-O2", path, "-o", folder / "ends")
    assert done.returncode == 0, done.stderr
    return folder / "ends"


@pytest.mark.parametrize(("how", "status"), [("exec", 1), ("signal", 128 + signal.SIGTERM)])
def test_a_run_without_a_report_says_so_and_fails(ends, tmp_path, how, status):
    path = tmp_path / "old.json"
    path.write_text("{}")
    reports = ("--json", path, "--timeline", tmp_path / "timeline")
    done = on_machines("simulate", "-m", "test-4c", *reports, ends, how)
    assert done.returncode == status
    assert f"{path} is not of this run" in done.stderr
    assert f"{tmp_path / 'timeline'} is not of this run" in done.stderr
    done = on_machines("simulate", "-m", "test-4c", *reports, ends, "once")
    assert (done.returncode, "not of this run" in done.stderr) == (0, False)
    assert json.loads(path.read_text())["finished"]


@pytest.mark.parametrize(("how", "status"), [("exec", 1), ("signal", 128 + signal.SIGTERM)])
def test_a_run_without_tables_says_so_and_fails(ends, how, status):
    done = on_machines("simulate", "-m", "test-4c", "--stats", ends, how)
    assert done.returncode == status
    assert "syncopate: --stats: no tables: the program became another" in done.stderr


def test_a_refused_run_is_said_to_be_refused(ends, monkeypatch):
    monkeypatch.setenv("SYNCOPATE_LOCK", "no_lock")
    done = on_machines("simulate", "-m", "test-4c", "--stats", ends, "once")
    assert done.returncode == 2
    why, no_tables = done.stderr.splitlines()
    assert why.startswith("syncopate: no lock is called 'no_lock'")
    assert no_tables.startswith("syncopate: --stats: no tables: ") and "was refused" in no_tables


def test_tables_of_a_program_that_has_closed_its_standard_error(ends):
    plain = on_machines("simulate", "-m", "test-4c", "--stats", ends, "once")
    closed = on_machines("simulate", "-m", "test-4c", "--stats", ends, "closed")
    for done in (plain, closed):
        assert done.returncode == 0
        assert "simulated on test-4c" in done.stderr and "no tables" not in done.stderr


def test_a_variable_that_nothing_reads_is_told(ends, monkeypatch):
    for name, text in (("LOKC", "mcs"), ("GUARD", "misuse"), ("SEED", "2")):
        monkeypatch.setenv(f"SYNCOPATE_{name}", text)
    for command in (["simulate", "-q"], ["advise"]):
        done = on_machines(*command, "-m", "test-4c", ends, "once")
        assert done.returncode == 0, done.stderr
        told = [line for line in done.stderr.splitlines() if "nothing reads it" in line]
        assert [line.split()[1] for line in told] == ["SYNCOPATE_LOKC", "SYNCOPATE_GUARD"]


def test_a_sweep_over_a_program_without_a_report_says_so(ends):
    done = on_machines("simulate", "-m", "test-4c", "--sweep", "how=once,exec", ends, "{how}")
    assert done.returncode == 1
    assert done.stderr.startswith("syncopate: how=exec: no report: the program became another")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("sweep", "beside", "why"),
    [
        ("SYNCOPATE_STATS=1,json", [], "the sweep itself sets it"),
        ("SYNCOPATE_QUIET=0,1", [], "the sweep itself sets it"),
        ("SYNCOPATE_LOKC=futex,mcs", [], "nothing reads it (did you mean SYNCOPATE_LOCK"),
        ("SYNCOPATE_MACHINE=test-4c,small-2c", ["--machine", "test-4c"], "--machine says it too"),
        ("SYNCOPATE_CLIENT=a.so,b.so", ["--client", "a.so"], "--client says it too"),
    ],
)
def test_no_sweep_over_what_its_runs_do_not_get(ends, sweep, beside, why):
    done = on_machines("simulate", *beside, "--sweep", sweep, ends, "once")
    assert (done.returncode, done.stdout) == (2, "")
    assert why in done.stderr and done.stderr.count("\n") == 1


def test_the_figure_of_a_sweep_over_machines_names_them_all(ends, tmp_path):
    path = tmp_path / "machines.svg"
    sweep = ("--sweep", "SYNCOPATE_MACHINE=test-4c,small-2c", "--figure", path, ends, "each")
    assert on_machines("simulate", *sweep).returncode == 0
    assert "ends, simulated on test-4c, small-2c" in path.read_text()


# A turn takes a millisecond of sleep, and what a sleep costs beside.
@pytest.mark.parametrize("how", ["each", "once"])
def test_work_in_a_second_is_what_the_program_does_in_one(ends, tmp_path, how):
    path = tmp_path / "report.json"
    done = on_machines("simulate", "-m", "test-4c", "--json", path, ends, how)
    assert done.returncode == 0, done.stderr
    rate = json.loads(path.read_text())["marks"][0]["per_second"]
    assert 990 < rate < 1000
    tables = on_machines("simulate", "-m", "test-4c", "--stats", ends, how).stderr
    assert re.search(rf"^ +turns +10 +{rate:.0f} ", tables, re.M), tables
    swept = on_machines("simulate", "-m", "test-4c", "--sweep", f"how={how}", ends, "{how}")
    assert swept.stdout.splitlines()[-1].split()[3] == f"{rate:,.0f}"
