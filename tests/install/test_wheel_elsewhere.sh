#!/bin/sh
# Installs the portable wheel in a fresh Debian of another release, which has Python and no
# compiler, and records a program with threads there.
# Usage: test_wheel_elsewhere.sh FOLDER_OF_THE_WHEEL RELEASE
set -eu
wheel=$(ls "$1"/syncopate-*manylinux*_"$(uname -m)".whl) release=$2
[ "$(id -u)" = 0 ] || { echo "this needs root's rights, for chroot" >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "this needs debootstrap" >&2; exit 1; }
work=$(mktemp -d)
system=$work/system tried=$work/system/tried
leave() {
  umount "$system/proc" 2>/dev/null || true
  rm -rf --one-file-system "$work"
}
trap leave EXIT
trap 'exit 1' INT TERM HUP

debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates "$release" "$system" \
  >"$work/log" 2>&1 || { tail -5 "$work/log" >&2; exit 1; }
mount -t proc proc "$system/proc"
mkdir "$tried"
cp "$wheel" "$tried/"
cp /etc/resolv.conf "$system/etc/"
# Who has certificates of their own has them there, too.
cp /etc/ssl/certs/ca-certificates.crt "$system/etc/ssl/certs/"
cat >"$tried/threads.py" <<'END'
import threading

lock = threading.Lock()
left = [20000] * 4

def work(own):
    while left[own]:
        with lock:
            left[own] -= 1

threads = [threading.Thread(target=work, args=(own,)) for own in range(4)]
for each in threads:
    each.start()
for each in threads:
    each.join()
print("left", sum(left))
END
chroot "$system" sh -eu -c '
  cd /tried
  if command -v cc || command -v gcc; then exit 1; fi
  python3 -m venv venv
  begin=$(date +%s)
  venv/bin/python -m pip install --quiet --disable-pip-version-check ./*.whl
  venv/bin/syncopate record -o threads.rec -- python3 threads.py
  echo "installed and recorded in $(($(date +%s) - begin)) s"
  venv/bin/syncopate report threads.rec
  venv/bin/syncopate run --lock mcs -- python3 threads.py
  venv/bin/syncopate list' >"$work/said" 2>&1 || { cat "$work/said" >&2; exit 1; }
for line in '^left 0$' '^installed and' '^process .*, lock futex' '^ticket ' '5 threads'; do
  grep -q -- "$line" "$work/said" || { echo "no line '$line':"; cat "$work/said"; exit 1; } >&2
done
if grep 'syncopate-names is missing' "$work/said"; then exit 1; fi
grep '^installed' "$work/said"
