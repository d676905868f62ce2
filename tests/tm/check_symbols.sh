#!/bin/sh
# Checks that the library exports exactly what the system's libitm.so.1 does, version by version.
# Usage: check_symbols.sh LIBRARY PROGRAM    PROGRAM: one that is linked with the system's
set -eu
library=$1
system=$(ldd "$2" | awk '$1 == "libitm.so.1" { print $3 }')
names() { nm -D --defined-only "$1" | awk '{ print $3 }' | grep -v '^LIBITM_' | sort; }
ours=$(names "$library")
theirs=$(names "$system")
if [ "$ours" != "$theirs" ]; then
  printf '%s\n' "$ours" >ours.txt
  printf '%s\n' "$theirs" >theirs.txt
  diff theirs.txt ours.txt >&2 || true
  exit 1
fi
soname=$(readelf -dW "$library" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
[ "$soname" = libitm.so.1 ] || { echo "SONAME is $soname" >&2; exit 1; }
echo "$(printf '%s\n' "$ours" | wc -l) symbols"
