#!/bin/sh
# A compiler for CMake: GCC compiles, and zig links against the symbol versions of an old C library,
# so that what comes out runs wherever that one or a newer one is. A name that the old one lacks is
# an error of the link, unless src/compat has it. GCC's own libraries are linked in.
#
# -shared-libgcc says that the C++ library and the unwinder have to be the program's. There GNU's
# linker links, since zig's knows neither versions of these two nor -Ttext-segment; zig's stubs of the
# old C library stand in for this one, and libstdc++_new.a has what an old C++ library lacks.
# Usage: as g++ or gcc, with SYNCOPATE_GCC (the real one), ZIG (a command),
# ZIG_TARGET (for example x86_64-linux-gnu.2.28) and ZIG_STUBS (old_glibc_stubs.sh) in the
# environment.
set -eu
links=
for word in "$@"; do
  case $word in
    -c | -E | -S | -M | -MM) exec "$SYNCOPATE_GCC" "$@" ;;
    *.o | *.a | *.cpp | *.c) links=yes ;;
  esac
done
[ -n "$links" ] || exec "$SYNCOPATE_GCC" "$@"

archive() { "$SYNCOPATE_GCC" -print-file-name="$1"; }
standard_library=$(archive libstdc++.a)
kind=-pie
programs=
count=$#
while [ "$count" -gt 0 ]; do
  word=$1
  shift
  count=$((count - 1))
  case $word in
    -shared) kind=-shared ;;
    -nodefaultlibs) standard_library= ;;
    -shared-libgcc) programs=yes ;;
    -static-lib* | -lgcc | -lgcc_eh | -lgcc_s | -lstdc++ | -lc) ;;
    -rdynamic | -Wl,--exclude-libs,ALL) ;;
    -Wall | -Wextra | -Werror | -std=* | -mcx16 | -g) ;;
    *.cpp | *.c) # a test of CMake's
      "$SYNCOPATE_GCC" -fPIC -c "$word" -o "${word##*/}.o"
      set -- "$@" "${word##*/}.o"
      ;;
    *) set -- "$@" "$word" ;;
  esac
done
if [ -n "$programs" ]; then
  begin=$(archive crtbeginS.o) end=$(archive crtendS.o)
  [ $kind = -shared ] || begin="$ZIG_STUBS/Scrt1.o $begin"
  # A machine asks for timers by name: before glibc 2.34 they are in a library of their own.
  # shellcheck disable=SC2086  # lists, which may be empty
  exec "$SYNCOPATE_GCC" $kind -nostdlib "$(archive crti.o)" $begin "$@" \
    -Wl,--allow-shlib-undefined,--no-as-needed "$ZIG_STUBS/librt.so.1" -Wl,--as-needed \
    ${standard_library:+"$ZIG_STUBS/libstdc++_new.a" "$(archive libstdc++.so)"} \
    "$(archive libgcc_s.so.1)" "$(archive libgcc.a)" "$ZIG_STUBS"/lib*.so.* \
    "$ZIG_STUBS/libc_nonshared.a" "$end" "$(archive crtn.o)"
fi
# Word splitting is wanted: a command, and a list of archives that may be empty.
# shellcheck disable=SC2086
exec $ZIG cc -target "$ZIG_TARGET" $kind "$@" $standard_library \
  "$(archive libgcc.a)" "$(archive libgcc_eh.a)"
