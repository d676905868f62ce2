#!/bin/sh
# usage: runs_ahead.sh PROGRAM LIBRARY   -- ahead.c, the OpenMP library for the emulated machine
# Who is early at a speculating barrier runs ahead; none of it is ever seen. Nobody does at the
# central barrier, nor where threads outnumber processors.
set -eu
program=$1
library=$2
# Run by `taskset -c $1` with the barrier $2.
run() {
  taskset -c "$1" env LD_PRELOAD="${library##*/}" SYNCOPATE_STATS=1 GOMP_SPINCOUNT=0 \
    LD_LIBRARY_PATH="${library%/*}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
    SYNCOPATE_OMP_BARRIER="$2" "$program" 2>&1
}
all=$(taskset -cp $$ | sed 's/.*: *//')
one=${all%%[-,]*}

fail() {
  printf '%s\n%s\n' "$1" "$2" >&2
  exit 1
}

nobody_runs_ahead() {
  case $1 in *'none was begun'*'each phase was done once'*) ;; *) fail "$2" "$1" ;; esac
}

said=$(run "$one" speculating)
nobody_runs_ahead "$said" 'two threads on one processor ran ahead, or did wrong:'
said=$(run "$all" central)
nobody_runs_ahead "$said" 'ran ahead at the central barrier, or did wrong:'
if [ "$all" = "$one" ]; then exit; fi  # that is all that can be had on one processor

said=$(run "$all" speculating)
case $said in *'each phase was done once'*) ;; *) fail 'wrong results:' "$said" ;; esac
# Of each place where runs began: how many, and how many committed.
begun=$(printf '%s\n' "$said" | sed -n 's/^  .*speculate\.h:[0-9]* <.*[0-9]  *\([0-9.]*\( k\)\{0,1\}\)  *\(-\|[0-9.]* %\)  .*/\1|\3/p')
case $begun in '') fail 'nobody ran ahead:' "$said" ;; *%*) fail 'a run ahead committed:' "$said" ;; esac
# They end where the late thread arrives, and at the next thing of the runtime's.
for end in 'conflict .* syncopate::episode<' 'explicit 254 .*speculation::abandon'; do
  printf '%s\n' "$said" | grep -q "$end" || fail "no run ended so: $end" "$said"
done
