#!/bin/sh
# Checks that a preload library can be loaded into any program: it needs nothing but libc, its
# thread-locals fit the surplus that the dynamic linker keeps for libraries loaded at run time, it
# does not take the place of the program's C++ library (operator new), and what it takes of the C
# library it does not call itself by that name: a lock that is about to be taken would come back
# through the program's call, and look for the C library's, which may allocate.
# Usage: check_preload_library.sh LIBRARY
set -eu
library=$1
tls_limit=1024

needed=$(readelf -dW "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
for name in $needed; do
  case $name in
    libc.so.6 | ld-linux*) ;;
    *) echo "$library needs $name; it may need libc only" >&2; exit 1 ;;
  esac
done

tls=$(readelf -lW "$library" | awk '$1 == "TLS" { print $6 }')
tls=$((${tls:-0}))
if [ "$tls" -ge "$tls_limit" ]; then
  echo "$library has $tls bytes of thread-locals; the limit is $tls_limit" >&2
  exit 1
fi

if ! readelf -dW "$library" | grep -q 'SONAME.*\.so\.[0-9]'; then
  echo "$library has no versioned SONAME" >&2
  exit 1
fi
# Transactions' forms of operator new and delete (_ZGTt...) are libitm's own names.
names=$(nm -D --defined-only "$library" | sed -n '/ _ZGTt.*@@LIBITM/d; s/.* \(_Z.*\)/\1/p')
if [ -n "$names" ]; then
  echo "$library exports names of C++, which programs would find in place of their own:" $names >&2
  exit 1
fi
called=$(readelf -rW "$library" | awk '/JUMP_SLO|GLOB_DAT/ { sub(/@.*/, "", $5); print $5 }' | sort -u)
# But objects of one kind are made of others (C11's of pthread's), and each library's end calls
# __cxa_finalize.
for name in $(nm -D --defined-only "$library" | awk '{ sub(/@.*/, "", $3); print $3 }' | sort -u); do
  case $name in pthread_* | syncopate_* | omp_* | GOMP_* | __kmpc_* | _ITM_* | __cxa_finalize) continue ;; esac
  for each in $called; do
    [ "$each" != "$name" ] || { echo "$library calls $name, which it takes itself" >&2; exit 1; }
  done
done
echo "needs: $(echo $needed); thread-locals: $tls bytes"
