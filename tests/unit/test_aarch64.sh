#!/bin/sh
# test_aarch64.sh SOURCE_DIR: compiles the monitor waits of aarch64 by a cross compiler and runs them
# under qemu-user. Exit status 77, with a message, where Debian's packages for that are missing.
set -eu
root=$1
compiler=aarch64-linux-gnu-g++ emulator=qemu-aarch64
for tool in "$compiler" "$emulator"; do
  if ! command -v "$tool" >/dev/null; then
    echo "skipped: no $tool; Debian has it in g++-aarch64-linux-gnu and qemu-user"
    exit 77
  fi
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$compiler" -std=c++20 -O2 -Wall -Wextra -Werror -static -I "$root/include" \
  "$root/tests/unit/aarch64/wait_for_event.cpp" -o "$work/wait_for_event"
aarch64-linux-gnu-objdump -d --no-show-raw-insn "$work/wait_for_event" > "$work/code"
for instruction in wfe ldaxr ldaxrh ldaxrb; do
  grep -qw "$instruction" "$work/code" || { echo "no $instruction in the program"; exit 1; }
done
timeout 100 "$emulator" "$work/wait_for_event"
