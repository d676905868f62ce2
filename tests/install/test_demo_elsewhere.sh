#!/bin/sh
# `make demo` as the README promises it: in a fresh Debian that has make and git and nothing else of
# what the demo needs, from a fresh clone, by root; then once more by an ordinary user, who has to
# install nothing. Says how long each took.
# Usage: test_demo_elsewhere.sh SOURCE_DIR RELEASE
set -eu
source=$1 release=$2
[ "$(id -u)" = 0 ] || { echo "this needs root's rights, for chroot" >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "this needs debootstrap" >&2; exit 1; }
work=$(mktemp -d)
system=$work/system clone=/home/clone
leave() {
  umount "$system/dev/shm" "$system/proc" 2>/dev/null || true
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
mount -t tmpfs tmpfs "$system/dev/shm"
cp /etc/resolv.conf "$system/etc/"
git clone -q "$source" "$system$clone"

demo() { # COMMAND...: runs it in the system, with nothing of this environment
  begin=$(date +%s)
  chroot "$system" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/home "$@" </dev/null \
    >"$work/said" 2>&1 || fail "$release: $* ended with $?"
  seconds=$(($(date +%s) - begin))
  grep -q '^What costs most' "$work/said" || fail "$release: no report"
  [ "$(grep -cE '^[248] +[0-9,]+ ' "$work/said")" = 3 ] || fail "$release: no table of speeds"
}

demo make -C "$clone" demo
packages=$(sed -n 's/^setup: installing //p' "$work/said" | wc -w)
[ "$packages" -ge 1 ] && [ "$packages" -le 8 ] || fail "$release: installs $packages packages"
# As large as was said before; the demo's own records do not count.
told=$(sed -n 's/^building .*, \([0-9]*\) MB in build.*/\1/p' "$work/said")
large=$(cd "$system$clone/build" && du -cm release bin lib libexec share | tail -1 | cut -f1)
[ "$large" -le "$told" ] && [ "$told" -le $((2 * large)) ] || fail "$release: $large MB, not $told"
echo "$release: $packages packages and the demo in $seconds s"
changed=$(git -C "$system$clone" status --porcelain)
[ -z "$changed" ] || fail "$release: the demo changed $changed"

chown -R 65534:65534 "$system$clone"
demo setpriv --reuid=65534 --regid=65534 --clear-groups make -C "$clone" demo
if grep '^setup: installing' "$work/said"; then fail "$release: installs again"; fi
echo "$release: the demo again, by an ordinary user, in $seconds s"
