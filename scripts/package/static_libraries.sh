#!/bin/sh
# static_libraries.sh FOLDER PREFIX LIBRARY... -- archives of Debian's elfutils, libbpf and hwloc as they
# have to be compiled to go into our own shared libraries and programs, which Debian's archives of them
# are not, into FOLDER/lib, and their headers into FOLDER/include; with PREFIX, of GCC's and the
# binutils' names, for another architecture. Nothing where they are there.
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$1/lib" "$1/include"
folder=$(cd "$1" && pwd) prefix=$2
log=$folder/log
shift 2
fail() {
  echo "static_libraries.sh: $1; see $log" >&2
  exit 1
}
for tool in "${prefix}gcc" make m4; do
  command -v "$tool" >/dev/null || {
    echo "static_libraries.sh: please install $tool" >&2
    exit 1
  }
done

# configured OPTION...: in a folder of its own. Warnings of other compilers are not ours to mend.
configured() {
  mkdir "$folder/apt/build" && cd "$folder/apt/build"
  ../"$library"-*/configure ${prefix:+"--host=${prefix%-}"} CFLAGS="-O2 -fPIC -w" \
    CC="${prefix}gcc" "$@" >>"$log" 2>&1 || fail "$library cannot be configured"
}
made() { # FOLDER
  make -j"$(nproc)" -C "$1" >>"$log" 2>&1 || fail "$library cannot be built"
}

make_elfutils() {
  configured --disable-debuginfod --disable-libdebuginfod --disable-nls --without-bzlib \
    --disable-symbol-versioning --without-zstd
  for part in lib libelf libcpu backends libebl libdwelf libdwfl libdw; do made $part; done
  mkdir -p "$folder/include/elfutils"
  (
    cd ../elfutils-*/
    cp libelf/libelf.h libelf/gelf.h libelf/nlist.h libdw/dwarf.h "$folder/include"
    cp libdw/libdw.h libdwfl/libdwfl.h libdwelf/libdwelf.h libebl/libebl.h \
      libelf/elf-knowledge.h "$folder/include/elfutils"
  )
  cp version.h "$folder/include/elfutils"
  cp libelf/libelf.a libdw/libdw.a "$folder/lib"
}

make_libbpf() { # which needs elfutils' headers
  make -j"$(nproc)" -C "$folder/apt/$library"-*/src install BUILD_STATIC_ONLY=1 NO_PKG_CONFIG=1 \
    CC="${prefix}gcc" AR="${prefix}ar" CFLAGS="-O2 -fPIC -w -I$folder/include" \
    DESTDIR="$folder" PREFIX= INCLUDEDIR=/include LIBDIR=/lib >>"$log" 2>&1 ||
    fail "libbpf cannot be built"
  rm -rf "$folder/lib/pkgconfig"
}

make_hwloc() {
  configured --enable-static --disable-shared --disable-io --disable-libxml2 --disable-cairo \
    --disable-plugin-ltdl
  made hwloc
  cp -r ../hwloc-*/include/hwloc ../hwloc-*/include/hwloc.h include/hwloc "$folder/include"
  cp hwloc/.libs/libhwloc.a "$folder/lib"
}

for library; do
  [ ! -e "$folder/$library" ] || continue
  "$here/integrations/debian_source.sh" "$folder" "$library" >"$log" 2>&1 ||
    fail "cannot get Debian's source package $library"
  make_"$library"
  touch "$folder/$library"
  rm -rf "$folder/apt"
done
