#!/bin/sh
# fetch.sh FOLDER -- puts Lua 5.4's source into FOLDER/lua: the Debian source package, or, where
# that cannot be had, what fetch_tests.sh gets. Nothing when it is there already.
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

from_debian || sh "$here/fetch_tests.sh" "$folder" >> "$log" 2>&1 || {
  echo "fetch.sh: cannot get Lua's source; see $log" >&2
  exit 1
}
