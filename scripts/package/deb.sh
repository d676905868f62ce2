#!/bin/sh
# Makes a Debian package of a finished build: libraries, headers, the command line, manual pages and
# completions. It has no scripts that run at installation, so removing it leaves nothing.
# Needs dpkg-dev and help2man.
# Usage: deb.sh BUILD_DIR OUTPUT_FOLDER
set -eu
cd "$(dirname "$0")/../.."
build=$1
mkdir -p "$2"
output=$(cd "$2" && pwd)
for tool in dpkg-deb dpkg-shlibdeps help2man; do
  command -v $tool >/dev/null || {
    echo "deb: $tool is missing; please install dpkg-dev and help2man" >&2
    exit 1
  }
done
command_line=build/bin/syncopate
version=$("$command_line" --version | cut -d' ' -f2)
architecture=$(dpkg --print-architecture)
libdir=$(sed -n 's/^CMAKE_INSTALL_LIBDIR:[A-Z]*=//p' "$build/CMakeCache.txt")

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
DESTDIR=$root SYNCOPATE_INSTALL_PYTHON=/usr/bin/python3 cmake --install "$build" --prefix /usr --strip >"$work/install.log" || {
  cat "$work/install.log" >&2
  exit 1
}

# CMake leaves archives as they are; what they tell debuggers names this folder.
find "$root" -name '*.a' -exec strip --strip-unneeded --enable-deterministic-archives {} +
install -D -m 644 LICENSE "$root/usr/share/doc/syncopate/copyright"
install -m 644 README.md "$root/usr/share/doc/syncopate/"
cp -r --no-preserve=mode,ownership docs "$root/usr/share/doc/syncopate/docs"

# What the libraries and the programs need, as Debian's own tool says it.
mkdir -p "$work/debian"
printf 'Source: syncopate\n\nPackage: syncopate\nArchitecture: any\n' >"$work/debian/control"
(cd "$work" && find root -type f) | while read -r file; do
  [ "$(head -c 4 "$work/$file" | tail -c 3)" != ELF ] || echo "$file"
done >"$work/programs"
needs=$(cd "$work" && xargs dpkg-shlibdeps --ignore-missing-info -O -lroot/usr/"$libdir" \
  <programs 2>log | sed 's/^shlibs:Depends=//')
[ -n "$needs" ] || {
  cat "$work/log" >&2
  exit 1
}

mkdir "$root/DEBIAN"
cat >"$root/DEBIAN/control" <<END
Package: syncopate
Version: $version
Architecture: $architecture
Maintainer: The Syncopate developers
Installed-Size: $(du -sk "$root/usr" | cut -f1)
Depends: python3 (>= 3.11), python3-rich, $needs
Recommends: g++, binutils
Suggests: bash-completion
Section: devel
Priority: optional
Description: finds where multi-threaded programs wait, and makes them wait less
 A preload library that replaces the locks of unmodified programs, a recorder that names the locks
 a program waits for, simulated machines to try other locks on, and a C++ library of locks,
 barriers, elision and transactions.
END
package=$output/syncopate_${version}_$architecture.deb
dpkg-deb --root-owner-group --build "$root" "$package" >/dev/null
echo "$package"
