#!/bin/sh
# build.sh FOLDER PRODUCTS -- makes FOLDER/libgomp.a: GCC's OpenMP runtime, compiled for the simulated
# machine, for `syncopate cc --machine=simulated --libgomp=FOLDER -fopenmp`. Its sources come from
# Debian's source package of the compiler's version (gcc-12, ...), and are built by their own
# configure and make. PRODUCTS is the folder with this project's bin/syncopate and lib/.
#
# Nothing in it is changed but that it sleeps by the function syscall(), as on processors whose own
# instruction for that it does not know: the machine does not see the instruction.
set -eu
[ $# -eq 2 ] || { echo "usage: build.sh FOLDER PRODUCTS" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd) products=$(cd "$2" && pwd)
[ -f "$folder/libgomp.a" ] && exit 0
log="$folder/build.log"
: > "$log"
fail() { echo "build.sh: $1; see $log" >&2; exit 1; }

version=$(gcc -dumpversion | cut -d. -f1)
"$here/../debian_source.sh" "$folder" "gcc-$version" >> "$log" 2>&1 ||
  fail "cannot get the sources of gcc-$version"
mkdir -p "$folder/gcc" "$folder/built"
tar xf "$folder"/apt/gcc-*/gcc-*.tar.* -C "$folder/gcc" --strip 1 --wildcards \
  --no-wildcards-match-slash '*/libgomp' '*/config' '*/include' '*/gcc/BASE-VER' '*/gcc/DATESTAMP' \
  '*/libgcc/gthr*' '*/config-ml.in' '*/config.guess' '*/config.sub' '*/lt*' '*/libtool*' \
  '*/multilib.am' '*/install-sh' '*/missing' '*/depcomp' '*/compile' '*/mkinstalldirs'
rm -rf "$folder/apt" "$folder/gcc/libgomp/config/linux/x86/futex.h"

# A compiler in one word, as libtool wants it; without the last line of each program that runs.
printf '#!/bin/sh\nexec "%s/bin/syncopate" cc --machine=simulated "$@"\n' "$products" \
  > "$folder/cc"
chmod +x "$folder/cc"
export SYNCOPATE_QUIET=1
cd "$folder/built"
"$folder/gcc/libgomp/configure" CC="$folder/cc" CFLAGS='-O2 -g' --disable-shared --enable-static \
  --disable-multilib --disable-werror --disable-dependency-tracking >> "$log" 2>&1 ||
  fail "configure failed"
make -j2 >> "$log" 2>&1 || fail "make failed"
cp .libs/libgomp.a "$folder/libgomp.a.new"
mv "$folder/libgomp.a.new" "$folder/libgomp.a"
