#!/bin/sh
# What a Debian package has and has not: all parts that a command looks for, no path of the place
# where it was made, no folder of libraries but its own; nothing compiled names /usr/local.
# Usage: check_package.sh PACKAGE [FOLDER_WHERE_IT_WAS_MADE]
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  echo "$*" >&2
  exit 1
}
dpkg-deb -x "$1" "$work/unpacked"
parts="lib/libsyncopate-pthread.so.0 lib/libsyncopate-openmp.so.0 lib/libsyncopate-jvm.so
  bin/syncopate-native bin/syncopate-names share/syncopate/locks.json share/syncopate/options.json"
case $1 in
  *_amd64.deb) parts="$parts libexec/syncopate/kernel-recorder lib/libsyncopate-simulated.so
    lib/libsyncopate-explored.so lib/libsyncopate-emulated.so share/syncopate/machines" ;;
esac
case ${1##*/} in
  syncopate-native_*) native=$work/unpacked/usr/lib/syncopate ;;
  *) native=$work/unpacked/usr parts="$parts lib/libsyncopate.so lib/libsyncopate-tm.a" ;;
esac
for part in $parts; do
  [ -e "$native/$part" ] || fail "$1 has no $part"
done
twice=$(find "$work/unpacked" -type f -size +100k -exec sha256sum {} + | sort | uniq -Dw 64)
[ -z "$twice" ] || fail "these are the same: $twice"
find "$work/unpacked" -type f | while read -r file; do
  head -c 4 "$file" | grep -q ELF || continue
  ! grep -aqF -e /usr/local "$file" || echo "${file#"$work/unpacked"} names /usr/local"
  readelf -d "$file" | sed -n 's/.*PATH).*\[\(.*\)\]$/\1/p' | tr : '\n' | grep -v '^$\|^[$]ORIGIN' |
    sed "s|^|${file#"$work/unpacked"} searches |"
done >"$work/wrong"
[ ! -s "$work/wrong" ] || fail "$(cat "$work/wrong")"
if [ -n "${2:-}" ] && grep -rlF -e "$2" "$work/unpacked" >"$work/names"; then
  fail "these name $2, where the package was made: $(cat "$work/names")"
fi
