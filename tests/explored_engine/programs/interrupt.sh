#!/bin/bash
# interrupt.sh PROGRAM SIGNAL: a search in several processes, interrupted: no process is left. KILL:
# nor if the first process cannot do anything about it.
program=$1 signal=$2
# (A shell's background jobs ignore SIGINT; the program is to have it as from a terminal. It is the
# first of its session, since it leads no group before.)
SYNCOPATE_EXPLORE=jobs=3,split=1,seconds=50 \
  env --default-signal=INT setsid "$program" >/dev/null 2>&1 &
first=$!
processes() { pgrep -c -s "$first"; }
for _ in $(seq 200); do
  [ "$(processes)" -ge 2 ] && break
  sleep 0.05
done
[ "$(processes)" -ge 2 ] || { echo "there were no processes"; kill -KILL "$first"; exit 1; }
kill -"$signal" "$first"
wait "$first"
for _ in $(seq 200); do
  [ "$(processes)" -eq 0 ] && exit 0
  sleep 0.05
done
echo "$(processes) processes are left"
pkill -KILL -s "$first"
exit 1
