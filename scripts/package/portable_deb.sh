#!/bin/sh
# Makes a Debian package of a portable wheel: what is in it for any Debian or Ubuntu with
# glibc 2.28 and Python 3.9 or newer, of the wheel's architecture. It needs nothing else: the Python
# packages that the command uses are in it.
# Needs dpkg-dev and help2man.
# Usage: portable_deb.sh WHEEL OUTPUT_FOLDER
set -eu
cd "$(dirname "$0")/../.."
fail() {
  echo "deb: $*" >&2
  exit 1
}
for tool in dpkg-deb help2man; do
  command -v $tool >/dev/null || fail "$tool is missing; please install dpkg-dev and help2man"
done
wheel=$1 python=$PWD/build/venv-wheel/bin/python
mkdir -p "$2"
output=$(cd "$2" && pwd)
case $wheel in
  *_x86_64.whl) architecture=amd64 ;;
  *_aarch64.whl) architecture=arm64 ;;
  *) fail "$wheel: no wheel of x86_64 or aarch64" ;;
esac
version=$(basename "$wheel" | cut -d- -f2)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m zipfile -e "$wheel" "$work/wheel"
# For any Python: no compiled parts.
"$python" -m pip install --quiet --disable-pip-version-check --target "$work/packages" \
  --only-binary=:all: --platform any --implementation py --abi none --python-version 3.9 \
  -r scripts/package/deb-requirements.txt </dev/null || fail "no network to get Python packages from"

root=$work/root
share=$root/usr/share/syncopate/python native=$root/usr/lib/syncopate
mkdir -p "$share" "$root/usr/lib" "$root/usr/bin" "$root/usr/libexec/syncopate"
mv "$work/wheel/syncopate/_native" "$native"
mv "$work/wheel/syncopate" "$share/"
ln -s ../../../../lib/syncopate "$share/syncopate/_native"
rm -rf "$work/packages/bin"
cp -r "$work/packages/." "$share/"
# What only listings in color and Markdown would use.
rm -rf "$share/pygments" "$share"/pygments-* "$share/markdown_it" "$share"/markdown_it_py-* \
  "$share/mdurl" "$share"/mdurl-*
find "$share" -name __pycache__ -prune -exec rm -rf {} +
mv "$work/wheel/syncopate-$version.data/scripts/syncopate" "$root/usr/bin/"
# A wheel has no rights to execute.
for program in "$root/usr/bin/syncopate" "$native"/bin/* "$native"/libexec/syncopate/*; do
  [ ! -f "$program" ] || chmod 755 "$program"
done
cat >"$root/usr/libexec/syncopate/command" <<'END'
#!/usr/bin/python3 -ISB
# What bin/syncopate does not do by itself; it calls this by its real path.
import sys

sys.path.insert(0, __file__.rpartition("/")[0] + "/../../share/syncopate/python")
from syncopate.__main__ import main

sys.exit(main())
END
chmod 755 "$root/usr/libexec/syncopate/command"

# The command's own pages are the same on every architecture: Python writes them.
printf '#!/bin/sh\nexec python3 -ISB "%s" "$@"\n' "$root/usr/libexec/syncopate/command" \
  >"$work/syncopate"
chmod +x "$work/syncopate"
scripts/package/manpages.sh "$work/syncopate" "$root/usr/share/man/man1"
complete() { # SHELL FILE
  mkdir -p "$(dirname "$root/usr/share/$2")"
  "$work/syncopate" completion "$1" >"$root/usr/share/$2"
}
complete bash bash-completion/completions/syncopate
complete zsh zsh/vendor-completions/_syncopate
complete fish fish/vendor_completions.d/syncopate.fish
install -D -m 644 LICENSE "$root/usr/share/doc/syncopate-native/copyright"
install -m 644 README.md "$root/usr/share/doc/syncopate-native/"

mkdir "$root/DEBIAN"
cat >"$root/DEBIAN/control" <<END
Package: syncopate-native
Version: $version
Architecture: $architecture
Maintainer: The Syncopate developers
Installed-Size: $(du -sk "$root/usr" | cut -f1)
Depends: libc6 (>= 2.28), python3 (>= 3.9)
Recommends: binutils
Suggests: bash-completion
Conflicts: syncopate
Replaces: syncopate
Section: devel
Priority: optional
Description: finds where multi-threaded programs wait, and makes them wait less
 A preload library that replaces the locks of unmodified programs, and a recorder that names the
 locks a program waits for, by what the kernel sees, too, on x86-64; there also simulated machines
 and a checker, for which programs are compiled. This package needs no compiler itself; the package
 syncopate also has the C++ library.
END
package=$output/syncopate-native_${version}_$architecture.deb
dpkg-deb --root-owner-group --build "$root" "$package" >/dev/null
echo "$package"
