#!/bin/sh
# The native component by itself: it asks for no package of the other components, and has some
# dozens of steps where the whole build has more than a thousand.
# Usage: test_native_component.sh CMAKE SOURCE_DIR COMPILER NINJA
set -eu
cmake=$1 source=$2 compiler=$3 ninja=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

configure() { # COMPONENTS OPTION...
  components=$1
  shift
  "$cmake" -G Ninja -S "$source" -B "$work/build" -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_MAKE_PROGRAM="$ninja" -DSYNCOPATE_COMPONENTS="$components" "$@" >"$work/log" 2>&1
}

absent=-DSYNCOPATE_HWLOC_INCLUDE=
for package in GTest benchmark OpenMP LLVM Boost PkgConfig ZLIB; do
  absent="$absent -DCMAKE_DISABLE_FIND_PACKAGE_$package=ON"
done
# shellcheck disable=SC2086  # a list of options
configure native $absent || {
  echo "the native component does not configure without the others' packages:"
  cat "$work/log"
  exit 1
}
steps=$("$ninja" -C "$work/build" -t commands native | wc -l)
[ "$steps" -ge 20 ] && [ "$steps" -le 150 ] || { echo "$steps steps"; exit 1; }
all=$("$ninja" -C "$work/build" -t commands all | wc -l)
[ "$all" -le "$steps" ] || { echo "'all' has $all steps, the component $steps"; exit 1; }

if configure nativ; then
  echo "a component of an unknown name was accepted"
  exit 1
fi
grep -q "SYNCOPATE_COMPONENTS is 'nativ': all or native" "$work/log" || { cat "$work/log"; exit 1; }
echo "$steps steps"
