#!/bin/sh
# old_glibc_stubs.sh FOLDER -- what a library is linked with to run on an old C library and an old C++
# library (old_glibc_cxx.sh): zig's stubs of the C library's parts, the start of programs, and libstdc++_new.a, those
# functions of this C++ library that GCC 8's lacks and that keep nothing. Uses SYNCOPATE_GCC, ZIG and
# ZIG_TARGET.
set -eu
[ ! -e "$1/libc_nonshared.a" ] || exit 0
rm -rf "$1" && mkdir -p "$1/cache" "$1/members"
folder=$(cd "$1" && pwd)
cd "$folder"
echo 'int main(void) { return 0; }' >members/nothing.c
# zig makes them in its cache when it first links for a C library.
# shellcheck disable=SC2086  # a command
ZIG_GLOBAL_CACHE_DIR=$folder/cache ZIG_LOCAL_CACHE_DIR=$folder/cache \
  $ZIG cc -target "$ZIG_TARGET" -pie -o members/nothing members/nothing.c
for part in Scrt1.o libc.so.6 libm.so.6 libpthread.so.0 libdl.so.2 librt.so.1 libld.so.2; do
  find cache -name $part -exec mv {} . \;
  [ -e $part ] || { echo "old_glibc_stubs.sh: zig has made no $part" >&2; exit 1; }
done
archive() { "$SYNCOPATE_GCC" -print-file-name="$1"; }
(
  cd members
  ar x "$(archive libstdc++.a)" floating_to_chars.o functexcept.o snprintf_lite.o \
    fs_dir.o fs_ops.o fs_path.o
  ar cr ../libstdc++_new.a ./*.o
)
find cache -name libc_nonshared.a -exec mv {} . \; # last: it says that all is there
rm -rf cache members
[ -e libc_nonshared.a ] || { echo "old_glibc_stubs.sh: zig has made no libc_nonshared.a" >&2; exit 1; }
