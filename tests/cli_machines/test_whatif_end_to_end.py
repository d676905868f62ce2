"""The whole way: record a program, then ask what changes of its lock bring on another machine."""

import json
import subprocess

from test_on_machines import on_machines

# Four threads that do nearly all of their work in one lock.
PROGRAM = """\
#include <pthread.h>
static pthread_mutex_t the_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned long sum;
static void* work(void* unused) {
  for (int i = 0; i < 2000; i++) {
    pthread_mutex_lock(&the_lock);
    for (int j = 0; j < 2000; j++) sum += j;
    pthread_mutex_unlock(&the_lock);
  }
  return unused;
}
int main(void) {
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, work, 0);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
}
"""


def gains(folder, *words) -> dict[tuple[str, int], float]:
    out = folder / "answers.json"
    record = folder / "some.rec"
    done = on_machines("simulate", "--from", record, "--lock", "the_lock", "--json", out, *words)
    assert done.returncode == 0, done.stderr
    answers = json.loads(out.read_text())["answers"]
    assert all(answer["low"] < answer["gain"] < answer["high"] for answer in answers)
    return {(answer["what"], answer["threads"]): answer["gain"] for answer in answers}


def test_record_then_ask(tmp_path):
    program = tmp_path / "program"
    build = ["gcc", "-O1", "-g", "-pthread", "-x", "c", "-", "-o", str(program)]
    subprocess.run(build, input=PROGRAM, text=True, check=True)
    record = tmp_path / "some.rec"
    done = on_machines("record", "--quiet", "-o", record, "--", program)
    assert done.returncode == 0, done.stderr
    words = ("--machine", "test-4c", "--threads", "1,4", "--seeds", "1")
    found = gains(tmp_path, *words, "--what", "lock=tatas,halve,shard=8,rwlock=100")
    # Alone, a thread waits for nobody: only what shortens its section helps it.
    for what in ("lock=tatas", "shard=8", "rwlock=100"):
        assert 0.9 < found[what, 1] < 1.1, found
    assert found["halve", 1] > 1.2
    # Four threads queue: they profit from whatever lets them in at once.
    assert found["shard=8", 4] > 1.5
    assert found["rwlock=100", 4] > 1.5
    assert found["halve", 4] > 1.2
    again = gains(tmp_path, *words, "--what", "shard=8")
    assert again["shard=8", 4] == found["shard=8", 4]  # simulated: the same every time
