#!/bin/sh
# static_libraries.sh FOLDER PREFIX LIBRARY... -- archives of Debian's elfutils, libbpf and hwloc as they
# have to be compiled to go into our own shared libraries and programs, which Debian's archives of them
# are not, into FOLDER/lib, and their headers into FOLDER/include; with PREFIX, of GCC's and the
# binutils' names, for another architecture. Nothing where this script, as it is now, has made them.
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$1/lib" "$1/include"
folder=$(cd "$1" && pwd) prefix=$2
log=$folder/log
flags="-O2 -fPIC -w -ffile-prefix-map=$folder=."  # assertions name their files
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
  ../"$library"-*/configure ${prefix:+"--host=${prefix%-}"} CFLAGS="$flags" \
    CC="${prefix}gcc" "$@" >>"$log" 2>&1 || fail "$library cannot be configured"
}
made() { # FOLDER
  make -j"$(nproc)" -C "$1" >>"$log" 2>&1 || fail "$library cannot be built"
}
# stands_alone ARCHIVES OTHERS: what these take is in them, in the others or in the C library. Where
# a configuration finds more, it may take it; the machines that a package is for lack it.
stands_alone() {
  # shellcheck disable=SC2086  # lists of words
  "${prefix}gcc" -shared -o "$folder/apt/whole.so" -L"$folder/lib" -Wl,--no-undefined \
    -Wl,--whole-archive $1 -Wl,--no-whole-archive $2 >>"$log" 2>&1 ||
    fail "$library takes what other machines lack"
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
  stands_alone '-ldw -lelf' '-llzma -lz'
}

make_libbpf() { # which needs elfutils' headers
  make -j"$(nproc)" -C "$folder/apt/$library"-*/src install BUILD_STATIC_ONLY=1 NO_PKG_CONFIG=1 \
    CC="${prefix}gcc" AR="${prefix}ar" CFLAGS="$flags -I$folder/include" \
    DESTDIR="$folder" PREFIX= INCLUDEDIR=/include LIBDIR=/lib >>"$log" 2>&1 ||
    fail "libbpf cannot be built"
  rm -rf "$folder/lib/pkgconfig"
  stands_alone -lbpf '-lelf -lz'
}

make_hwloc() {
  configured --prefix=/usr --localstatedir=/var --runstatedir=/run \
    --enable-static --disable-shared --disable-io --disable-libudev \
    --disable-libxml2 --disable-cairo --disable-plugin-ltdl
  made hwloc
  cp -r ../hwloc-*/include/hwloc ../hwloc-*/include/hwloc.h include/hwloc "$folder/include"
  cp hwloc/.libs/libhwloc.a "$folder/lib"
  stands_alone -lhwloc -lm
}

for library; do
  ! cmp -s "$here/scripts/package/static_libraries.sh" "$folder/$library" || continue
  "$here/integrations/debian_source.sh" "$folder" "$library" >"$log" 2>&1 ||
    fail "cannot get Debian's source package $library"
  make_"$library"
  cp "$here/scripts/package/static_libraries.sh" "$folder/$library"
  rm -rf "$folder/apt"
done
