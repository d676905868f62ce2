#!/bin/sh
# debian_source.sh FOLDER PACKAGE[=VERSION]... -- unpacks the first of these source packages that
# can be had into FOLDER/apt/PACKAGE-VERSION, with Debian's patches applied. Needs the package
# sources of this system; their lists, and all else of the system, stay as they are. Nonzero
# status, and what apt said, where that fails.
set -eu
[ $# -ge 2 ] || { echo "usage: debian_source.sh FOLDER PACKAGE[=VERSION]..." >&2; exit 2; }
command -v apt-get > /dev/null && command -v dpkg-source > /dev/null || {
  echo "debian_source.sh: needs apt-get and dpkg-source (Debian's package dpkg-dev)" >&2
  exit 1
}
mkdir -p "$1"
apt="$(cd "$1" && pwd)/apt"
shift
rm -rf "$apt" && mkdir -p "$apt/parts" "$apt/lists/partial"

# The system's own sources, asked for source packages.
for list in /etc/apt/sources.list.d/debian.sources; do
  [ -f "$list" ] || continue
  sed 's/^Types: deb$/Types: deb-src/' "$list" > "$apt/parts/$(basename "$list")"
done
if [ -f /etc/apt/sources.list ]; then
  sed -n 's/^deb /deb-src /p' /etc/apt/sources.list > "$apt/parts/sources.list"
fi

ask() {
  apt-get -q -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$apt/parts" \
    -o "Dir::State::lists=$apt/lists" -o APT::Get::List-Cleanup=0 "$@"
}
cd "$apt"
ask update
for package in "$@"; do
  ask source "$package" && exit 0
done
exit 1
