"""The command: records, tries, writes a policy that works. The program's metric says which locks it
was given, so that no timing decides anything."""

import os
import signal
import subprocess
import time
from types import SimpleNamespace

import pytest
from conftest import COMMAND, ROOT, compile_program, policy_of, syncopate

from syncopate.base.errors import Failure
from syncopate.bench.ratios import Ratio
from syncopate.launch import policy
from syncopate.tuning import policyfile, verdict
from syncopate.tuning.choice import AS_IS, Choice
from syncopate.tuning.metric import Metric
from syncopate.tuning.plan import Outcome
from syncopate.tuning.search import Dropped, Verdict
from syncopate.tuning.session import Session

# Two mutexes that threads surely wait for. What it prints is a cost that depends on its locks: 100,
# or 80 where all are tatas, or 60 where `second_lock` is an mcs besides.
SUBJECT = r"""
#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t first_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t second_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t between;
static void hold(pthread_mutex_t* m) {
  pthread_mutex_lock(m);
  nanosleep(&(struct timespec){0, 300000}, 0);
  pthread_mutex_unlock(m);
}
static void* work(void* x) {
  for (int i = 0; i < 3; i++) hold(&first_lock);
  pthread_barrier_wait(&between);
  for (int i = 0; i < 3; i++) hold(&second_lock);
  return x;
}
static void wait_for_locks(void) {
  pthread_t t[3];
  pthread_barrier_init(&between, 0, 3);
  for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, work, 0);
  for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
}
// Waits for its locks and says what it costs to each who comes.
static void serve(int port, int cost) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port),
                           .sin_addr = {htonl(INADDR_LOOPBACK)}};
  int listening = socket(AF_INET, SOCK_STREAM, 0);
  signal(SIGPIPE, SIG_IGN);
  if (bind(listening, (struct sockaddr*)&at, sizeof at) != 0) exit(1);
  listen(listening, 5);
  for (;;) {
    int peer = accept(listening, 0, 0);
    wait_for_locks();
    dprintf(peer, "cost: %d\n", cost);
    close(peer);
  }
}
int main(int argc, char** argv) {
  if (argc > 1 && !strcmp(argv[1], "crash")) abort();
  if (argc > 1 && !strcmp(argv[1], "sleep")) printf("asleep\n"), fflush(stdout), sleep(600);
  const char *lock = getenv("SYNCOPATE_LOCK"), *sites = getenv("SYNCOPATE_SITES");
  int cost = 100;
  if (argc > 1 && !strcmp(argv[1], "same")) lock = 0;
  if (lock && !strcmp(lock, "tatas")) cost = 80;
  const char* own = cost == 80 && sites ? strstr(sites, "lock=mcs,variable second_lock") : 0;
  if (own) cost = 60;
  if (argc > 2) serve(atoi(argv[2]), cost);
  wait_for_locks();
  printf("cost: %d\n", cost);
  if (argc > 1 && !strcmp(argv[1], "mcs") && lock && !strcmp(lock, "mcs")) return 3;
  return 0;
}
"""
NONE_TRIED = "nothing else was tried"
METRIC = ("--metric", r"cost: (\d+)", "--smaller-is-better", "--locks", "auto,tatas,mcs")


@pytest.fixture(scope="module")
def subject(tmp_path_factory):
    return compile_program(SUBJECT, tmp_path_factory.mktemp("subject") / "subject", "-O1")


def tune(folder, *arguments, budget="60s", environ=None):
    return syncopate("tune", "--budget", budget, *arguments, cwd=folder, environ=environ)


def test_a_policy_is_found_written_and_applied(subject, tmp_path):
    done = tune(tmp_path, *METRIC, "-o", "found.toml", "--", subject, "mcs")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("better than what you have: 1.667x (95 %: 1.667 to 1.667;")
    assert f"syncopate run --policy found.toml -- {subject} mcs" in done.stdout
    assert "left out: lock=mcs" in done.stderr.replace("left out: mcs", "left out: lock=mcs")
    assert "ended with status 3" in done.stderr
    found = policy.read(str(tmp_path / "found.toml"))
    assert found.default["lock"] == "tatas"
    assert found.default["gain"].startswith("1.250x")
    (entry,) = found.entries
    assert (entry["variable"], entry["lock"]) == ("second_lock", "mcs")
    assert entry["reason"].endswith("% of the time lost to locks")
    assert entry["gain"].startswith("1.333x")
    ran = syncopate("run", "-v", "--policy", tmp_path / "found.toml", subject)
    assert ran.stdout == "cost: 60\n"
    assert "policy: variable second_lock: locks: 1, each mcs:spin_then_park" in ran.stderr
    assert "locks of this program: tatas:spin_then_park" in ran.stderr


