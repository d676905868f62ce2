#!/bin/sh
# fetch.sh FOLDER 1.4.15|1.6.18 [SOURCES] -- puts that memcached, configured, into FOLDER/base, and
# the headers of libevent, where this system has none, into FOLDER/libevent. 1.4.15, the paper's, is
# cloned from the authors' repository, 1.6.18 is Debian's source package; SOURCES is a folder that
# holds the sources instead. Nothing when it is there already. 1.4.15 needs autoconf and automake.
set -eu
[ $# -ge 2 ] || { echo "usage: fetch.sh FOLDER VERSION [SOURCES]" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd) version=$2 sources=${3:-}
[ -f "$folder/base/config.h" ] && exit 0
log="$folder/fetch.log"
: > "$log"
fail() { echo "fetch.sh: $1; see $log" >&2; exit 1; }

get_sources() {
  if [ -n "$sources" ]; then
    cp -a "$sources" "$folder/base"
  elif [ "$version" = 1.4.15 ]; then
    git clone --quiet --depth 1 --branch 1.4.15 https://github.com/memcached/memcached \
      "$folder/base"
  else
    "$here/../debian_source.sh" "$folder" "memcached=$version-1" memcached &&
      mv "$folder"/apt/memcached-*/ "$folder/base"
  fi
}

# The headers alone: the library itself comes with Debian's package of memcached.
get_libevent() {
  echo '#include <event2/event.h>' | gcc -E - > /dev/null 2>&1 && return
  mkdir -p "$folder/libevent"
  (cd "$folder/libevent" && apt-get -q download libevent-dev && dpkg -x libevent-dev_*.deb . &&
    rm -f usr/lib/*/*.so)  # what is left to link with is the archive
}

rm -rf "$folder/base"
get_sources >> "$log" 2>&1 || fail "cannot get memcached $version; name a folder with its sources"
get_libevent >> "$log" 2>&1 || fail "cannot get libevent's headers (Debian's libevent-dev)"
cd "$folder/base"
if [ ! -x configure ]; then  # its own script looks for automakes of 2012
  printf 'm4_define([VERSION_NUMBER], [%s])\n' "$version" > version.m4
  (aclocal && autoheader && automake --foreign --add-missing && autoconf) >> "$log" 2>&1 ||
    fail "autoconf or automake failed"
fi
triplet=$(gcc -print-multiarch)
usr="$folder/libevent/usr"
./configure --disable-coverage --disable-docs CFLAGS='-O2 -g -w -fcommon' \
  CPPFLAGS="-I$usr/include -I$usr/include/$triplet" LDFLAGS="-L$usr/lib/$triplet" \
  >> "$log" 2>&1 || fail "configure failed"
