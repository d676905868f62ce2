#!/bin/sh
# test_aarch64.sh SOURCE_DIR: compiles what of aarch64 stands in assembly (monitor waits, system calls,
# signed return addresses, calls with many arguments) by a cross compiler and runs it under qemu-user; and compiles what lies
# inside of the C library's objects. Exit status 77, with a message, where Debian's packages for that
# are missing.
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

"$compiler" -std=c++20 -O2 -Wall -Wextra -Werror -static -mbranch-protection=standard \
  -fno-omit-frame-pointer -I "$root/include" -I "$root/src" \
  "$root/tests/unit/aarch64/system_call.cpp" -o "$work/system_call"
timeout 100 "$emulator" "$work/system_call"

"$compiler" -std=c++20 -O2 -Wall -Wextra -Werror -static -I "$root/products" \
  "$root/tests/unit/aarch64/call_with_words.cpp" \
  "$root/products/openmp/base/call_with_words.cpp" -o "$work/call_with_words"
timeout 100 "$emulator" "$work/call_with_words"

"$compiler" -std=c++20 -fsyntax-only -I "$root/include" -I "$root/src" -I "$root/products" \
  "$root/tests/unit/aarch64/objects.cpp"
