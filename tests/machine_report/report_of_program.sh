#!/bin/sh
# report_of_program.sh PROGRAM MACHINES: runs programs/told.cpp on the simulated machine, and looks at
# its reports.
set -eu
program=$1
export SYNCOPATE_MACHINES="$2" SYNCOPATE_MACHINE=opteron-6272 SYNCOPATE_QUIET=1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
  echo "$1"
  cat "$2"
  exit 1
}
has() { # FILE TEXT
  grep -qF -- "$2" "$1" || fail "missing: $2" "$1"
}
has_not() { # FILE TEXT
  if grep -qF -- "$2" "$1"; then fail "unexpected: $2" "$1"; fi
}

# Address randomization changes nothing: SYNCOPATE_ADDRESSES_TRIED keeps it on (startup.cpp).
for lock in futex clh; do
  SYNCOPATE_LOCK=$lock SYNCOPATE_STATS="$folder/fixed.json" "$program"
  for run in first second; do
    SYNCOPATE_ADDRESSES_TRIED=1 SYNCOPATE_LOCK=$lock SYNCOPATE_STATS="$folder/$run.json" "$program"
    cmp "$folder/fixed.json" "$folder/$run.json" || fail "$lock differs" "$folder/$run.json"
  done
done

# The path that the program is called by changes nothing, as long as it does not look at it itself.
long=a/path/that/is/much/longer/than/the/one/that/the/build/has/given/to/the/program
mkdir -p "$folder/$long"
ln -s "$program" "$folder/$long/program"
ln -s "$program" "$folder/p"
SYNCOPATE_STATS="$folder/short.json" "$folder/p" 1000
SYNCOPATE_STATS="$folder/long.json" "$folder/$long/program" 1000
cmp "$folder/short.json" "$folder/long.json" || fail "the path matters" "$folder/long.json"

# Threads have the names of what they run, and joins the place of the program's call.
for name in "use_lock at told.cpp:" "main::{lambda()#1}" "user::use at told.cpp:" \
  "(anonymous namespace)::user" "main::{lambda()#2}" "raw_thread at told.cpp:"; do
  has "$folder/fixed.json" "\"name\": \"$name"
done
has "$folder/fixed.json" '"first_place": "main at told.cpp:'
has_not "$folder/fixed.json" '"first_place": "std::thread::join'

# What is not simulated is in the tables; in JSON only for those who ask.
has_not "$folder/fixed.json" '"native"'
SYNCOPATE_NATIVE_TIME=1 SYNCOPATE_STATS="$folder/native.json" "$program" 300000
has "$folder/native.json" '{"library": "libc.so.6", "seconds": 0.'
grep -v '^"native": {"cpu_seconds": ' "$folder/native.json" | sed '$s/,$/]}/' > "$folder/rest"
SYNCOPATE_STATS="$folder/without.json" "$program" 300000
sed '$s/]}$/]}/' "$folder/without.json" > "$folder/expected"
[ "$(sed '$d' "$folder/rest")" = "$(sed '$d' "$folder/expected")" ] ||
  fail "sampling changes the simulation" "$folder/rest"
SYNCOPATE_STATS=1 "$program" 300000 2> "$folder/text"
has "$folder/text" 'not simulated (native time): '
has "$folder/text" 'not seen: libc.so.6'

# Times for which locks were held, on the timeline.
SYNCOPATE_TIMELINE="$folder/timeline.json" "$program"
has "$folder/timeline.json" '"name": "held after a wait"'
has "$folder/timeline.json" '"cat": "held"'
