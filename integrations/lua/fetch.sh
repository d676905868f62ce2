#!/bin/sh
# fetch.sh FOLDER -- puts Lua 5.4's source into FOLDER/lua: the Debian source package, or, where
# that cannot be had, the copy in the Rust package lua-src. Nothing when it is there already.
set -eu
[ $# -eq 1 ] || { echo "usage: fetch.sh FOLDER" >&2; exit 2; }
mkdir -p "$1"
folder=$(cd "$1" && pwd)
[ -f "$folder/lua/lvm.c" ] && exit 0
log="$folder/fetch.log"
: > "$log"

# The system's own package sources, asked for source packages; its lists stay as they are.
from_debian() {
  command -v apt-get > /dev/null && command -v dpkg-source > /dev/null || return 1
  apt="$folder/apt"
  rm -rf "$apt" && mkdir -p "$apt/parts" "$apt/lists/partial"
  for list in /etc/apt/sources.list.d/debian.sources; do
    [ -f "$list" ] || continue
    sed 's/^Types: deb$/Types: deb-src/' "$list" > "$apt/parts/$(basename "$list")"
  done
  if [ -f /etc/apt/sources.list ]; then
    sed -n 's/^deb /deb-src /p' /etc/apt/sources.list > "$apt/parts/sources.list"
  fi
  set -- -q -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$apt/parts" \
    -o "Dir::State::lists=$apt/lists" -o APT::Get::List-Cleanup=0
  (cd "$apt" && apt-get "$@" update && apt-get "$@" source lua5.4) >> "$log" 2>&1 || return 1
  # Debian's package writes this file when it is built.
  echo '#define DEB_HOST_MULTIARCH "."' > "$apt/multiarch.h"
  mv "$apt/multiarch.h" "$(echo "$apt"/lua5.4-5.4.*/src)/lua5.4-deb-multiarch.h"
  mv "$apt"/lua5.4-5.4.*/src "$folder/lua"
  rm -rf "$apt"
}

from_cargo() {
  command -v cargo > /dev/null || return 1
  crate="$folder/crate"
  rm -rf "$crate" && mkdir -p "$crate/src"
  : > "$crate/src/lib.rs"
  printf '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\n%s\n' \
    'lua-src = "=547.0.0"' > "$crate/Cargo.toml"
  (cd "$crate" && cargo vendor) >> "$log" 2>&1 || return 1
  mv "$crate"/vendor/lua-src/lua-5.4.* "$folder/lua"
  rm -rf "$crate"
}

from_debian || from_cargo || { echo "fetch.sh: cannot get Lua's source; see $log" >&2; exit 1; }
