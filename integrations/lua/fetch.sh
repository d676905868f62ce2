#!/bin/sh
# fetch.sh FOLDER -- puts Lua 5.4's source into FOLDER/lua: the Debian source package, or, where
# that cannot be had, the copy in the Rust package lua-src. Nothing when it is there already.
set -eu
[ $# -eq 1 ] || { echo "usage: fetch.sh FOLDER" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
[ -f "$folder/lua/lvm.c" ] && exit 0
log="$folder/fetch.log"
: > "$log"

from_debian() {
  "$here/../debian_source.sh" "$folder" lua5.4 >> "$log" 2>&1 || return 1
  apt="$folder/apt"
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
