#!/bin/sh
# Makes the wheel and the Debian package for aarch64 by a cross compiler, and runs the programs of
# tests/posix under qemu-user with its preload library: under several locks, and while recording. The
# emulator's own C library and kernel calls are the oracle: a program that fails there without us is
# left out, by name. It runs on a processor with a stronger order of accesses, which tells nothing
# of the weaker one: that is explored (tests/check).
# Usage: test_aarch64_wheel.sh SOURCE_DIR FOLDER SYNCOPATE [PROGRAM...]    (default: all programs)
set -eu
source=$1 folder=$2 syncopate=$3
shift 3
prefix=aarch64-linux-gnu- root=/usr/aarch64-linux-gnu
for tool in ${prefix}g++ qemu-aarch64; do
  command -v $tool >/dev/null || { echo "this needs g++-aarch64-linux-gnu and qemu-user" >&2; exit 1; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
fail() {
  echo "$*" >&2
  exit 1
}
wheel=$("$source/scripts/package/wheel.sh" "$folder" aarch64)
"$source/scripts/package/portable_deb.sh" "$wheel" "$folder" >"$work/package"
"$source/tests/install/check_package.sh" "$(tail -1 "$work/package")" "$(cd "$source" && pwd)"
dpkg-deb --field "$(tail -1 "$work/package")" Architecture | grep -qx arm64 || fail "no arm64 package"
python3 -m zipfile -e "$wheel" "$work/wheel"
library=$work/wheel/syncopate/_native/lib/libsyncopate-pthread.so.0
${prefix}nm -D --undefined-only "$library" >"$work/needed"
if grep -qw syscall "$work/needed"; then fail "system calls by a name that is ours"; fi

emulated() { # VARIABLE=VALUE... -- PROGRAM
  variables=
  while [ "$1" != -- ]; do
    variables="$variables -E $1"
    shift
  done
  shift
  # Under the emulator, and beside other work, the programs' own watchdogs would be too early.
  # shellcheck disable=SC2086  # a list of options
  timeout 1500 qemu-aarch64 -L $root -E CHECK_SECONDS=1200 $variables "$@" >"$work/said" 2>&1
}

[ $# -gt 0 ] || set -- $(cd "$source/tests/posix" && ls test_*.cpp | sed 's/^test_//; s/\.cpp$//')
passed=0 left_out=
for name; do
  file=$source/tests/posix/test_$name.cpp program=$work/$name
  if grep -q 'Links: lib_\|Opens: lib' "$file"; then continue; fi
  ${prefix}g++ -std=c++20 -O1 -UNDEBUG -pthread "$file" -o "$program"
  if ! emulated CHECK_SECONDS=100 -- "$program"; then  # some hang there: no robust mutexes
    left_out="$left_out $name"
    continue
  fi
  for lock in auto mcs ticket:park; do
    emulated "LD_PRELOAD=$library" SYNCOPATE_LOCK=$lock -- "$program" ||
      { cat "$work/said"; fail "$name under $lock"; }
  done
  # Those that count what a recorder needs are not for it (tests/posix/CMakeLists.txt).
  case $name in closed_descriptors | keys | mutex_million | seccomp) continue ;; esac
  rm -f "$work"/record*
  emulated "LD_PRELOAD=$library" "SYNCOPATE_RECORD=$work/record" -- "$program" ||
    { cat "$work/said"; fail "$name while recording"; }
  "$syncopate" report "$work/record" >"$work/report" || fail "no report of $name"
  passed=$((passed + 1))
done
echo "passed: $passed programs; not under qemu without us:${left_out:- none}"
[ "$passed" -gt $((3 * $(echo "$left_out" | wc -w))) ] || fail "too many do not run under qemu"

# OpenMP's library, under that processor's own runtime.
${prefix}gcc -O2 -fopenmp "$source/tests/install/compiled/loops.c" -o "$work/loops"
for setting in BARRIER=two_level REGIONS=kept TASKS=ours; do
  emulated "LD_PRELOAD=${library%/*}/libsyncopate-openmp.so.0" OMP_NUM_THREADS=4 \
    SYNCOPATE_VERBOSE=1 "SYNCOPATE_OMP_$setting" -- "$work/loops" &&
    grep -qx 'sum 9990000, tasks 256' "$work/said" && grep -q 'OpenMP of .*libgomp' "$work/said" ||
    { cat "$work/said"; fail "OpenMP with $setting"; }
done

# Whose waits are whose: sleepers of a mutex are the mutex's, none is a futex of the program's own.
cat >"$work/waits.cpp" <<'END'
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>
std::mutex table_lock;
std::atomic<int> begun{0};
int main() {
  std::vector<std::thread> threads;
  table_lock.lock();
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([] {
      begun.fetch_add(1);
      std::scoped_lock guard(table_lock);
    });
  while (begun != 4) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::seconds(2));  // all of them wait by then
  table_lock.unlock();
  for (auto& each : threads) each.join();
}
END
${prefix}g++ -std=c++20 -g -O1 -pthread "$work/waits.cpp" -o "$work/waits"
emulated "LD_PRELOAD=$library" SYNCOPATE_LOCK=futex "SYNCOPATE_RECORD=$work/waits.rec" -- "$work/waits" ||
  { cat "$work/said"; fail "no record"; }
"$syncopate" report "$work/waits.rec" >"$work/report"
grep -q '^table_lock ' "$work/report" || { cat "$work/report"; fail "table_lock is not named"; }
if grep -q "futexes" "$work/report"; then cat "$work/report"; fail "our sleeps are told as the program's"; fi
