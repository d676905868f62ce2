"""What the code of sections tells of programs in C++ that are compiled without optimization, where
every access goes through the stack, and the library's wrappers are calls."""

import shutil

import pytest
from conftest import compile_c, run_cli

from syncopate.records.analysis import Analysis
from syncopate.records.recordfile import Record
from syncopate.records.sectioncode import Facts, SectionCode

LOOK_UPS = """
#include <atomic>
#include <map>
#include <mutex>
#include <thread>
class Table {
  mutable std::mutex lock_;
  std::map<int, long> values_;
 public:
  Table() { for (int i = 0; i < 100; ++i) values_[i] = i; }
  long sum_from(int from) const {
    std::lock_guard<std::mutex> guard(lock_);
    long sum = 0;
    for (int i = 0; i < 10000; ++i) {}
    for (auto each = values_.lower_bound(from); each != values_.end(); ++each) sum += each->second;
    return sum;
  }
  void change(int key) {
    std::lock_guard<std::mutex> guard(lock_);
    for (int i = 0; i < 10000; ++i) {}
    values_.find(key)->second++;
  }
};
static Table table;
static void work() { for (int i = 0; i < 20000; ++i) table.ACT(i % 50); }
"""
COUNTED_BESIDE = """
#include <atomic>
#include <mutex>
#include <thread>
class alignas(64) Server {
  std::mutex lock_;
  std::atomic<long> hits_{0};
  long total_ = 0;
 public:
  void handle() {
    if (COUNTS) hits_.fetch_add(1, std::memory_order_relaxed);
    std::lock_guard<std::mutex> guard(lock_);
    for (int i = 0; i < 10000; ++i) total_ += i;
  }
};
static Server server;
static void work() { for (int i = 0; i < 20000; ++i) server.handle(); }
"""
MAIN = """
static std::atomic<int> there{0};
static void meet() {
  ++there;
  while (there < 2) std::this_thread::yield();
  work();
}
int main() {
  std::thread one(meet), other(meet);
  one.join();
  other.join();
}
"""


def facts_of(folder, text: str, compiler: str, define: str) -> Facts:
    """Of the one lock of a program that was recorded."""
    assert shutil.which(compiler), "scripts/setup.sh test installs it"
    source = folder / "program.cpp"
    source.write_text(text + MAIN)
    options = ["-O0", "-g", "-pthread", f"-D{define}", "-x", "c++", source]
    program = compile_c("", folder / "program", *options, compiler=compiler)
    assert run_cli("record", "-o", folder / "rec", "--", program).returncode == 0
    analysis = Analysis(Record(str(folder / "rec")))
    (group,) = (each for each in analysis.groups if each.object == 1)
    facts = SectionCode(analysis).facts(group)
    assert facts is not None and facts.share > 0.9
    return facts


@pytest.mark.sampled(2)
@pytest.mark.crossed("act", "compiler")
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize(("act", "only_read"), [("sum_from", 1.0), ("change", 0.0)])
def test_sections_that_write_to_their_own_frame_only_read(tmp_path, compiler, act, only_read):
    """Iterators are objects there, which get their addresses."""
    assert facts_of(tmp_path, LOOK_UPS, compiler, f"ACT={act}").only_read == only_read


@pytest.mark.sampled(2)
@pytest.mark.crossed("counts", "compiler")
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize("counts", [1, 0])
def test_writes_beside_a_lock_that_a_guard_took(tmp_path, compiler, counts):
    found = facts_of(tmp_path, COUNTED_BESIDE, compiler, f"COUNTS={counts}").beside
    assert [each.variable for each in found[:1]] == ["Server::hits_"] * counts, found
