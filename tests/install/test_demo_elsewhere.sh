#!/bin/sh
# `make demo` as the README promises it: in a fresh Debian that has make and git and nothing else of
# what the demo needs, from a fresh clone, by root; then once more by an ordinary user, who has to
# install nothing. Says how long each took.
# Usage: test_demo_elsewhere.sh SOURCE_DIR RELEASE
set -eu
source=$1 release=$2
. "$source/tests/install/fresh_debian.sh"

make_system
mount -t tmpfs tmpfs "$system/dev/shm"

demo() { # COMMAND...: runs it in the system, with nothing of this environment
  begin=$(date +%s)
  in_system "$@"
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
