# fresh_debian.sh -- read by tests that need a fresh Debian: `make_system` makes one that has make and
# git and nothing else, with a fresh clone; `in_system` runs a command in it by root, with nothing
# of this environment. Wants $source and $release; sets $work, $system and $clone.
[ "$(id -u)" = 0 ] || { echo "this needs root's rights, for chroot" >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "this needs debootstrap" >&2; exit 1; }
work=$(mktemp -d)
system=$work/system clone=/home/clone
leave() {
  umount "$system/dev/shm" 2>/dev/null || true
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
make_system() {
  debootstrap --variant=minbase --include=make,git,ca-certificates "$release" "$system" \
    >"$work/said" 2>&1 || fail "no $release from Debian"
  mount -t proc proc "$system/proc"
  cp /etc/resolv.conf "$system/etc/"
  git clone -q "$source" "$system$clone"
}
in_system() { # COMMAND...: what it says is in $work/said
  chroot "$system" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/home "$@" </dev/null \
    >"$work/said" 2>&1 || fail "$release: $* ended with $?"
}
