#!/bin/sh
# Makes a wheel of the native component that installs without a compiler wherever there are Python
# and glibc 2.28 or newer: GCC compiles it, zig links it against that version's symbols, and
# auditwheel has to agree. It has what `run`, `record`, `report`, `tune`, `top` and `diff` need; not
# the recorder of the kernel's view and syncopate-names, which need libraries beside glibc, nor the
# modeled machines.
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

# zig, auditwheel and what builds wheels, in an environment of their own: most builds need none.
tools=$PWD/build/venv-wheel
if ! cmp -s scripts/package/wheel-requirements.txt "$tools/requirements.txt"; then
  python3 -m venv "$tools"
  "$tools/bin/python" -m pip install --quiet --disable-pip-version-check \
    -r scripts/package/wheel-requirements.txt </dev/null || fail "no network to get zig from"
  cp scripts/package/wheel-requirements.txt "$tools/requirements.txt"
fi

arguments="-DSYNCOPATE_COMPONENTS=native -DSYNCOPATE_PORTABLE=ON"
arguments="$arguments -DCMAKE_CXX_COMPILER=$PWD/scripts/package/old_glibc_cxx.sh"
case $architecture in
  "$(uname -m)") prefix= ;;
  aarch64)
    prefix=aarch64-linux-gnu-
    arguments="$arguments -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64"
    arguments="$arguments -DCMAKE_CROSSCOMPILING_EMULATOR=qemu-aarch64;-L;/usr/aarch64-linux-gnu"
    ;;
  *) fail "$architecture: x86_64 or aarch64" ;;
esac
for tool in "${prefix}g++" cmake ninja ${prefix:+qemu-aarch64}; do
  command -v "$tool" >/dev/null || fail "please install $tool"
done
SYNCOPATE_GCC=$(command -v "${prefix}g++")
ZIG="$tools/bin/python -m ziglang"
ZIG_TARGET=$architecture-linux-gnu.$glibc
_PYTHON_HOST_PLATFORM=linux-$architecture
CMAKE_ARGS="$arguments -DCMAKE_C_COMPILER=$(command -v "${prefix}gcc")"
export SYNCOPATE_GCC ZIG ZIG_TARGET _PYTHON_HOST_PLATFORM CMAKE_ARGS

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$tools/bin/python" -m pip wheel --quiet --disable-pip-version-check --no-deps \
  --no-build-isolation --config-settings=build-dir="build/wheel-$architecture" \
  --config-settings=install.components=runtime --config-settings=install.strip=true \
  --wheel-dir "$work" . </dev/null
platform=manylinux_$(echo $glibc | tr . _)_$architecture
PATH=$tools/bin:$PATH auditwheel repair --plat "$platform" --wheel-dir "$work/repaired" \
  "$work"/*.whl >"$work/log" 2>&1 || {
  cat "$work/log" >&2
  fail "auditwheel does not agree"
}
for wheel in "$work"/repaired/*.whl; do
  mv "$wheel" "$output"
  echo "$output/${wheel##*/}"
done
