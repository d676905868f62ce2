#!/bin/sh
# fetch.sh FOLDER -- puts Ruby 3.1's source, from Debian's source package, into FOLDER/ruby, with
# our patch applied. Nothing when it is there already, by this patch.
set -eu
[ $# -eq 1 ] || { echo "usage: fetch.sh FOLDER" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
log="$folder/fetch.log"
patch="$here/ruby-3.1.patch"
fail() { echo "fetch.sh: $1; see $log" >&2; exit 1; }

cmp -s "$patch" "$folder/ruby/applied.patch" && exit 0
: > "$log"
rm -rf "$folder/ruby"
# What the patch was made for; or what Debian has instead by now.
"$here/../debian_source.sh" "$folder" ruby3.1=3.1.2-7+deb12u1 ruby3.1 >> "$log" 2>&1 ||
  fail "cannot get Debian's source package ruby3.1"
mv "$folder"/apt/ruby3.1-*/ "$folder/ruby"
rm -rf "$folder/apt"
patch -p1 -d "$folder/ruby" < "$patch" >> "$log" 2>&1 || fail "the patch does not fit this ruby3.1"
cp "$patch" "$folder/ruby/applied.patch"
