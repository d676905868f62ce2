#!/bin/sh
# Installs the portable wheel, and then the Debian package of it, in a fresh Debian of another
# release, which has Python and no compiler; uses both there as an ordinary user, and runs the
# programs of tests/posix under several locks, while recording too. Then installs that release's
# compiler, and compiles programs for the wheel's machines, with OpenMP and with transactions.
# Usage: test_wheel_elsewhere.sh SOURCE_DIR FOLDER_OF_THE_WHEEL RELEASE PRODUCTS_DIR
set -eu
source=$1 release=$3 products=$4
wheel=$(ls "$2"/syncopate-*manylinux*_"$(uname -m)".whl)
package=$(ls "$2"/syncopate-native_*_"$(dpkg --print-architecture)".deb)
programs=$2/posix
[ "$(id -u)" = 0 ] || { echo "this needs root's rights, for chroot" >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "this needs debootstrap" >&2; exit 1; }
work=$(mktemp -d)
system=$work/system tried=$work/system/tried
leave() {
  for each in sys/kernel/tracing sys proc; do umount "$system/$each" 2>/dev/null || true; done
  rm -rf --one-file-system "$work"
}
trap leave EXIT
trap 'exit 1' INT TERM HUP

debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates "$release" "$system" \
  >"$work/log" 2>&1 || { tail -5 "$work/log" >&2; exit 1; }
mount -t proc proc "$system/proc"
mount -t sysfs sysfs "$system/sys"
mount -t tracefs tracefs "$system/sys/kernel/tracing" 2>/dev/null || true
mkdir "$tried"
# What this machine lacks for the kernel's view, as the build here finds it; empty: nothing.
if [ -x "$products/libexec/syncopate/kernel-recorder" ]; then
  "$products/libexec/syncopate/kernel-recorder" check >"$tried/no_kernel_view" || exit 1
else
  echo "no kernel-recorder in $products can say whether this machine allows it" >"$tried/no_kernel_view"
fi
cp "$wheel" "$package" "$tried/"
cp -r "$programs" "$tried/posix"
cp "$source/tests/install/elsewhere.sh" "$source/tests/install/threads.py" "$tried/"
cp -r "$source/tests/install/compiled" "$source/tests/cli/known" "$tried/"
javac --release 8 -Xlint:-options -d "$tried/classes" "$source/tests/install/compiled/Waits.java"
cp /etc/resolv.conf "$system/etc/"
# Who has certificates of their own has them there, too.
cp /etc/ssl/certs/ca-certificates.crt "$system/etc/ssl/certs/"
chroot "$system" sh /tried/elsewhere.sh >"$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }
grep -E '^(installed|passed|[0-9]+ programs|compiled|kernel|Java)' "$work/said"
