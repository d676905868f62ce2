"""stress-ng's stressors for POSIX locks and threads, bounded by operations where that is safe: the
mutex stressor says "could not create any pthreads" where its first thread has done them all, as it
does on one processor."""

import pytest
from preloaded import installed, run, under_every_lock


def check(lock, folder, stressor, bounds, *options):
    """Runs two instances of a stressor under `lock`; all that was asked for must have been done."""
    program = installed("stress-ng", "stress-ng")
    log = folder / "log"
    options = [*options, "--timeout", bounds.get("seconds", 30), "--temp-path", folder]
    if "operations" in bounds:
        options += [f"--{stressor}-ops", bounds["operations"]]
    report = ["--verify", "--metrics-brief", "--log-file", log]
    run(lock, [program, f"--{stressor}", 2, *options, *report])
    lines = log.read_text(encoding="utf-8").splitlines()
    assert any("successful run completed" in line for line in lines), lines
    assert "fail:" not in "\n".join(lines), lines
    done = [line.split() for line in lines if f"] {stressor} " in line]
    counts = [words[words.index(stressor) + 1] for words in done]
    assert counts and int(counts[0]) >= bounds.get("operations", 1), lines


@pytest.mark.sampled(3)
@under_every_lock()
@pytest.mark.parametrize(
    ("stressor", "bounds"),
    [("mutex", {"seconds": 1}), ("pthread", {"operations": 2000}), ("futex", {"operations": 2000})],
)
def test_stress_ng(lock, stressor, bounds, tmp_path):
    check(lock, tmp_path, stressor, bounds)


@pytest.mark.long
@under_every_lock()
def test_stress_ng_mutex_with_many_threads(lock, tmp_path):
    check(lock, tmp_path, "mutex", {"seconds": 2}, "--mutex-procs", 16)
