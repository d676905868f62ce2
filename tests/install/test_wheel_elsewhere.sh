#!/bin/sh
# Installs the portable wheel, and then the Debian package of it, in a fresh Debian of another
# release, which has Python and no compiler; uses both there as an ordinary user, and runs the
# programs of tests/posix under several locks, while recording too. Then installs that release's
# compiler, and compiles programs for the wheel's machines, with OpenMP and with transactions.
# Usage: test_wheel_elsewhere.sh SOURCE_DIR FOLDER_OF_THE_WHEEL RELEASE
set -eu
source=$1 release=$3
wheel=$(ls "$2"/syncopate-*manylinux*_"$(uname -m)".whl)
package=$(ls "$2"/syncopate-native_*_"$(dpkg --print-architecture)".deb)
programs=$2/posix
[ "$(id -u)" = 0 ] || { echo "this needs root's rights, for chroot" >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "this needs debootstrap" >&2; exit 1; }
work=$(mktemp -d)
system=$work/system tried=$work/system/tried
leave() {
  umount "$system/proc" 2>/dev/null || true
  rm -rf --one-file-system "$work"
}
trap leave EXIT
trap 'exit 1' INT TERM HUP

debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates "$release" "$system" \
  >"$work/log" 2>&1 || { tail -5 "$work/log" >&2; exit 1; }
mount -t proc proc "$system/proc"
mkdir "$tried"
cp "$wheel" "$package" "$tried/"
cp -r "$programs" "$tried/posix"
cp "$source/tests/install/elsewhere.sh" "$source/tests/install/threads.py" "$tried/"
cp -r "$source/tests/install/compiled" "$tried/"
cp /etc/resolv.conf "$system/etc/"
# Who has certificates of their own has them there, too.
cp /etc/ssl/certs/ca-certificates.crt "$system/etc/ssl/certs/"
chroot "$system" sh /tried/elsewhere.sh >"$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }
grep -E '^(installed|passed|[0-9]+ programs|compiled)' "$work/said"
