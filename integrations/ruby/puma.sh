#!/bin/sh
# puma.sh FOLDER -- installs the threaded server Puma as a gem for every Ruby that build.sh made in
# FOLDER: into FOLDER/gems.native and FOLDER/gems.emulated, its C extension compiled for the machine.
# Puma's source is Debian's; of Rack and nio4r, Debian's packages are unpacked into FOLDER/packages,
# of which only what is written in Ruby is used. The system stays as it is. GEM_PATH is to be
# FOLDER/packages/gems:FOLDER/gems.MACHINE, and NIO4R_PURE true.
set -eu
[ $# -eq 1 ] && [ -x "$1/bin/gem" ] || { echo "usage: puma.sh FOLDER (of build.sh)" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
folder=$(cd "$1" && pwd)
log="$folder/puma.log"
fail() { echo "puma.sh: $1; see $log" >&2; exit 1; }
: > "$log"

if [ ! -d "$folder/packages/gems" ]; then
  "$here/../debian_source.sh" "$folder" puma puma=5.6.5-3+deb12u1 >> "$log" 2>&1 ||
    fail "cannot get Debian's source package puma"
  rm -rf "$folder/packages" && mkdir -p "$folder/packages"
  mv "$folder"/apt/puma-*/ "$folder/packages/puma"
  rm -rf "$folder/apt"
  # The list of its files is what git knows of it.
  (cd "$folder/packages/puma" && git init -q . && git add -Af . &&
    "$folder/bin/gem" build --output "$folder/packages/puma.gem" puma.gemspec) >> "$log" 2>&1 ||
    fail "puma is no gem"
  (cd "$folder/packages" && apt-get -q download ruby-rack ruby-nio4r &&
    for each in *.deb; do dpkg -x "$each" .; done &&
    cp -r usr/lib/*/rubygems-integration/*/* usr/share/rubygems-integration/all/ &&
    sed -i "/s.extensions/d" usr/share/rubygems-integration/all/specifications/nio4r-*.gemspec &&
    mv usr/share/rubygems-integration/all gems) >> "$log" 2>&1 ||
    fail "cannot get Debian's packages ruby-rack and ruby-nio4r (apt-get update?)"
fi

for machine in native emulated; do
  [ -x "$folder/$machine/bin/gem" ] || continue
  [ -d "$folder/gems.$machine/gems" ] && continue
  GEM_PATH="$folder/packages/gems" SYNCOPATE_QUIET=1 "$folder/$machine/bin/ruby" \
    "$folder/$machine/bin/gem" install --local --ignore-dependencies --no-document \
    --install-dir "$folder/gems.$machine" "$folder/packages/puma.gem" >> "$log" 2>&1 ||
    fail "puma cannot be installed for the $machine machine"
done