def test_no_change_is_better(subject, tmp_path):
    done = tune(tmp_path, *METRIC, "--", subject, "same")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("no change is better than what you have")
    assert os.listdir(tmp_path) == []


def test_a_program_without_waits_is_left_alone(tmp_path):
    done = tune(tmp_path, "--", "true")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("nothing else was tried: locks cost 0.00 %")


@pytest.mark.long
def test_a_server_under_load(subject, tmp_path):
    done = tune(
        tmp_path, *METRIC, "--server", f"{subject} serve {{port}}",
        "--load", "bash -c 'cat < /dev/tcp/127.0.0.1/{port}'",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "better than what you have: 1." in done.stdout, done.stdout + done.stderr
    assert policy.read(str(tmp_path / "policy.toml")).default["lock"] == "tatas"
    # Nothing but our runs puts a port there, as the shell that takes this line does not.
    assert done.stdout.endswith(f"{subject} serve PORT (PORT: the one that it is to have)\n")
    assert "{port}" not in done.stdout + (tmp_path / "policy.toml").read_text()


def test_glibc_is_no_candidate(tmp_path):
    """No policy can have it for all beside another one for single locks."""
    done = tune(tmp_path, "--locks", "mcs,glibc", "--", "true")
    assert (done.returncode, done.stdout) == (2, "")
    said = "--locks glibc: that is the program as it is; leave it out"
    assert done.stderr == f"syncopate: tune: {said}\n"


def test_command_metric(tmp_path):
    number = tmp_path / "number"
    number.write_text("ops 1,250.5 a second")
    done = tune(tmp_path, "--metric", f"command:cat {number}", "--", "true")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(NONE_TRIED)


@pytest.mark.parametrize(
    ("text", "smaller", "output", "cost"),
    [
        ("wall", False, "", 2.5),
        ("ops: ([0-9.e+]+)", False, "ops: 4\nops: 2.5e1\n", 1 / 25),
        ("took (.*)", True, "took 1,500 ms", 1500.0),
        ("took (.*)", True, "took 0.0125s", 0.0125),
        ("took (.*)", True, "It took 12.\nAnd took about 1,234,567.5, as ever.", 1234567.5),
        ("output: ([0-9]+)", True, "rounds 7\noutput: 17\nseconds 3\n", 17.0),
        ("output:([0-9]+)", True, "output:17\nat:3\n", 17.0),
        ("command:echo 8", True, "", 8.0),
    ],
)
def test_metrics_are_costs(text, smaller, output, cost):
    assert Metric.parse(text, smaller).cost(2.5, output) == cost


@pytest.mark.parametrize(
    "number",
    ["12,5", "0,500", "1234,567", "1.234.567", "1_000", "1:30", "1e400", "1e-320", "-5", "nan",
     "\u0663"],
)  # fmt: skip
@pytest.mark.parametrize("smaller", [False, True])
def test_what_is_no_number_is_not_read_as_another(number, smaller):
    """A decimal comma, thousands by points, minutes: none counts as ten or a thousand times it."""
    with pytest.raises(Dropped, match="must be a number above zero"):
        Metric.parse("rate: (.*)", smaller).cost(2.5, f"rate: {number} and more\n")


TIME = "too little time was left; give it more with --budget"


@pytest.mark.parametrize(
    ("runs", "lost", "interrupted", "said"),
    [
        (1, 0.0001, False, f"{NONE_TRIED}: locks cost 0.01 % of its time"),
        (1, 0.4, False, f"{NONE_TRIED}: {TIME}"),
        (0, None, True, NONE_TRIED),
        (1, 0.4, True, NONE_TRIED),
        (120, 0.0001, False, "no change is better than what you have, as far as 120 runs can tell"),
    ],
)
def test_nothing_is_said_of_what_was_not_tried(runs, lost, interrupted, said):
    """A search may try locks that are used much, though nobody waits; and may be interrupted."""
    assert verdict.nothing(Outcome(), {}, lost, runs, interrupted) == said


MCS = Choice().with_default("lock", "mcs")


@pytest.mark.parametrize(
    ("rounds", "said"),
    [
        (2, "1.250x (too few rounds for 95 %: 1.111 to 1.429; 2 rounds)"),
        (5, "1.250x (too few rounds for 95 %: 1.111 to 1.429; 5 rounds)"),
        (6, "1.250x (95 %: 1.111 to 1.429; 6 rounds)"),
    ],
)
def test_an_interval_of_95_percent_has_rounds_enough(rounds, said):
    assert policyfile.gain(Verdict(MCS, AS_IS, Ratio(0.8, 0.7, 0.9), rounds)) == said


def test_what_was_compared_with_another_choice_is_not_told_as_if_with_the_program():
    on_top = MCS.with_single(0, "lock", "ticket")
    rejected = [Verdict(on_top, MCS, Ratio(0.5, 0.4, 1.1), 6)]
    assert "2.000x" not in verdict.nothing(Outcome(rejected=rejected), {}, 0.4, 80, False)


def test_a_choice_that_seems_worse_is_not_called_no_worse():
    """It is kept for what may be chosen on top, where its interval reaches one."""
    step = Verdict(MCS, AS_IS, Ratio(1.05, 0.99, 1.1), 30)
    written = policyfile.document(MCS, {}, Outcome(steps=[step]))["default"]
    assert written["gain"].startswith("0.952x")
    assert written["reason"].endswith("was not seen to be worse than the program as it is")


def test_the_processors_are_those_that_the_search_may_use(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {3})
    found = Verdict(MCS, AS_IS, Ratio(0.8, 0.7, 0.9), 30)
    assert "measured on 1 processor, Linux" in verdict.comments(found, ["x"], [1.0])[0]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["--", "SUBJECT", "crash"], 1, "fails by itself: it was killed by SIGABRT"),
        (["--", "false"], 1, "fails by itself: it ended with status 1"),
        (
            ["--metric", "nothing: (x)", "--", "true"],
            1,
            "cannot be judged: its output has nothing",
        ),
        (["--metric", "(x)", "--", "echo", "x"], 1, "echo cannot be judged: the metric is 'x'"),
        (["--metric", "[", "--", "true"], 2, "no regular expression"),
        (["--metric", "number", "--", "true"], 2, "must have one group"),
        (
            ["--metric", "command:false", "--", "true"],
            1,
            "cannot be judged: the metric's command",
        ),
        (["--locks", "auto,mcss", "--", "true"], 2, "did you mean mcs"),
        (["--budget", "soon", "--", "true"], 2, "a time such as 90s"),
        (["--budget", "1s", "--", "sleep", "0.2"], 2, "one run takes 0."),
        (["--budget", "1s", "--", "sleep", "60"], 1, "ran longer than 1.0 s"),
        (["-o", "/nonexistent/policy.toml", "--", "true"], 2, "cannot be written"),
        (["--server", "sleep 60", "--load", "false"], 1, "the load false ended with status 1"),
        (["--server", "false", "--load", "true"], 1, "the server ended with status 1"),
        (["--server", "x"], 2, "--server and --load go together"),
        (["--server", "no-such-program", "--load", "true"], 127, "no-such-program: not found"),
        ([], 2, "no program named"),
        (["--", "no-such-program"], 127, "not found"),
    ],
)
def test_what_cannot_be_tuned_is_one_line(subject, tmp_path, arguments, status, said):
    words = [str(subject) if word == "SUBJECT" else word for word in arguments]
    done = syncopate("tune", *words, cwd=tmp_path)
    lines = [line for line in done.stderr.splitlines() if "left" not in line]
    assert done.returncode == status, done.stderr
    assert len(lines) == 1
    assert said in lines[0]
    assert done.stdout == ""


