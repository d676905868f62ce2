#!/bin/sh
# The native component by itself: it asks for no package of the other components, and has some
# dozens of steps where the whole build has more than a thousand. What is built differently where
# packages are absent is built, and runs. A build for other machines lacks nothing: it stops.
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
fail() { # SENTENCE
  echo "$1" >&2
  cat "$work/log" >&2
  exit 1
}

hide=-DCMAKE_PROJECT_INCLUDE_BEFORE=$source/tests/install/without_packages.cmake
set -- "$hide"
for package in GTest benchmark OpenMP LLVM Boost PkgConfig ZLIB; do
  set -- "$@" "-DCMAKE_DISABLE_FIND_PACKAGE_$package=ON"
done
configure native "$@" || fail "the native component does not configure without others' packages"
steps=$("$ninja" -C "$work/build" -t commands native | wc -l)
[ "$steps" -ge 20 ] && [ "$steps" -le 150 ] || { echo "$steps steps"; exit 1; }
all=$("$ninja" -C "$work/build" -t commands all | wc -l)
[ "$all" -le "$steps" ] || { echo "'all' has $all steps, the component $steps"; exit 1; }

"$ninja" -C "$work/build" syncopate-native syncopate-names >"$work/log" 2>&1 ||
  fail "the native component does not build without others' packages"
native=$work/build/bin/syncopate-native
ldd "$native" >"$work/log"
if grep -q hwloc "$work/log"; then fail "what was to be absent was found"; fi
"$native" list >"$work/log" 2>&1 || fail "syncopate-native does not run"
grep -q '"mcs"' "$work/log" || fail "syncopate-native lists no locks"
if "$native" calibrate >"$work/log" 2>&1; then fail "calibrate works without hwloc"; fi
grep -q 'this build cannot calibrate.*libhwloc-dev' "$work/log" || fail "calibrate does not say why not"

# A package must have all of it, whatever the machine has that it is made on.
for part in JVMTI_INCLUDE:default-jdk-headless BPF_CLANG:clang LIB_bz2:libbz2-dev; do
  rm -rf "$work/build"
  if configure native "$hide" -DHIDDEN="SYNCOPATE_${part%%:*}" -DSYNCOPATE_PORTABLE=ON; then
    fail "a build for other machines lacks what ${part%%:*} is for, and does not say so"
  fi
  grep -q "Please install.* ${part##*:}" "$work/log" || fail "a wrong message for ${part%%:*}"
done

if configure nativ; then fail "a component of an unknown name was accepted"; fi
grep -q "SYNCOPATE_COMPONENTS is 'nativ': all or native" "$work/log" || fail "a wrong message"
echo "$steps steps"
