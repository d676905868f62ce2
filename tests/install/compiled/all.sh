#!/bin/sh
# Programs that need an installation's modeled machines, OpenMP and transactions: compiled and run by
# the command SYNCOPATE, in a folder of their own. Leaves there in `said` what each of them said.
# Usage: all.sh SYNCOPATE FOLDER
set -eu
syncopate=$1
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$2"
cd "$2"
: >said
says() { # LINE COMMAND...: exactly this line, maybe among others
  line=$1
  shift
  echo "\$ $*" | sed "s|^. $syncopate|$ syncopate|" >>said
  timeout 120 "$@" >last 2>&1 || { cat last; echo "$* ended with $?"; exit 1; }
  cat last >>said
  grep -qxF -e "$line" last || { cat last; echo "$* does not say '$line'"; exit 1; }
}
compiled() { # MACHINE: threads.cpp for it
  "$syncopate" c++ --machine="$1" -std=c++17 -O2 -g "$here/threads.cpp" -o "threads_$1"
}

for machine in simulated explored emulated; do compiled $machine; done
answer='total 1, caught two'
says "$answer" "$syncopate" simulate --machine sapphire-rapids-2s ./threads_simulated
says "$answer" "$syncopate" simulate --machine zec12-12c ./threads_simulated
says "$answer" ./threads_emulated
"$syncopate" check ./threads_explored >last 2>&1 || { cat last; exit 1; }
cat last >>said
grep -q 'passed: [0-9]* executions' last

gcc -O2 -fopenmp "$here/loops.c" -o loops
answer='sum 9990000, tasks 256'
says "$answer" "$syncopate" run --omp ./loops
says "$answer" "$syncopate" run --omp-barrier two_level --omp-regions kept ./loops
says "$answer" "$syncopate" run --omp-tasks ours ./loops

gcc -O2 -fgnu-tm -pthread "$here/transactions.c" -o transactions
for algorithm in norec lazy global_lock htm; do
  says 'count 3000' "$syncopate" run --tm $algorithm ./transactions
done
"$syncopate" record -q --tm norec -o tm.rec ./transactions >/dev/null
says_of_record=$("$syncopate" report tm.rec)
echo "$says_of_record" | grep -q '3,000\|3000' || { echo "$says_of_record"; exit 1; }
rm -f last
echo "$(grep -c '^\$' said) programs compiled and run"
