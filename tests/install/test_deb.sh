#!/bin/sh
# Makes the Debian package, installs it below a folder of its own, uses it from there, and removes
# it: nothing of it may stay.
# Usage: test_deb.sh SOURCE_DIR BUILD_DIR
set -eu
source=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  echo "$*" >&2
  exit 1
}

package=$("$source/scripts/package/deb.sh" "$build" "$work/out" | tail -1)
"$source/tests/install/check_package.sh" "$package" "$(cd "$source" && pwd)"
dpkg-deb --field "$package" Depends | grep -q 'libc6 (>= ' || fail "no dependency on the C library"

# Each library that something in it is linked with is in it, or in a package that it depends on.
dpkg-deb -x "$package" "$work/all"
find "$work/all" -type f | while read -r file; do
  objdump -p "$file" 2>/dev/null | sed -n 's/^ *NEEDED  *//p'
done | sort -u | while read -r library; do
  [ -z "$(find "$work/all" -name "$library")" ] || continue
  path=$(/sbin/ldconfig -p | sed -n "s|^.*\t$library .* => ||p" | head -1)
  of=$(dpkg -S "$path" 2>/dev/null || dpkg -S "/usr$path" 2>/dev/null || echo nowhere:)
  dpkg-deb --field "$package" Depends | tr ',' '\n' | sed 's/^ *//; s/ (.*//' |
    grep -qxF "${of%%:*}" || echo "$library, of ${of%%:*}"
done >"$work/lacks"
[ ! -s "$work/lacks" ] || fail "not among what the package depends on: $(cat "$work/lacks")"

root=$work/root
mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates"
: >"$root/var/lib/dpkg/status"
in_root() {
  dpkg --root="$root" --log=/dev/null --force-not-root --force-depends "$@" >"$work/dpkg.log" 2>&1 ||
    { cat "$work/dpkg.log" >&2; fail "dpkg $1 failed"; }
}
in_root --install "$package"

# From the package alone.
cd "$work"
unset SYNCOPATE_NATIVE PYTHONPATH
command=$root/usr/bin/syncopate
"$command" --version | grep -q '^syncopate [0-9]'
"$command" simulate --machines | grep -q small-2c || fail "no machine files"
status=0
"$command" run --lock ticket -- sh -c 'cat /proc/self/maps; exit 7' >maps || status=$?
[ "$status" = 7 ] || fail "exit status $status, not 7"
grep -q "$root/usr/lib.*/libsyncopate-pthread" maps || fail "another preload library was used"
gzip -dc "$root/usr/share/man/man1/syncopate-run.1.gz" | grep -q 'SH SYNOPSIS' ||
  fail "the manual page has no synopsis"
[ -s "$root/usr/share/doc/syncopate/docs/reference/installing.md" ] || fail "pages are missing"
for shell in bash-completion/completions/syncopate zsh/vendor-completions/_syncopate \
  fish/vendor_completions.d/syncopate.fish; do
  grep -q simulate "$root/usr/share/$shell" || fail "$shell completes no commands"
done

in_root --purge syncopate
left=$(cd "$root" && find . -mindepth 1 ! -path './var*')
[ -z "$left" ] || fail "removing the package left: $left"
