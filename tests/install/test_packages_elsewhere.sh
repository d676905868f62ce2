#!/bin/sh
# `make native-deb` in a fresh Debian that has make and git and nothing else of what it needs, from
# a fresh clone, by root. All is in the package that an installation may lack elsewhere, and nothing
# of the place where it was made.
# Usage: test_packages_elsewhere.sh SOURCE_DIR RELEASE
set -eu
source=$1 release=$2
[ "$(id -u)" = 0 ] || { echo "this needs root's rights, for chroot" >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "this needs debootstrap" >&2; exit 1; }
work=$(mktemp -d)
system=$work/system clone=/home/clone
leave() {
  umount "$system/proc" 2>/dev/null || true
  rm -rf --one-file-system "$work"
}
trap leave EXIT
trap 'exit 1' INT TERM HUP
fail() {
  echo "$*" >&2
  tail -40 "$work/said" >&2
  exit 1
}

debootstrap --variant=minbase --include=make,git,ca-certificates "$release" "$system" \
  >"$work/said" 2>&1 || fail "no $release from Debian"
mount -t proc proc "$system/proc"
cp /etc/resolv.conf "$system/etc/"
cp /etc/ssl/certs/ca-certificates.crt "$system/etc/ssl/certs/"
git clone -q "$source" "$system$clone"
chroot "$system" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/home make -C "$clone" native-deb \
  </dev/null >"$work/said" 2>&1 || fail "$release: make native-deb ended with $?"
changed=$(git -C "$system$clone" status --porcelain)
[ -z "$changed" ] || fail "$release: it changed $changed"
package=$(ls "$system$clone"/build/syncopate-native_*.deb)
"$source/tests/install/check_package.sh" "$package" "$clone"
echo "$release: ${package##*/} is made from a fresh clone"
