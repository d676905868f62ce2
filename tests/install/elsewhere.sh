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
refuses() { # COMMAND...: in one line, which says what is missing
  if as_user "$@" >said 2>&1; then fail "$* works without a compiler"; fi
  why="this installation has no .* syncopate has\|compiler 'g++' not found; "
  [ "$(wc -l <said)" = 1 ] && grep -q "^syncopate: \($why\)" said || {
    cat said
    fail "$* does not say in one line what is missing"
  }
}
# The kernel's view is root's, and this machine may lack what it takes.
try_kernel_view() { # SYNCOPATE
  if as_user "$1" record --kernel -- true >said 2>&1; then fail "the kernel's view for a user"; fi
  [ "$(wc -l <said)" = 1 ] && grep -q '^syncopate: ' said || { cat said; fail "no line says why"; }
  if [ -s no_kernel_view ]; then
    echo "kernel's view not tried: $(cat no_kernel_view)"
    return
  fi
  "$1" record --kernel -qo kernel.rec -- python3 threads.py >said 2>&1 || { cat said; exit 1; }
  grep -q '^left 0$' said || { cat said; fail "the program did not go on as it would"; }
  "$1" report kernel.rec >said 2>&1 || { cat said; exit 1; }
  grep -q '^process .*, seen from the kernel, .* 5 threads' said || { cat said; fail "not seen"; }
  if grep 'syncopate-names is missing' said; then exit 1; fi
  rm -rf kernel.rec
  echo "kernel's view: $(grep '^process ' said)"
}
# What Python's locks and conditions are called, whichever way this Python has them; a deadlock.
try_pythons_locks() { # SYNCOPATE
  as_user "$1" record -qo named.rec -- python3 known/named.py >said
  as_user "$1" report --json --top 99 named.rec >said
  for name in 'Lock of \(Cache\.\)\?\(get\|__init__\) at named\.py:[0-9]*' \
    'RLock of [^"]*\(use\|__init__\) at named\.py:[^"]*' \
    'RLock of [^"]* > Inner\.__init__:[0-9]*\|RLock of [^">]*' \
    '\(Event\.\)\?wait of awaits_event at named\.py:[0-9]*'; do
    grep -q "\"called\": \"\($name\)\"" said || { cat said; fail "no $name"; }
  done
  as_user "$1" record -qo idle.rec -- python3 known/idle.py locked >said
  says '^\(python3\|Thread-\)[^ ]* .*Lock of .* at idle\.py:.* semaphore lock ' "$1" report idle.rec
  [ "$(grep -c ' semaphore lock  *idle\.py:31 ' said)" = 2 ] || { cat said; fail "no two waits"; }
  python3 -c 'import _thread; exit(_thread.LockType.__basicsize__ <= 24)' || return 0
  grep -q 'a deadlock' said || { cat said; fail "no deadlock"; }
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
  try_pythons_locks "$command"
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
  says '^haswell-4c8t ' "$command" simulate --machines
  refuses "$command" simulate --machine haswell-4c8t program.cpp
  as_user "$command" calibrate --seconds 1 -o this.toml
  as_user "$command" record -qo locks.rec posix/mutex_exclusion >said
  says '^swap to mcs ' "$command" simulate --machine /tried/this.toml --from locks.rec
  refuses "$command" advise program.cpp
  try_kernel_view "$command"
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
  # By older C libraries themselves: to cancel a thread that has ended is an error there, and looking
  # up a function finds another version.
  case $(getconf GNU_LIBC_VERSION) in
    *\ 2.3[0-3]) others=" cond_cancel lookup" ;;
    *) others= ;;
  esac
  [ "$left_out" = "$others" ] || fail "not run here:$left_out; expected:${others:- none}"
}

python3 -m venv venv
begin=$(date +%s)
export PIP_CERT=/etc/ssl/certs/ca-certificates.crt  # of this system, also for older releases of pip
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

# Java's locks, by the agent that both have.
try_java() { # SYNCOPATE
  says '^done$' "$1" record -qo java.rec -- java -cp classes Waits
  says 'Object at Waits\.work' "$1" report java.rec
  grep -q "^process .*, Java's locks, told by its VM" said || { cat said; fail "no agent"; }
  rm -f java.rec*
}
apt-get -qq -o Acquire::Check-Valid-Until=false update
apt-get -qq --no-install-recommends install default-jre-headless >said 2>&1 </dev/null ||
  { cat said; fail "no Java to be had"; }
dpkg --install ./*.deb >said
try_java /tried/venv/bin/syncopate
try_java syncopate
dpkg --purge syncopate-native >said
echo "Java: $(java -version 2>&1 | head -1)"

# With a compiler, what is compiled for its machines, with OpenMP and with transactions.
apt-get -qq install g++ >said 2>&1 </dev/null || { cat said; fail "no g++ to be had"; }
if [ "$(g++ -dumpversion)" -ge 11 ]; then
  dpkg --install ./*.deb >said
  as_user sh compiled/all.sh /tried/venv/bin/syncopate /tried/made
  as_user sh compiled/all.sh /usr/bin/syncopate /tried/made_by_deb
else
  as_user venv/bin/syncopate check program.cpp >said 2>&1 && fail "an old compiler is not refused"
  grep -q '^syncopate c++: g++ is of version .* need GCC 11' said || { cat said; exit 1; }
  echo "compiled nothing: g++ $(g++ -dumpversion)"
fi
