#!/bin/sh
# fetch_libraries.sh FOLDER -- unpacks libraries written in Lua, from Debian's packages, into
# FOLDER/libraries: dkjson, penlight, luaunit. The system stays as it is. LUA_PATH is to be
# FOLDER/libraries/usr/share/lua/5.4/?.lua. Nothing when they are there.
set -eu
[ $# -eq 1 ] || { echo "usage: fetch_libraries.sh FOLDER" >&2; exit 2; }
mkdir -p "$1"
folder=$(cd "$1" && pwd)
[ -d "$folder/libraries" ] && exit 0
rm -rf "$folder/libraries.part" && mkdir "$folder/libraries.part"
cd "$folder/libraries.part"
apt-get -q download lua-dkjson lua-penlight lua-unit > "$folder/libraries.log" 2>&1 || {
  echo "fetch_libraries.sh: cannot get Debian's packages; see $folder/libraries.log" >&2
  exit 1
}
for each in *.deb; do dpkg -x "$each" .; done
mv "$folder/libraries.part" "$folder/libraries"
