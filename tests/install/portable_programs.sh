#!/bin/sh
# Compiles the programs of tests/posix for systems with glibc 2.31 and newer, as a wheel is made for
# old ones. Names those that need a newer C library; most have to do without.
# Usage: portable_programs.sh SOURCE_DIR FOLDER
set -eu
source=$1
mkdir -p "$2"
folder=$(cd "$2" && pwd)
export SYNCOPATE_GCC="${CXX:-g++}" ZIG="$source/build/venv-wheel/bin/python -m ziglang"
ZIG_TARGET=$(uname -m)-linux-gnu.2.31
compiler=$source/scripts/package/old_glibc_cxx.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ZIG_STUBS=$work/stubs
export ZIG_TARGET ZIG_STUBS
"$source/scripts/package/old_glibc_stubs.sh" "$ZIG_STUBS"
# What GCC's headers and the tests' messages ask of newer C libraries.
gcc -O1 -fPIC -c "$source/src/compat/old_glibc.c" -o "$work/compat.o"
printf '#include <string.h>\nconst char* strerrorname_np(int error) { return strerror(error); }\n' |
  gcc -x c -fPIC -c - -o "$work/names.o"
newer=0
for file in "$source"/tests/posix/test_*.cpp; do
  name=$(basename "$file" .cpp)
  grep -q '^// Links: lib_' "$file" && continue
  grep -q 'lib_[a-z]*\.so' "$file" && continue
  # Those that count what a recorder needs are not for it (tests/posix/CMakeLists.txt).
  case $name in *closed_descriptors | *keys | *mutex_million | *seccomp) continue ;; esac
  "$compiler" -std=c++20 -O1 -UNDEBUG -fPIC -c "$file" -o "$work/object.o"
  # A thread is canceled by the unwinder that the system has: with one of their own, programs abort.
  unwinder=
  if grep -q pthread_cancel "$file"; then unwinder=-shared-libgcc; fi
  if ! "$compiler" $unwinder "$work/object.o" "$work/compat.o" "$work/names.o" \
    -o "$folder/${name#test_}" >"$work/log" 2>&1; then
    grep -q 'undefined \(symbol\|reference\)' "$work/log" || { cat "$work/log"; exit 1; }
    echo "needs a newer C library: $name: $(grep -m1 -o 'undefined .*' "$work/log")"
    newer=$((newer + 1))
  fi
done
made=$(find "$folder" -type f | wc -l)
echo "$made programs"
[ "$made" -gt $((5 * newer)) ]
