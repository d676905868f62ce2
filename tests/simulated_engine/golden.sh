#!/bin/sh
# golden.sh PROGRAM EXPECTED [NAME=VALUE...]: runs the program on the simulated machine, and compares
# standard output, standard error and exit status with EXPECTED, which an earlier run of it, perhaps
# elsewhere, has left: so a run that is not repeatable fails, too. SYNCOPATE_UPDATE=1 writes
# EXPECTED, and compares a second run with it.
set -eu
program=$1 expected=$2
shift 2
got=$(mktemp -d)
trap 'rm -rf "$got"' EXIT

run() {
  status=0
  env SYNCOPATE_QUIET=1 SYNCOPATE_MACHINES="$(dirname "$0")/../../machines" "$@" "$program" \
    > "$got/out" 2> "$got/err" || status=$?
  cat "$got/out"
  if [ -s "$got/err" ]; then
    echo "--- standard error"
    cat "$got/err"
  fi
  if [ "$status" -ne 0 ]; then echo "--- exit status $status"; fi
}

run "$@" > "$got/first"
if [ "${SYNCOPATE_UPDATE:-0}" = 1 ]; then
  cp "$got/first" "$expected"
  run "$@" > "$got/first"
fi
diff -u "$expected" "$got/first"
