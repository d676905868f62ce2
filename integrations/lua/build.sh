#!/bin/sh
# build.sh FOLDER PRODUCTS MACHINE... -- builds lua-mt for machines: native into FOLDER/bin/lua-mt,
# simulated and emulated into FOLDER/bin/lua-mt.MACHINE; plain: the same source without any lock, to
# compare with, into FOLDER/bin/lua-plain. PRODUCTS is the folder with this project's bin/syncopate
# and lib/. layouts, after plain and native: both again, COUNT (8) times, into FOLDER/layouts/NAME.N,
# the code of each 16 bytes further on than that of the last, and the interpreter's loop aligned in
# eight ways (bench/lua_cost.py).
set -eu
[ $# -ge 3 ] || { echo "usage: build.sh FOLDER PRODUCTS MACHINE..." >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
"$here/fetch.sh" "$1"
folder=$(cd "$1" && pwd) products=$(cd "$2" && pwd)
shift 2
root=$(cd "$here/../.." && pwd)
CC=${CC:-gcc} CXX=${CXX:-g++}
natively="$products/lib/libsyncopate.so -Wl,-rpath,$products/lib"
export SYNCOPATE_NATIVE="$products"  # where bin/syncopate finds the machines

# Lua's sources, with our files in front of some, which include them as NAME_lua. Nothing in them is
# changed.
source="$folder/mt" plain="$folder/objects.plain"
mkdir -p "$source" "$folder/bin"
cp "$folder"/lua/*.c "$folder"/lua/*.h "$source"
for name in ljumptab.h lgc.c lgc.h liolib.c lmem.c lobject.c loslib.c lstring.c; do
  cp "$folder/lua/$name" "$source/${name%.*}_lua.${name##*.}"
  cp "$here/$name" "$source/$name"
done
sed -e 's/disptab\[/yielding[/' -e 's/&&L_/\&\&Y_/' "$folder/lua/ljumptab.h" \
  > "$source/ljumptab_yielding.h"

# toward MACHINE: the tools and flags for it (for a modeled one: syncopate's wrapper of the compiler).
toward() {
  objects="$folder/objects.$1" cc=$CC cxx=$CXX last=""
  includes="-I $source -I $here -I $root/include"
  case $1 in emulated) records=-DSYNCOPATE_GIL_RECORDS ;; *) records= ;; esac
  flags="-O2 -g -DLUA_USE_POSIX -DLUA_COMPAT_5_3"
  if [ "$1" != native ]; then
    cc="$products/bin/syncopate cc --machine=$1" cxx="$products/bin/syncopate c++ --machine=$1"
  else
    last=$natively
    flags="$flags -DLUA_MT_NATIVE -ftls-model=local-exec"  # all thread-local data is the program's
  fi
}

# compile FILE [FLAG...]: one of Lua's, with the lock; compile_plain: without.
compile() {
  file=$1 name=$(basename "$1" .c)
  shift
  $cc $flags "$@" $includes -include "$here/hooks.h" -c "$file" -o "$objects/$name.o"
}
compile_plain() {
  file=$1 name=$(basename "$1" .c)
  shift
  $CC -O2 -g -DLUA_USE_POSIX -DLUA_COMPAT_5_3 "$@" -c "$file" -o "$plain/$name.o"
}

# build NAME MACHINE: every file.
build() {
  toward "$2"
  rm -rf "$objects" && mkdir -p "$objects"
  for each in "$source"/*.c; do
    case $(basename "$each" .c) in
      luac | linit | onelua | ltests | *_lua) ;;
      lmem | lstring) compile "$each" -Wno-unused-value ;;
      lua) compile "$each" -Dmain=lua_mt_original_main ;;
      *) compile "$each" ;;
    esac
  done
  for name in libraries heap removals finalizers blocking_io open_streams places; do
    $cc $flags -Wall -Wextra $includes -c "$here/$name.c" -o "$objects/$name.o"
  done
  for name in runtime thread_module sockets; do
    $cxx -std=c++20 -O2 -g -Wall -Wextra $records $includes -c "$here/$name.cpp" -o "$objects/$name.o"
  done
  link_mt "$folder/bin/$1"
}

# link_mt PROGRAM [OBJECT]: from $objects by $cxx, with $last; the OBJECT before all others.
link_mt() {
  wraps=""
  for name in lua_newstate lua_close lua_gc luaC_newobj luaC_step luaC_fullgc luaC_checkfinalizer \
    luaC_freeallobjects luaS_resize luaL_loadfilex; do
    wraps="$wraps -Wl,--wrap=$name"
  done
  $cxx ${2:-} "$objects"/*.o $wraps $last -pthread -lm -ldl -o "$1"
}

link_plain() { $CC ${2:-} "$plain"/*.o -lm -ldl -o "$1"; }

build_plain() {
  rm -rf "$plain" && mkdir -p "$plain"
  for each in "$folder"/lua/*.c; do
    case $each in */luac.c | */onelua.c) ;; *) compile_plain "$each" ;; esac
  done
  link_plain "$folder/bin/lua-plain"
}

build_layouts() {
  toward native
  [ -f "$plain/lvm.o" ] && [ -f "$objects/lvm.o" ] || {
    echo "build.sh: layouts come after plain and native" >&2
    exit 2
  }
  layouts="$folder/layouts"
  rm -rf "$layouts" && mkdir -p "$layouts"
  cp -p "$plain/lvm.o" "$layouts/plain.o" && cp -p "$objects/lvm.o" "$layouts/native.o"
  number=0
  while [ $number -lt "${COUNT:-8}" ]; do
    printf '.section .note.GNU-stack,"",@progbits\n.text\n.balign 16\n.skip %d, 0x90\n' \
      $((16 * number + 16)) | $CC -x assembler -c - -o "$layouts/pad.o"
    case $((number % 8)) in
      0) align= ;;
      1) align="-falign-jumps=1 -falign-loops=1 -falign-labels=1" ;;
      2) align=-falign-labels=2 ;;
      3) align=-falign-labels=4 ;;
      4) align=-falign-labels=8 ;;
      5) align=-falign-jumps=8 ;;
      6) align=-falign-jumps=32 ;;
      7) align="-falign-jumps=16 -falign-loops=32" ;;
    esac
    compile_plain "$folder/lua/lvm.c" $align
    compile "$source/lvm.c" $align
    link_plain "$layouts/lua-plain.$number" "$layouts/pad.o"
    link_mt "$layouts/lua-mt.$number" "$layouts/pad.o"
    number=$((number + 1))
  done
  mv "$layouts/plain.o" "$plain/lvm.o" && mv "$layouts/native.o" "$objects/lvm.o"
  rm "$layouts/pad.o"
}

for machine in "$@"; do
  case $machine in
    plain) build_plain ;;
    layouts) build_layouts ;;
    native) build lua-mt native ;;
    *) build "lua-mt.$machine" "$machine" ;;
  esac
done
