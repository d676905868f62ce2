#!/bin/sh
# `pip install .` into a fresh virtual environment: the command must work from there alone, with
# the native parts that the wheel brought.
# Usage: test_wheel.sh SOURCE_DIR PYTHON
set -eu
source=$1 python=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$python" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
  --config-settings=build-dir="$work/build" "$source" </dev/null

# Away from the source tree, and without what would point back to it.
cd "$work"
unset SYNCOPATE_NATIVE PYTHONPATH
command=$work/venv/bin/syncopate
"$command" --version
"$command" list --json >listed.json
"$command" bench list >suites.txt
grep -q '^stamp: ' suites.txt
"$work/venv/bin/python" - <<'END'
import json
import pathlib

import syncopate

package = pathlib.Path(syncopate.__file__).parent
native = package / "_native"
assert (native / "lib/libsyncopate-pthread.so.0").exists(), list(native.rglob("*"))
assert (native / "bin/syncopate-native").exists(), list(native.rglob("*"))
assert (native / "libexec/syncopate/replay.simulated").exists(), list(native.rglob("*"))
pages = {"bench/report_page.html", "show/page/report.html", "show/page/diff.html", "show/page/locks.js"}
assert all((package / page).exists() for page in pages), list(package.rglob("*.html"))
sizes = [path.stat().st_size for path in native.rglob("*.so*")]
assert len(sizes) == len(set(sizes)), "a library is there twice"
shipped = {lock["name"] for lock in json.loads((native / "share/syncopate/locks.json").read_text())}
listed = {lock["name"] for lock in json.loads(pathlib.Path("listed.json").read_text())}
assert {"auto", "ticket"} <= shipped <= listed, (shipped, listed)
END
# The program's own exit status comes through, and the library is the wheel's.
status=0
"$command" run --lock ticket -- sh -c 'cat /proc/self/maps; exit 7' >maps || status=$?
[ "$status" = 7 ] || { echo "exit status $status, not 7" >&2; exit 1; }
grep -q "$work/venv/.*/_native/lib/libsyncopate-pthread" maps

# So are the recorder and the reader of its file.
"$command" record -q -o wheel.rec -- sort --parallel=2 listed.json >sorted
"$command" report --json wheel.rec >report.json
grep -q '"executable": "[^"]*/sort"' report.json
