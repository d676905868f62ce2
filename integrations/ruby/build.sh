#!/bin/sh
# build.sh FOLDER PRODUCTS MACHINE... -- builds miniruby, Ruby's interpreter without its extension
# libraries, for machines: native into FOLDER/bin/miniruby, emulated into
# FOLDER/bin/miniruby.emulated. PRODUCTS is the folder with this project's bin/syncopate and lib/.
# JOBS (2) compilers run at once, ccache where there is one. Takes minutes.
set -eu
[ $# -ge 3 ] || { echo "usage: build.sh FOLDER PRODUCTS native|emulated..." >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
for tool in ruby make gcc g++; do
  command -v $tool > /dev/null || { echo "build.sh: needs $tool (Debian's package)" >&2; exit 1; }
done
echo "build.sh: fetching Ruby's source" >&2
"$here/fetch.sh" "$1"
folder=$(cd "$1" && pwd) products=$(cd "$2" && pwd)
shift 2
root=$(cd "$here/../.." && pwd)
export SYNCOPATE_NATIVE="$products"  # where bin/syncopate finds the machines
ccache=$(command -v ccache || true)
includes="-I$here -I$root/include"

configure() {
  [ -f "$objects/Makefile" ] && return
  mkdir -p "$objects"
  (cd "$objects" && "$folder/ruby/configure" --cache-file="$folder/config.cache" CC=gcc CXX=g++ \
    "optflags=$optimize" debugflags=-g --disable-install-doc --disable-jit-support \
    --disable-yjit --disable-rubygems --without-gmp --disable-dtrace) \
    > "$objects/configure.log" 2>&1 || fail configure
}

fail() { echo "build.sh: $1 failed; see $objects/$1.log" >&2; exit 1; }

# compile NAME: by $cc and $cxx.
compile() {
  echo "build.sh: compiling $1" >&2
  configure
  runtime="$objects/syncopate_runtime.o"
  $cxx -std=c++20 -O2 -g -Wall -Wextra -fPIE -fno-exceptions -fno-rtti $includes \
    -c "$here/runtime.cpp" -o "$runtime" 2> "$objects/make.log" || fail make
  # The package brings the parser, but make would want it newer than a header that it makes here.
  (cd "$objects" && make id.h && cp "$folder"/ruby/parse.[ch] . && rm -f miniruby &&
    make -j"${JOBS:-2}" CC="$cc" CXX="$cxx" "cppflags=$includes" "EXTLIBS=$runtime $libraries" \
      miniruby $more) >> "$objects/make.log" 2>&1 || fail make
  mkdir -p "$folder/bin"
  cp -f "$objects/miniruby" "$folder/bin/$1"  # -f: one that runs is replaced
}

for machine in "$@"; do
  objects="$folder/objects.$machine"
  case $machine in
    native)
      optimize=-O2 cc="$ccache gcc" cxx="$ccache g++" more=rbconfig.rb  # for Ruby's test/
      libraries="$products/lib/libsyncopate.so -Wl,-rpath,$products/lib -lstdc++"
      compile miniruby
      ;;
    emulated)
      # make hands CC on to what it starts; so syncopate must be told the compiler itself.
      optimize=-O1 cc="$products/bin/syncopate cc --machine=emulated --compiler=gcc"
      cxx="$products/bin/syncopate c++ --machine=emulated --compiler=g++" libraries=-lstdc++ more=
      compile miniruby.emulated
      ;;
    *)
      echo "build.sh: $machine: no such machine here; native and emulated are" >&2
      exit 2
      ;;
  esac
done
