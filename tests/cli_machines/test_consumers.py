"""Consumers on one condition variable: as many executions as orders of their sections, no more."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from consumer_orders import orders
from modeled import BUILD, ROOT

PROGRAM = """
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

std::mutex mutex;
std::condition_variable changed;
int items;

void consume() {
  for (int n = 0; n < EACH; ++n) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [] { return items > 0; });
    --items;
  }
}
int main() {
  std::vector<std::thread> threads;
  for (int i = 0; i < CONSUMERS; ++i) threads.emplace_back(consume);
  for (int n = 0; n < CONSUMERS * EACH; ++n) {
    const std::scoped_lock lock(mutex);
    ++items;
    changed.notify_one();
  }
  for (auto& thread : threads) thread.join();
}
"""


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("consumers", "each"), [(1, 2), (2, 1), (2, 2), (3, 1)])
def test_executions_are_the_orders(consumers: int, each: int, tmp_path: Path) -> None:
    source = tmp_path / "consumers.cpp"
    source.write_text(PROGRAM, encoding="utf-8")
    options = [f"-DCONSUMERS={consumers}", f"-DEACH={each}", "-std=c++20", "-O1", "-pthread"]
    options += [str(source), "-o", str(tmp_path / "consumers")]
    subprocess.run(
        [sys.executable, "-m", "syncopate", "c++", "--machine=explored", *options],
        env={**os.environ, "SYNCOPATE_NATIVE": BUILD, "PYTHONPATH": str(ROOT)},
        check=True,
        timeout=120,
    )
    said = subprocess.run(
        [tmp_path / "consumers"],
        env={**os.environ, "SYNCOPATE_EXPLORE": "spurious=0"},
        stderr=subprocess.PIPE,
        text=True,
        check=True,
        timeout=120,
    ).stderr
    found = re.search(r"passed: ([\d,]+) executions", said)
    assert found, said
    assert int(found[1].replace(",", "")) == orders(consumers, each)
