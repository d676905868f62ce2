#!/bin/sh
# fetch.sh FOLDER -- puts Ruby 3.1's source, from Debian's source package, into FOLDER/ruby, with
# our patches applied. Nothing when it is there already, by these patches.
set -eu
[ $# -eq 1 ] || { echo "usage: fetch.sh FOLDER" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
log="$folder/fetch.log"
fail() { echo "fetch.sh: $1; see $log" >&2; exit 1; }

cat "$here"/patches/*.patch | cmp -s - "$folder/ruby/applied.patch" && exit 0
: > "$log"
rm -rf "$folder/ruby" "$folder/plain_source"
# What the patches were made for; or what Debian has instead by now.
"$here/../debian_source.sh" "$folder" ruby3.1=3.1.2-7+deb12u1 ruby3.1 >> "$log" 2>&1 ||
  fail "cannot get Debian's source package ruby3.1"
mv "$folder"/apt/ruby3.1-*/ "$folder/ruby"
rm -rf "$folder/apt"
touch "$folder/ruby/configure"  # the package's own: make would want it newer than configure.ac
for each in "$here"/patches/*.patch; do
  patch -p1 -d "$folder/ruby" < "$each" >> "$log" 2>&1 || fail "${each##*/} does not fit this ruby3.1"
done
cat "$here"/patches/*.patch > "$folder/ruby/applied.patch"
