#!/bin/sh
# Makes a wheel that installs without a compiler wherever there are Python and glibc 2.28 or newer:
# GCC compiles it, it is linked against that version's symbols (old_glibc_cxx.sh), and auditwheel has
# to agree. It has all that is installed with `pip install .`; the libraries that this takes beside
# glibc are linked in. Modeled machines, transactions and the kernel's view are for x86_64.
# Usage: wheel.sh OUTPUT_FOLDER [x86_64 | aarch64]
set -eu
cd "$(dirname "$0")/../.."
mkdir -p "$1"
output=$(cd "$1" && pwd)
architecture=${2:-$(uname -m)}
glibc=2.28
fail() {
  echo "wheel: $*" >&2
  exit 1
}

# get_archives ARCHITECTURE FOLDER: what syncopate-names is linked with there, from Debian's packages
# of that architecture, which need not be installed.
get_archives() {
  [ ! -e "$2/lib/libdw.a" ] || return 0
  rm -rf "$2" && mkdir -p "$2/state/lists/partial" "$2/cache/archives/partial" "$2/root" "$2/lib"
  (
    cd "$2"
    for step in update "download libdw-dev libelf-dev libbz2-dev liblzma-dev zlib1g-dev"; do
      # shellcheck disable=SC2086  # a command and its words
      apt-get -qq -o Dir::State="$PWD/state" -o Dir::State::status=/dev/null \
        -o Dir::Cache="$PWD/cache" -o APT::Architecture="$1" -o APT::Architectures="$1" \
        -o APT::Sandbox::User= $step </dev/null
    done
    for package in *.deb; do dpkg-deb -x "$package" root; done
    mv root/usr/include . && mv root/usr/lib/*/*.a lib
    rm -rf root state cache ./*.deb
  ) || fail "no $1 packages from Debian"
}

# zig, auditwheel and what builds wheels, in an environment of their own: most builds need none.
tools=$PWD/build/venv-wheel
if ! cmp -s scripts/package/wheel-requirements.txt "$tools/requirements.txt"; then
  python3 -m venv "$tools"
  "$tools/bin/python" -m pip install --quiet --disable-pip-version-check \
    -r scripts/package/wheel-requirements.txt </dev/null || fail "no network to get zig from"
  cp scripts/package/wheel-requirements.txt "$tools/requirements.txt"
fi

arguments="-DSYNCOPATE_PORTABLE=ON"
components=runtime
libraries=hwloc
arguments="$arguments -DCMAKE_CXX_COMPILER=$PWD/scripts/package/old_glibc_cxx.sh"
case $architecture in
  "$(uname -m)") prefix= ;;
  aarch64)
    prefix=aarch64-linux-gnu-
    arguments="$arguments -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64"
    arguments="$arguments -DCMAKE_CROSSCOMPILING_EMULATOR=qemu-aarch64;-L;/usr/aarch64-linux-gnu"
    get_archives arm64 build/archives-arm64
    arguments="$arguments -DSYNCOPATE_ARCHIVES=$PWD/build/archives-arm64/lib"
    arguments="$arguments -DSYNCOPATE_DW_INCLUDE=$PWD/build/archives-arm64/include"
    ;;
  *) fail "$architecture: x86_64 or aarch64" ;;
esac
if [ "$architecture" = x86_64 ]; then
  components="runtime;machines"
  libraries="elfutils libbpf hwloc"
fi
static=$PWD/build/static-$architecture
# shellcheck disable=SC2086  # several words
scripts/package/static_libraries.sh "$static" "$prefix" $libraries || fail "a library is missing"
arguments="$arguments -DSYNCOPATE_STATIC=$static"
clang=$([ -n "$prefix" ] || echo clang)
for tool in "${prefix}g++" cmake ninja ${prefix:+qemu-aarch64} $clang; do
  command -v "$tool" >/dev/null || fail "please install $tool"
done
SYNCOPATE_GCC=$(command -v "${prefix}g++")
ZIG="$tools/bin/python -m ziglang"
ZIG_TARGET=$architecture-linux-gnu.$glibc
_PYTHON_HOST_PLATFORM=linux-$architecture
CMAKE_ARGS="$arguments -DCMAKE_C_COMPILER=$(command -v "${prefix}gcc")"
CCACHE_NAMESPACE=$architecture # to a cache it is one compiler for all
ZIG_STUBS=$PWD/build/stubs-$architecture
export SYNCOPATE_GCC ZIG ZIG_TARGET ZIG_STUBS _PYTHON_HOST_PLATFORM CMAKE_ARGS CCACHE_NAMESPACE
scripts/package/old_glibc_stubs.sh "$ZIG_STUBS" || fail "no stubs of glibc $glibc"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$tools/bin/python" -m pip wheel --quiet --disable-pip-version-check --no-deps \
  --no-build-isolation --config-settings=build-dir="build/wheel-$architecture" \
  "--config-settings=install.components=$components" --config-settings=install.strip=true \
  --wheel-dir "$work" . </dev/null
platform=manylinux_$(echo $glibc | tr . _)_$architecture
# auditwheel knows the platforms of the machine it runs on; it asks nothing else of the machine.
judge="import platform, sys; platform.machine = lambda: '$architecture'; import auditwheel.main"
PATH=$tools/bin:$PATH "$tools/bin/python" -c "$judge; sys.exit(auditwheel.main.main())" \
  repair --plat "$platform" --wheel-dir "$work/repaired" "$work"/*.whl >"$work/log" 2>&1 || {
  cat "$work/log" >&2
  fail "auditwheel does not agree"
}
for wheel in "$work"/repaired/*.whl; do
  mv "$wheel" "$output"
  echo "$output/${wheel##*/}"
done