@pytest.mark.parametrize(("now", "limit"), [(0.0, 5.3), (22.0, 3.0), (24.9, 0.3), (60.0, 0.3)])
def test_a_run_ends_with_the_budget(monkeypatch, now, limit):
    """But has ten times as long as the program takes without us, of which the page speaks."""
    given = []
    session = Session.__new__(Session)
    session.runner = SimpleNamespace(run=lambda _, seconds: given.append(seconds))
    session.environs, session.deadline = {AS_IS: {}}, 25.0
    session.least, session.limit = 0.3, 5.3
    monkeypatch.setattr(time, "monotonic", lambda: now)
    session.measure(AS_IS)
    assert given == [pytest.approx(limit)]


def test_interrupts_end_the_program_and_leave_nothing(subject, tmp_path):
    named = tmp_path / "interrupted-subject"
    named.symlink_to(subject)
    with subprocess.Popen(
        [*COMMAND, "tune", "--", named, "sleep"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        child = running(str(named))
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.startswith("interrupted; nothing else was tried\n")
    assert not os.path.exists(f"/proc/{child}")


def running(program: str) -> int:
    """Waits for the process whose command begins so."""
    for _ in range(2000):
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{entry}/cmdline") as file:
                    if file.read().startswith(program + "\0"):
                        return int(entry)
            except OSError:
                continue
        time.sleep(0.02)
    raise AssertionError(f"{program} did not start")


@pytest.mark.parametrize("word", ["a\nb", "a\rb", "\x1b[2J", "\x7f", "\udcff", "\u2028"])
def test_a_policy_is_one_whatever_the_command_holds(tmp_path, word):
    path = tmp_path / "policy.toml"
    found = Verdict(Choice().with_default("lock", "mcs"), AS_IS, Ratio(0.8, 0.7, 0.9), 30)
    comments = verdict.comments(found, ["program", word], [1.0])
    path.write_text(policyfile.text(policyfile.document(found.choice, {}), comments))
    assert policy.read(str(path)).default["lock"] == "mcs"


def test_policies_of_tests_are_sound(tmp_path):
    path = tmp_path / "policy.toml"
    path.write_text(policy_of('[default]\nomp_barrier = "dissemination"\nomp_wait = "park"\n'))
    assert policy.read(str(path)).default["omp_wait"] == "park"
    path.write_text(policy_of('[default]\nomp_regions = "kept"\n'))
    assert policy.read(str(path)).default["omp_regions"] == "kept"
    path.write_text(policy_of('[default]\nomp_regions = "stay"\n'))
    with pytest.raises(Failure, match=r"omp_regions.*there are kept, runtime"):
        policy.read(str(path))


OPENMP = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
  int sum = 0;
#pragma omp parallel num_threads(3) reduction(+ : sum)
  for (int i = 0; i < 20; i++) {
    sum += i;
#pragma omp barrier
  }
  const char* barrier = getenv("SYNCOPATE_OMP_BARRIER");
  printf("cost: %d\n", barrier && !strcmp(barrier, "central") ? 40 : 50);
  return sum != 3 * 190;
}
"""


def test_barriers_of_openmp(tmp_path):
    program = compile_program(OPENMP, tmp_path / "team", "-fopenmp", "-O1")
    done = tune(tmp_path, *METRIC, "--", program, budget="40s")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("better than what you have: 1.250x"), done.stdout + done.stderr
    found = policy.read(str(tmp_path / "policy.toml"))
    assert found.default["omp_barrier"] == "central"
    assert found.default["gain"].startswith("1.250x")
    ran = syncopate("run", "--policy", tmp_path / "policy.toml", program)
    assert (ran.returncode, ran.stdout) == (0, "cost: 40\n")


BARRIER = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static pthread_barrier_t between;
static void* work(void* x) {
  for (int i = 0; i < 20; i++) {
    if (x) nanosleep(&(struct timespec){0, 300000}, 0);
    pthread_barrier_wait(&between);
  }
  return x;
}
int main(void) {
  pthread_t late, early;
  pthread_barrier_init(&between, 0, 2);
  pthread_create(&late, 0, work, &late);
  pthread_create(&early, 0, work, 0);
  pthread_join(late, 0);
  pthread_join(early, 0);
  const char* sites = getenv("SYNCOPATE_SITES");
  printf("cost: %d\n", sites && strstr(sites, "barrier=park,variable between") ? 40 : 50);
  return 0;
}
"""


def test_barriers_of_pthread(tmp_path):
    program = compile_program(BARRIER, tmp_path / "between", "-O1")
    done = tune(tmp_path, *METRIC, "--", program, budget="40s")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("better than what you have: 1.250x"), done.stdout + done.stderr
    found = policy.read(str(tmp_path / "policy.toml"))
    assert [(each["variable"], each["barrier"]) for each in found.entries] == [("between", "park")]
    assert found.entries[0]["reason"].endswith("% of all time is spent at it")
    ran = syncopate("run", "-v", "--policy", tmp_path / "policy.toml", program)
    assert (ran.returncode, ran.stdout) == (0, "cost: 40\n")
    assert "barriers: 1, each waits by park" in ran.stderr
