#!/bin/sh
# Installs a build into a fresh prefix and builds the consumer program against it both ways.
# Usage: test_consumer.sh CMAKE BUILD_DIR CXX LIBDIR
set -eu
cmake=$1 build=$2 cxx=$3 libdir=$4
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix

DESTDIR='' "$cmake" --install "$build" --prefix "$prefix" >"$work/install.log"

# Moved after installing: nothing in it may name the place where it was made.
mv "$prefix" "$work/moved"
prefix=$work/moved

"$cmake" -S "$here/consumer" -B "$work/build" -G Ninja \
  -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$cxx" >"$work/configure.log"
"$cmake" --build "$work/build" >"$work/build.log" || { cat "$work/build.log"; exit 1; }
"$work/build/consumer"
if [ -e "$prefix/lib/libsyncopate-simulated.so" ]; then
  SYNCOPATE_MACHINES="$prefix/share/syncopate/machines" SYNCOPATE_MACHINE=small-2c \
    "$work/build/consumer_simulated" 2>"$work/simulated.txt" ||
    { cat "$work/simulated.txt"; exit 1; }
  grep -q 'simulated time: .*small-2c' "$work/simulated.txt"
  status=0
  "$work/build/consumer_explored" 2>"$work/explored.txt" || status=$?
  [ "$status" = 1 ] || { cat "$work/explored.txt"; echo "exit status $status, not 1"; exit 1; }
  grep -q 'explored: failed: ' "$work/explored.txt"
fi

export PKG_CONFIG_PATH="$prefix/$libdir/pkgconfig"
# Word splitting is wanted: pkg-config prints several options.
# shellcheck disable=SC2046
"$cxx" "$here/consumer/consumer.cpp" -o "$work/consumer" $(pkg-config --cflags --libs syncopate)
LD_LIBRARY_PATH="$prefix/$libdir" "$work/consumer"

"$prefix/bin/syncopate-native" list >"$work/locks.json"
cmp "$work/locks.json" "$prefix/share/syncopate/locks.json"
"$prefix/bin/syncopate-native" options >"$work/options.json"
cmp "$work/options.json" "$prefix/share/syncopate/options.json"

# The command line, from there alone.
(
  unset SYNCOPATE_NATIVE PYTHONPATH
  cd "$work"
  "$prefix/bin/syncopate" --version | grep -q '^syncopate [0-9]'
  "$prefix/bin/syncopate" list | grep -q '^ticket '
  status=0
  "$prefix/bin/syncopate" run --lock ticket -- sh -c 'cat /proc/self/maps; exit 7' >maps ||
    status=$?
  [ "$status" = 7 ] || { echo "exit status $status, not 7"; exit 1; }
  grep -q "$prefix/$libdir/libsyncopate-pthread" maps || { echo "not our library"; exit 1; }
  for shell in bash-completion/completions/syncopate zsh/vendor-completions/_syncopate \
    fish/vendor_completions.d/syncopate.fish; do
    grep -q simulate "$prefix/share/$shell" || { echo "$shell completes nothing"; exit 1; }
  done
)

# Uninstalling leaves what others have put there, and nothing else.
DESTDIR='' "$cmake" --install "$build" --prefix "$work/again" >"$work/install.log"
[ -e "$work/again/$libdir/libsyncopate.so" ]
: >"$work/again/$libdir/others.so"
DESTDIR='' "$cmake" -DMANIFEST="$build/install_manifest.txt" -P "$here/../../cmake/Uninstall.cmake"
left=$(cd "$work/again" && find . ! -type d -o -name 'syncopate*' -o -path "./$libdir/tm")
[ "$left" = "./$libdir/others.so" ] || { echo "uninstalling left: $left"; exit 1; }
