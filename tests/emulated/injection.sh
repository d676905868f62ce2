#!/bin/sh
# injection.sh PROGRAM -- aborts its transactions at each of their first accesses, in turn.
for access in $(seq 0 400); do
  SYNCOPATE_EMULATED=abort_at=$access "$1" || {
    echo "failed: SYNCOPATE_EMULATED=abort_at=$access $1" >&2
    exit 1
  }
done
