"""stress-ng's stressors for POSIX locks and threads, bounded by operations."""

import pytest
from preloaded import installed, run, under_every_lock


def check(lock, folder, stressor, operations, *options):
    """Runs two instances of a stressor under `lock`; all its operations must have been done."""
    program = installed("stress-ng", "stress-ng")
    log = folder / "log"
    bounds = [f"--{stressor}-ops", operations, "--timeout", "30s", "--temp-path", folder]
    report = ["--verify", "--metrics-brief", "--log-file", log]
    run(lock, [program, f"--{stressor}", 2, *options, *bounds, *report])
    lines = log.read_text(encoding="utf-8").splitlines()
    assert any("successful run completed" in line for line in lines), lines
    assert "fail:" not in "\n".join(lines), lines
    done = [line.split() for line in lines if f"] {stressor} " in line]
    counts = [words[words.index(stressor) + 1] for words in done]
    assert counts and int(counts[0]) >= operations, lines


@under_every_lock()
@pytest.mark.parametrize(
    ("stressor", "operations"), [("mutex", 400000), ("pthread", 2000), ("futex", 2000)]
)
def test_stress_ng(lock, stressor, operations, tmp_path):
    # The mutex stressor reports "could not create any pthreads" when so few operations are asked
    # for that its first thread has done them all.
    check(lock, tmp_path, stressor, operations)


@pytest.mark.long
@under_every_lock()
def test_stress_ng_mutex_with_many_threads(lock, tmp_path):
    check(lock, tmp_path, "mutex", 200000, "--mutex-procs", 16)
