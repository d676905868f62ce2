#!/bin/sh
# build.sh FOLDER PRODUCTS MACHINE... -- builds Ruby with all its extension libraries, for machines:
# native into FOLDER/native, emulated into FOLDER/emulated. The programs are FOLDER/bin/ruby, irb,
# gem, ... and FOLDER/bin/ruby.emulated. The machine `plain` is FOLDER/plain/bin/ruby, which lacks
# our patches. PRODUCTS is the folder of bin/syncopate and lib/. JOBS (2) compilers
# run at once, ccache where there is one. Takes many minutes. `build.sh --needs FOLDER` only tells
# what this system lacks for that.
set -eu
usage() {
  echo "usage: build.sh FOLDER PRODUCTS native|emulated|plain..., or build.sh --needs FOLDER" >&2
  exit 2
}
if [ "${1-}" = --needs ]; then
  [ $# -eq 2 ] || usage
  target=$2
else
  [ $# -ge 3 ] || usage
  target=$1
fi
here=$(cd "$(dirname "$0")" && pwd)
tools="ruby make gcc g++"
[ -f "$target/ruby/applied.patch" ] || tools="$tools patch apt-get dpkg-source"
for tool in $tools; do
  case $tool in
    dpkg-source) package=dpkg-dev ;;
    apt-get) package=apt ;;
    *) package=$tool ;;
  esac
  command -v $tool > /dev/null || {
    echo "build.sh: needs $tool (Debian's package $package)" >&2
    exit 1
  }
done
# What extension libraries need: without it they would be left out in silence.
missing=
for each in openssl/ssl.h:libssl-dev yaml.h:libyaml-dev zlib.h:zlib1g-dev ffi.h:libffi-dev \
  readline/readline.h:libreadline-dev; do
  printf '#include <stdio.h>\n#include <%s>\n' "${each%:*}" | gcc -fsyntax-only -xc - 2> /dev/null ||
    missing="$missing ${each#*:}"
done
[ -z "$missing" ] || { echo "build.sh: needs Debian's packages$missing" >&2; exit 1; }
[ "$1" != --needs ] || exit 0
[ -f "$1/ruby/applied.patch" ] || echo "build.sh: fetching Ruby's source" >&2
"$here/fetch.sh" "$1"
folder=$(cd "$1" && pwd) products=$(cd "$2" && pwd)
shift 2
root=$(cd "$here/../.." && pwd)
export SYNCOPATE_NATIVE="$products"  # where bin/syncopate finds the machines
ccache=$(command -v ccache || true)

fail() { echo "build.sh: $1 failed; see $objects/$1.log" >&2; exit 1; }

# The runtime is an archive among the libraries that Ruby's own program is linked with: what the
# extension libraries' configurations try out is linked with them, too.
configure() {
  [ -f "$objects/configured" ] && return
  mkdir -p "$objects"
  (cd "$objects" && "$source/configure" --cache-file="$folder/config.cache" CC=gcc CXX=g++ \
    "optflags=$optimize" debugflags=-g "--prefix=$folder/$machine" "--with-out-ext=-test-/*" \
    --disable-install-doc --disable-jit-support --disable-yjit --without-gmp --disable-dtrace &&
    sed -i "s|^S\[\"MAINLIBS\"\]=\"|&$libraries |" config.status &&
    ./config.status && touch configured) > "$objects/configure.log" 2>&1 || fail configure
}

# patched: of $folder/ruby, by $cc and $cxx, with the runtime and $libraries.
patched() {
  source="$folder/ruby" objects="$folder/objects.$machine" includes="-I$here -I$root/include"
  runtime="$objects/libsyncopate_ruby.a"
  libraries="$runtime $libraries -lstdc++"
  mkdir -p "$objects"
  $cxx -std=c++20 -O2 -g -Wall -Wextra -fPIE -fno-exceptions -fno-rtti $includes \
    -c "$here/runtime.cpp" -o "$objects/syncopate_runtime.o" 2> "$objects/make.log" || fail make
  ar rcs "$runtime" "$objects/syncopate_runtime.o"
  build
}

# plain: the same source less the patches, compiled in the same way.
plain() {
  source="$folder/plain_source" objects="$folder/objects.plain" includes= libraries=
  if [ ! -d "$source" ]; then
    mkdir -p "$objects" && cp -a "$folder/ruby" "$source.part"
    for each in $(ls -r "$here"/patches/*.patch); do
      patch -R -p1 -d "$source.part" < "$each"
    done > "$objects/make.log" 2>&1 || fail make
    mv "$source.part" "$source"
  fi
  build
}

# build: $source by $cc and $cxx, all of it into $folder/$machine.
build() {
  echo "build.sh: compiling Ruby, $machine" >&2
  configure
  # The package brings the parser, but make would want it newer than a header that it makes here.
  # make hands CC on to what it starts; so syncopate must be told the compiler itself.
  (cd "$objects" && make id.h && cp "$source"/parse.[ch] . && rm -f miniruby ruby &&
    make -j"${JOBS:-2}" CC="$cc $includes" CXX="$cxx" main &&
    make CC="$cc $includes" CXX="$cxx" install-nodoc) >> "$objects/make.log" 2>&1 || fail make
  mkdir -p "$folder/bin"
}

for machine in "$@"; do
  case $machine in
    native)
      optimize=-O2 cc="$ccache gcc" cxx="$ccache g++"
      libraries="$products/lib/libsyncopate.so -Wl,-rpath,$products/lib"
      patched
      (cd "$folder/bin" && ln -sf ../native/bin/* .)
      ;;
    emulated)
      optimize=-O1 cc="$products/bin/syncopate cc --machine=emulated --compiler=gcc"
      cxx="$products/bin/syncopate c++ --machine=emulated --compiler=g++"
      libraries="$products/lib/libsyncopate-emulated.so -Wl,-rpath,$products/lib"
      patched
      # Extension libraries of gems are the machine's, too.
      find "$folder/emulated/lib" -name rbconfig.rb -exec sed -i \
        -e "s|CONFIG\[\"CC\"\] = .*|CONFIG[\"CC\"] = \"$cc\"|" \
        -e "s|CONFIG\[\"CXX\"\] = .*|CONFIG[\"CXX\"] = \"$cxx\"|" {} +
      ln -sf ../emulated/bin/ruby "$folder/bin/ruby.emulated"
      ;;
    plain)
      optimize=-O2 cc="$ccache gcc" cxx="$ccache g++"
      plain
      ;;
    *)
      echo "build.sh: $machine: no such machine here; native, emulated and plain are" >&2
      exit 2
      ;;
  esac
done
