#!/bin/sh
# Checks that a library which stands in for names of the C library gives each of them exactly the
# versions that the C library of that processor gives it: a program that asks for another one would
# find the C library's own, and the same lock would be taken in two ways. The condition variables
# before 2.3.2, which have another layout, stay the C library's.
# Usage: check_symbol_versions.sh LIBRARY LIBC
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

versions() { # LIBRARY: lines "name@version" of what it defines
  readelf --dyn-syms --wide "$1" |
    awk '$7 != "UND" && $8 ~ /@GLIBC_/ { sub("@@", "@", $8); print $8 }' | sort -u
}

versions "$1" >"$work/ours"
versions "$2" >"$work/all"
sed 's/@.*//' "$work/ours" | sort -u >"$work/names"
grep -v '^pthread_cond_[a-z]*@GLIBC_2\.2\.5$' "$work/all" |
  awk -F@ 'NR == FNR { ours[$1]; next } $1 in ours' "$work/names" - >"$work/theirs"
[ -s "$work/ours" ] || { echo "$1 has no names with versions of glibc" >&2; exit 1; }
if ! diff "$work/ours" "$work/theirs" >"$work/differ"; then
  echo "$1 (<) and $2 (>) differ in:" >&2
  grep '^[<>]' "$work/differ" >&2
  exit 1
fi
echo "$(wc -l <"$work/ours") names and versions of glibc's"
