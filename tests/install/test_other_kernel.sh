#!/bin/sh
# Boots the newest kernel of a Debian release in a virtual machine of two processors, emulated in
# software, with Debian 12 and this build in it, and runs there what asks kernels for something: locks
# that sleep, recording, the kernel's view, time slices that it may extend.
# Usage: test_other_kernel.sh SOURCE_DIR PRODUCTS_DIR POSIX_PROGRAMS_DIR RELEASE
set -eu
source=$1 products=$2 programs=$3 release=$4
[ "$(id -u)" = 0 ] || { echo "this needs root's rights, for debootstrap" >&2; exit 1; }
for tool in debootstrap qemu-system-x86_64 cpio; do
  command -v $tool >/dev/null || { echo "this needs $tool" >&2; exit 1; }
done
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 1' INT TERM HUP
fail() {
  echo "$*" >&2
  [ ! -e "$work/said" ] || tail -60 "$work/said" >&2
  exit 1
}
system=$work/system

# The kernel's package, by lists of its own: this system's stay as they are.
of_release() { # get | cache, WORD...
  command=apt-$1
  shift
  $command -q -q -o Dir::Etc::sourcelist="$work/its.list" -o Dir::Etc::sourceparts=/dev/null \
    -o Dir::State="$work/state" -o Dir::State::status=/dev/null -o Dir::Cache="$work/cache" \
    -o APT::Sandbox::User= "$@" </dev/null
}
mkdir -p "$work/state/lists/partial" "$work/cache/archives/partial"
keys=/usr/share/keyrings/debian-archive-keyring.gpg
echo "deb [signed-by=$keys] http://deb.debian.org/debian $release main" >"$work/its.list"
of_release get update || fail "no list of Debian $release"
newest=$(of_release cache pkgnames linux- | grep -E '^linux-(binary|image)-[0-9].*-cloud-amd64$' |
  sort -t- -k3 -V | tail -1)
[ -n "$newest" ] || fail "Debian $release has no linux-image-*-cloud-amd64"
(cd "$work" && of_release get download "$newest") || fail "no $newest from Debian"
dpkg-deb -x "$work"/linux-*.deb "$work/kernel"

debootstrap --variant=minbase --include=python3,python3-rich,libdw1,libbpf1,libhwloc15,binutils \
  bookworm "$system" >"$work/said" 2>&1 || fail "no Debian 12"
rm -rf "$system"/var/cache/apt "$system"/var/lib/apt/lists "$system"/usr/share/doc

# At the same place, where the command looks for its Python.
mkdir -p "$system$products/venv/bin" "$system$source" "$system/posix"
cp -r "$source/syncopate" "$system$source"
for part in bin lib libexec share; do cp -a "$products/$part" "$system$products"; done
rm -f "$system$products"/lib/libsyncopate-[cesm]*.so  # modeled machines
ln -s /usr/bin/python3 "$system$products/venv/bin/python"
tried="mutex_exclusion mutex_robust mutex_timed cond_basic cond_timed rwlock_stress semaphore barrier
  fork signals std"
for each in $tried; do cp "$programs/posix_$each" "$system/posix/"; done
cp "$source/tests/install/threads.py" "$system/"
cat >"$system/init" <<END
#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root CHECK_SECONDS=900 TERM=dumb COLUMNS=100
mount -t proc proc /proc && mount -t sysfs sys /sys && mount -t devtmpfs dev /dev
mkdir -p /dev/shm && mount -t tmpfs tmpfs /dev/shm
mount -t tracefs tracefs /sys/kernel/tracing
cd /tmp
try() { # WHAT COMMAND...
  what=\$1
  shift
  "\$@" && echo "tried \$what" || echo "failed: \$what: \$?"
}
PATH=$products/bin:\$PATH
uname -r
for each in $(echo $tried); do
  for lock in auto mcs ticket:park; do
    try "\$each under \$lock" syncopate run --lock \$lock /posix/posix_\$each
  done
  try "\$each while recording" syncopate record -qo /tmp/posix.rec /posix/posix_\$each
  rm -f /tmp/posix.rec*
done
try slices syncopate run -v --preempted-holders --lock tatas:spin /posix/posix_mutex_exclusion
try recording syncopate record -o /tmp/own.rec -- python3 /threads.py
try report syncopate report /tmp/own.rec
try "kernel's view" syncopate record --kernel -o /tmp/kernel.rec -- python3 /threads.py
try "kernel's report" syncopate report /tmp/kernel.rec
try doctor syncopate doctor
echo "all was tried"
echo o >/proc/sysrq-trigger
sleep 60
END
chmod +x "$system/init"
(cd "$system" && find . | cpio -o -H newc --quiet) >"$work/system.cpio"
timeout 3000 qemu-system-x86_64 -accel tcg -cpu max -smp 2 -m 3G -nographic -no-reboot \
  -kernel "$(find "$work/kernel" -name 'vmlinuz*' -type f)" -initrd "$work/system.cpio" \
  -append "console=ttyS0 quiet panic=-1" </dev/null >"$work/said" 2>&1 ||
  fail "the virtual machine ended with $?"
tr -d '\r' <"$work/said" >"$work/text"
grep -q '^all was tried' "$work/text" || fail "the virtual machine did not come to the end"
if grep '^failed: ' "$work/text"; then fail "not all that was tried works"; fi
count=$(grep -c '^tried ' "$work/text")
[ "$count" = $(($(echo "$tried" | wc -w) * 4 + 6)) ] || fail "$count things were tried"
grep -q 'kernel extended time slices\|this kernel does not extend time slices' "$work/text" ||
  fail "nothing is said of time slices"
grep -q '^process .*, its own locks, seen from the kernel' "$work/text" || fail "no kernel's view"
grep -q '^the GIL: ' "$work/text" || fail "the kernel's view does not find the lock"
echo "${newest#linux-*-}: $count things tried"
