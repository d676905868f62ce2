#!/bin/sh
# What test_wheel_elsewhere.sh does in another system, as its root, in /tried.
set -eu
cd /tried
if command -v cc || command -v gcc; then exit 1; fi
fail() {
  echo "$*" >&2
  exit 1
}
chmod 777 .
as_user() { # COMMAND...: as an ordinary user, without what root's environment says
  setpriv --reuid=65534 --regid=65534 --clear-groups env -i HOME=/tried PATH=/usr/bin:/bin "$@"
}
says() { # PATTERN COMMAND...
  pattern=$1
  shift
  as_user "$@" >said 2>&1 || { cat said; fail "$* ended with $?"; }
  grep -q -- "$pattern" said || { cat said; fail "$* does not say '$pattern'"; }
}
refuses() { # COMMAND...: in one line, which names who has what is missing
  if as_user "$@" >said 2>&1; then fail "$* works without a compiler"; fi
  [ "$(wc -l <said)" = 1 ] && grep -q '^syncopate: this installation has no .* syncopate ha[sv]e* ' said || {
    cat said
    fail "$* does not say in one line what is missing"
  }
}
try_all() { # SYNCOPATE: every command, and what needs a compiler
  command=$1
  rm -f ./*.rec
  says '^syncopate [0-9]' "$command" --version
  as_user "$command" run true
  says '^left 0$' "$command" record -o threads.rec -- python3 threads.py
  says '^process .*, lock futex' "$command" report threads.rec
  says '5 threads' "$command" report threads.rec
  if grep 'syncopate-names is missing' said; then exit 1; fi
  says '^left 0$' "$command" run --lock mcs -- python3 threads.py
  printf 'schema = "syncopate-policy"\nversion = 1\n[default]\nlock = "ticket"\n' >policy.toml
  says '^left 0$' "$command" run --policy policy.toml -- python3 threads.py
  says '^ticket ' "$command" list
  says 'processors' "$command" doctor
  for shell in bash zsh fish; do says record "$command" completion $shell; done
  echo 'int main() {}' >program.cpp
  refuses "$command" check program.cpp
  refuses "$command" simulate program.cpp
  refuses "$command" c++ --machine=simulated program.cpp
  refuses "$command" check ticket
  refuses "$command" simulate --machines
  refuses "$command" simulate --machine haswell-4c8t program.cpp
  refuses "$command" simulate --from threads.rec
  refuses "$command" advise program.cpp
  refuses "$command" record --kernel -- true
  passed=0 left_out=
  for program in posix/*; do
    # What is right there, that C library says by itself.
    if ! as_user timeout 120 "$program" >said 2>&1; then
      left_out="$left_out ${program#posix/}"
      continue
    fi
    passed=$((passed + 1))
    for lock in auto mcs ticket:park; do
      as_user timeout 120 "$command" run --lock $lock "$program" >said 2>&1 ||
        { cat said; fail "$program under $lock: $?"; }
    done
    as_user timeout 120 "$command" record -qo posix.rec "$program" >said 2>&1 ||
      { cat said; fail "$program while recording: $?"; }
    [ -s posix.rec ] || fail "$program left no record"
    rm -f posix.rec*
  done
  echo "passed: $passed programs with $command; not without it:${left_out:- none}"
  [ "$passed" -gt $((3 * $(echo "$left_out" | wc -w))) ] || fail "too many do not run here"
}

python3 -m venv venv
begin=$(date +%s)
venv/bin/python -m pip install --quiet --disable-pip-version-check ./*.whl
as_user venv/bin/syncopate record -qo first.rec -- python3 threads.py
echo "installed and recorded in $(($(date +%s) - begin)) s"
try_all /tried/venv/bin/syncopate
# What needs no Python starts none.
cp venv/bin/syncopate-command command
printf '#!/bin/sh\nexit 77\n' >venv/bin/syncopate-command
as_user venv/bin/syncopate run true
cp command venv/bin/syncopate-command

find / -xdev -path /proc -prune -o -path /tried -prune -o -path /var -prune -o -print | sort >before
dpkg --install ./*.deb
try_all syncopate
[ -s /usr/share/man/man1/syncopate-run.1.gz ] || [ ! -d /usr/share/man ] || fail "no manual pages"
dpkg --purge syncopate-native
find / -xdev -path /proc -prune -o -path /tried -prune -o -path /var -prune -o -print | sort >after
cmp before after || { diff before after; fail "removing it left something"; }
