#!/bin/sh
# `make native-deb` in a fresh Debian that has make and git and nothing else of what it needs, from
# a fresh clone, by root. All is in the package that an installation may lack elsewhere, and nothing
# of the place where it was made.
# Usage: test_packages_elsewhere.sh SOURCE_DIR RELEASE
set -eu
source=$1 release=$2
. "$source/tests/install/fresh_debian.sh"

make_system
cp /etc/ssl/certs/ca-certificates.crt "$system/etc/ssl/certs/"
in_system make -C "$clone" native-deb
changed=$(git -C "$system$clone" status --porcelain)
[ -z "$changed" ] || fail "$release: it changed $changed"
package=$(ls "$system$clone"/build/syncopate-native_*.deb)
"$source/tests/install/check_package.sh" "$package" "$clone"
echo "$release: ${package##*/} is made from a fresh clone"
