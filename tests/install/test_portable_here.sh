#!/bin/sh
# The portable wheel beside the build that it is made of: programs that are compiled with one or the
# other say the same, modeled times and numbers of executions included.
# Usage: test_portable_here.sh SOURCE_DIR FOLDER_OF_THE_WHEEL SYNCOPATE PYTHON
set -eu
source=$1 syncopate=$3
wheel=$(ls "$2"/syncopate-*manylinux*_x86_64.whl)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$4" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check "$wheel" </dev/null
unset SYNCOPATE_NATIVE PYTHONPATH
cd "$work"
"$source/tests/install/compiled/all.sh" "$work/venv/bin/syncopate" "$work/wheel"
"$source/tests/install/compiled/all.sh" "$syncopate" "$work/build"
diff "$work/wheel/said" "$work/build/said"
"$syncopate" record -qo locks.rec "$2/posix/mutex_exclusion" >/dev/null
"$work/venv/bin/syncopate" simulate --machine haswell-4c8t --from locks.rec >wheel/replayed
"$syncopate" simulate --machine haswell-4c8t --from locks.rec >build/replayed
diff wheel/replayed build/replayed
grep -q '^swap to mcs ' build/replayed
