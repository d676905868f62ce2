#!/bin/sh
# Each part of a whole build by itself, as `make PART` asks for it: what the command needs and the
# part, and no tests.
# Usage: test_parts.sh SOURCE_DIR BUILD_DIR NINJA
set -eu
source=$1 build=$2 ninja=$3
commands() { # TARGET...
  "$ninja" -C "$build" -t commands "$@" | sed 's/.* -c //'
}
all=$(commands all | wc -l) native=$(commands native | wc -l)
for each in machines:papers runtimes:src/model papers:bench; do
  part=${each%%:*} other=${each#*:}
  targets=$(make -sn -C "$source" PRESET=release "$part" | sed -n 's/.*--target //p')
  # shellcheck disable=SC2086  # a list of targets
  steps=$(commands $targets)
  count=$(echo "$steps" | wc -l)
  [ "$count" -gt "$native" ] && [ "$count" -lt $((all / 2)) ] ||
    { echo "$part: $count steps, native $native, all $all"; exit 1; }
  # The one test program that others need ends tests that hang.
  if echo "$steps" | grep -v /tests/deadline/ | grep "/tests/\|/$other/"; then
    echo "$part builds what it does not need"
    exit 1
  fi
  echo "$part: $count of $all steps"
done
