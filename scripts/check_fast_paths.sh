#!/bin/sh
# Checks the machine code of the uncontended mutex: from its first instruction to its first return,
# pthread_mutex_lock and pthread_mutex_unlock make no stack frame and call nothing, and each has one
# locked instruction. For optimized builds on x86-64.
# Usage: check_fast_paths.sh LIBRARY
set -eu
library=$1
for name in pthread_mutex_lock pthread_mutex_unlock; do
  at=$(readelf -sW --dyn-syms "$library" |
    awk -v name="$name" '$8 ~ "^" name "@" { print "0x" $2; exit }')
  [ -n "$at" ] || { echo "$library has no $name" >&2; exit 1; }
  path=$(objdump -d --no-show-raw-insn --start-address="$at" --stop-address=$((at + 256)) "$library" |
    awk '/^ *[0-9a-f]+:\t/ { print; if ($2 == "ret") exit }')
  echo "$path" | grep -q 'ret' || { echo "$name does not return within 256 bytes" >&2; exit 1; }
  if echo "$path" | grep -E 'push|call|,%rsp'; then
    echo "$name: these instructions are on the fast path" >&2
    exit 1
  fi
  locked=$(echo "$path" | grep -cE 'lock |xchg' || true)
  [ "$locked" = 1 ] || { echo "$name has $locked locked instructions, not one" >&2; exit 1; }
  echo "$name: $(echo "$path" | wc -l) instructions"
done
