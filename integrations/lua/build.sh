#!/bin/sh
# build.sh FOLDER PRODUCTS MACHINE... -- builds lua-mt for machines: native into FOLDER/bin/lua-mt,
# simulated and emulated into FOLDER/bin/lua-mt.MACHINE; plain: the same source without any lock, to
# compare with, into FOLDER/bin/lua-plain. PRODUCTS is the folder with this project's bin/syncopate
# and lib/. layouts, after plain and native: both again, COUNT (8) times, into FOLDER/layouts/NAME.N,
# the code of each 16 bytes further on than that of the last (bench/lua_cost.py).
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
source="$folder/mt"
mkdir -p "$source" "$folder/bin"
cp "$folder"/lua/*.c "$folder"/lua/*.h "$source"
for name in ljumptab.h lgc.h liolib.c lmem.c lobject.c loslib.c lstring.c; do
  cp "$folder/lua/$name" "$source/${name%.*}_lua.${name##*.}"
  cp "$here/$name" "$source/$name"
done
sed -e 's/disptab\[/yielding[/' -e 's/&&L_/\&\&Y_/' "$folder/lua/ljumptab.h" \
  > "$source/ljumptab_yielding.h"

# build NAME MACHINE: every file by the compiler (for a modeled machine: by syncopate's wrapper).
build() {
  objects="$folder/objects.$2" cc=$CC cxx=$CXX last=""
  includes="-I $source -I $here -I $root/include"
  case $2 in emulated) records=-DSYNCOPATE_GIL_RECORDS ;; *) records= ;; esac
  flags="-O2 -g -DLUA_USE_POSIX -DLUA_COMPAT_5_3"
  if [ "$2" != native ]; then
    cc="$products/bin/syncopate cc --machine=$2" cxx="$products/bin/syncopate c++ --machine=$2"
  else
    last=$natively
    flags="$flags -DLUA_MT_NATIVE -ftls-model=local-exec"  # all thread-local data is the program's
  fi
  rm -rf "$objects" && mkdir -p "$objects"
  for file in "$source"/*.c; do
    name=$(basename "$file" .c)
    case $name in
      luac | linit | onelua | ltests | *_lua) continue ;;
      lmem | lstring) extra=-Wno-unused-value ;;
      lua) extra=-Dmain=lua_mt_original_main ;;
      *) extra= ;;
    esac
    $cc $flags $extra $includes -include "$here/hooks.h" -c "$file" -o "$objects/$name.o"
  done
  for name in libraries heap removals blocking_io; do
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
    luaS_resize luaL_loadfilex; do
    wraps="$wraps -Wl,--wrap=$name"
  done
  $cxx ${2:-} "$objects"/*.o $wraps $last -pthread -lm -ldl -o "$1"
}

build_plain() {
  plain="$folder/objects.plain"
  rm -rf "$plain" && mkdir -p "$plain"
  for file in "$folder"/lua/*.c; do
    case $file in */luac.c | */onelua.c) continue ;; esac
    $CC -O2 -g -DLUA_USE_POSIX -DLUA_COMPAT_5_3 -c "$file" -o "$plain/$(basename "$file" .c).o"
  done
  $CC "$plain"/*.o -lm -ldl -o "$folder/bin/lua-plain"
}

build_layouts() {
  objects="$folder/objects.native" cxx=$CXX last=$natively
  [ -f "$folder/objects.plain/lvm.o" ] && [ -f "$objects/lvm.o" ] || {
    echo "build.sh: layouts come after plain and native" >&2
    exit 2
  }
  rm -rf "$folder/layouts" && mkdir -p "$folder/layouts"
  number=0
  while [ $number -lt "${COUNT:-8}" ]; do
    pad="$folder/layouts/pad.o"
    printf '.section .note.GNU-stack,"",@progbits\n.text\n.balign 16\n.skip %d, 0x90\n' \
      $((16 * number + 16)) | $CC -x assembler -c - -o "$pad"
    $CC "$pad" "$folder"/objects.plain/*.o -lm -ldl -o "$folder/layouts/lua-plain.$number"
    link_mt "$folder/layouts/lua-mt.$number" "$pad"
    number=$((number + 1))
  done
  rm "$pad"
}

for machine in "$@"; do
  case $machine in
    plain) build_plain ;;
    layouts) build_layouts ;;
    native) build lua-mt native ;;
    *) build "lua-mt.$machine" "$machine" ;;
  esac
done
