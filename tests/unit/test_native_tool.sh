#!/bin/sh
# How syncopate-native behaves when called rightly and wrongly.
# Usage: test_native_tool.sh SYNCOPATE_NATIVE PYTHON
set -eu
native=$1 python=$2

fail() {
  echo "$*" >&2
  exit 1
}

# expect STATUS ARGUMENT...: the exit status; standard output stays empty on wrong use.
expect() {
  want=$1
  shift
  status=0
  output=$("$native" "$@" 2>/dev/null) || status=$?
  [ "$status" = "$want" ] || fail "syncopate-native $*: exit status $status, not $want"
  [ "$want" = 0 ] || [ -z "$output" ] || fail "syncopate-native $*: printed on standard output"
}

expect 0 --help
expect 0 --version
expect 0 list
expect 0 probe
expect 2
expect 2 unknown
expect 2 list extra
expect 0 calibrate 0.01
expect 2 calibrate nothing
expect 2 calibrate 0
expect 2 calibrate 1 2

status=0
full=$(mktemp)  # a file that may not grow: /dev/full is not everybody's
(trap '' XFSZ; ulimit -f 0; exec "$native" list) >"$full" 2>/dev/null || status=$?
rm "$full"
[ "$status" = 1 ] || fail "no space for the output: exit status $status, not 1"

"$native" list | "$python" -c '
import json, sys
locks = {lock["name"]: lock for lock in json.load(sys.stdin)}
keys = {"name", "header", "summary", "source", "fair", "size", "waits", "default_wait", "timed",
        "preload", "preload_waits", "openmp", "openmp_waits", "collapses_when_oversubscribed",
        "excludes", "transacts"}
assert {"auto", "futex", "tatas", "ticket", "mcs", "clh", "null"} <= set(locks), sorted(locks)
for lock in locks.values():
    assert set(lock) == keys, lock
    assert lock["fair"] in ("FIFO", "eventual", "none"), lock
    assert lock["timed"] in ("native", "polled"), lock
    assert bool(lock["waits"]) == bool(lock["default_wait"]), lock
    assert set(lock["preload_waits"]) <= set(lock["waits"]), lock
    assert set(lock["openmp_waits"]) <= set(lock["waits"]), lock
    assert set(lock["collapses_when_oversubscribed"]) <= set(lock["waits"] or ["its own way"]), lock
    assert lock["default_wait"] in lock["waits"] or not lock["waits"], lock
    assert 0 < lock["size"] <= 128, lock
    if lock["name"] != "null":
        assert lock["excludes"], lock
    if lock["name"] in ("auto", "futex", "tatas", "ticket", "mcs", "clh"):
        assert lock["preload"] and lock["openmp"], lock
assert "adaptive" not in locks["mcs"]["preload_waits"]  # too large for a mutex
assert locks["one_spinner"]["openmp"] and not locks["one_spinner"]["preload"]
assert not locks["null"]["excludes"]
assert not locks["null"]["preload"] and not locks["null"]["openmp"]
assert locks["ticket"]["fair"] == "FIFO"
assert "spin" in locks["ticket"]["collapses_when_oversubscribed"]
assert "park" not in locks["ticket"]["collapses_when_oversubscribed"]
'
"$native" probe | "$python" -c '
import json, sys
answer = json.load(sys.stdin)
assert answer["node_count"] >= 1 and answer["ticks_per_second"] > 10**6
for c in answer["capabilities"]:
    assert c["name"] and c["reason"] and c["meaning"] and isinstance(c["usable"], bool), c
'
