"""What the heads of headers say of an object's size, its field Space, is what a compiler says."""

import re
import subprocess
from pathlib import Path

import pytest

INCLUDE = Path(__file__).resolve().parents[2] / "include"
# Those of the catalogues, by their headers; what is nowhere listed, or stands above another, by
# name. A lock that runs ahead has its size from speculating_lock.h, one that elides from its own.
NAMED = ("barriers/arrival_barrier", "barriers/fork_join", "elide/condition", "rwlocks/auto_rwlock")
INCLUDED = ("locks/all", "barriers/all", "rwlocks/bravo_rwlock", *NAMED)
SOURCE = """
#include <cstdio>
#include <string_view>

using namespace syncopate;

static void say(const char* folder, std::string_view header, std::size_t size) {
  std::printf("%s%s %zu\\n", folder, header.data(), size);
}

int main() {
  for_each_lock([]<class L>(const lock_entry<L>& e) {
    if (e.wait == "speculate" || e.header.starts_with("elide/")) return;
    say("locks/", e.header, sizeof(L));
  });
  for_each_barrier([]<class B>(const barrier_entry<B>& e) {
    say("barriers/", e.header, sizeof(B));
  });
  say("barriers/", "arrival_barrier.h", sizeof(arrival_barrier<waits::spin>));
  say("barriers/", "fork_join.h", sizeof(fork_join<void*>));
  say("barriers/", "flag_pair.h", sizeof(flag_pair));
  say("condition/", "condition_variable.h", sizeof(condition_variable));
  say("elide/", "condition.h", sizeof(elide::condition));
  say("locks/", "speculating_lock.h", sizeof(speculating_lock<mcs_lock<>>) - sizeof(mcs_lock<>));
  say("rwlocks/", "auto_rwlock.h", sizeof(auto_rwlock));
  say("rwlocks/", "bravo_rwlock.h", sizeof(bravo_rwlock<auto_rwlock>) - sizeof(auto_rwlock));
  say("wait/", "eventcount.h", sizeof(waits::eventcount));
}
"""


@pytest.fixture(scope="module")
def sizes(tmp_path_factory: pytest.TempPathFactory) -> set[tuple[str, str]]:
    lines = "".join(f"#include <syncopate/{header}.h>\n" for header in INCLUDED)
    folder = tmp_path_factory.mktemp("sizes")
    (folder / "sizes.cpp").write_text(lines + SOURCE, encoding="utf-8")
    command = ["g++", "-std=c++20", f"-I{INCLUDE}", "sizes.cpp", "-o", "sizes"]
    subprocess.run(command, cwd=folder, check=True, timeout=200)
    text = subprocess.run([folder / "sizes"], capture_output=True, text=True, check=True).stdout
    return {tuple(line.split()) for line in text.splitlines()}


def space(text: str) -> list[str]:
    """The numbers of bytes in a head's field, with the lines that continue it."""
    field = re.search(r"^// Space  (.*\n(?://    .*\n)*)", text, re.MULTILINE)
    return re.findall(r"\b(\d+) B\b", field[1].replace(",", "")) if field else []


def test_each_is_as_large_as_its_head_says(sizes: set[tuple[str, str]]) -> None:
    assert len({header for header, _ in sizes}) > 25
    headers = INCLUDE / "syncopate"
    wrong = [
        (header, size)
        for header, size in sorted(sizes)
        if size not in space((headers / header).read_text(encoding="utf-8"))
    ]
    assert not wrong
