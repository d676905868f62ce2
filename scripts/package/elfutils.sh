#!/bin/sh
# elfutils.sh FOLDER -- libdw.a and libelf.a of Debian's elfutils as they have to be compiled to go
# into shared libraries, which Debian's own archives are not, into FOLDER/lib, and their headers into
# FOLDER/include. Nothing when they are there.
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
log=$folder/log
[ ! -e "$folder/lib/libdw.a" ] || exit 0
fail() {
  echo "elfutils.sh: $1; see $log" >&2
  exit 1
}
for tool in gcc make m4; do
  command -v $tool >/dev/null || { echo "elfutils.sh: please install $tool" >&2; exit 1; }
done
"$here/integrations/debian_source.sh" "$folder" elfutils >"$log" 2>&1 ||
  fail "cannot get Debian's source package elfutils"
mkdir "$folder/apt/build" && cd "$folder/apt/build"
# Warnings of other compilers than its own are not ours to mend.
../elfutils-*/configure --disable-debuginfod --disable-libdebuginfod --disable-nls \
  --disable-symbol-versioning --without-bzlib --without-zstd CC=gcc CFLAGS="-O2 -fPIC -w" \
  >>"$log" 2>&1 || fail "elfutils cannot be configured"
for part in lib libelf libcpu backends libebl libdwelf libdwfl libdw; do
  make -j"$(nproc)" -C $part >>"$log" 2>&1 || fail "elfutils cannot be built"
done
mkdir -p "$folder/include/elfutils" "$folder/lib"
cd ../elfutils-*/
cp libelf/libelf.h libelf/gelf.h libelf/nlist.h libdw/dwarf.h "$folder/include"
cp libdw/libdw.h libdwfl/libdwfl.h libdwelf/libdwelf.h libebl/libebl.h "$folder/include/elfutils"
cp libelf/elf-knowledge.h ../build/version.h "$folder/include/elfutils"
cp ../build/libelf/libelf.a "$folder/lib"
cp ../build/libdw/libdw.a "$folder/lib" # last: it says that all is there
rm -rf "$folder/apt"
