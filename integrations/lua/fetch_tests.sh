#!/bin/sh
# fetch_tests.sh FOLDER -- puts Lua 5.4.8's source into FOLDER/lua and its own test files into
# FOLDER/testes. Debian's package leaves the tests out; Lua's repository with them is a part of the
# source distribution of the Python package lupa. Nothing when they are there already.
set -eu
[ $# -eq 1 ] || { echo "usage: fetch_tests.sh FOLDER" >&2; exit 2; }
mkdir -p "$1"
folder=$(cd "$1" && pwd)
[ -f "$folder/testes/all.lua" ] && exit 0
log="$folder/fetch_tests.log"
new="$folder/new"

fetch() {
  rm -rf "$new" "$folder/lua" && mkdir -p "$new"
  python3 -m pip download --no-deps --no-binary lupa -d "$new" lupa==2.8 || return 1
  tar -xzf "$new"/lupa-2.8.tar.gz -C "$new" || return 1
  mv "$new"/lupa-2.8/third-party/lua54 "$folder/lua"
  # Not parts of the interpreter: all of it in one file, and Lua's internal checks.
  rm -f "$folder/lua/onelua.c" "$folder/lua/ltests.c"
  mv "$folder/lua/testes" "$folder/testes"
  rm -rf "$new"
}

fetch > "$log" 2>&1 ||
  { echo "fetch_tests.sh: cannot get Lua's test files; see $log" >&2; exit 1; }
