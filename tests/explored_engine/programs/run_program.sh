#!/bin/sh
# run_program.sh PROGRAM STATUS PATTERN [ARGUMENT]: the program ends with the status and says what the extended
# regular expression asks for; a failure repeats itself by the schedule that it prints.
program=$1 status=$2 pattern=$3
shift 3
text=$("$program" "$@" 2>&1)
got=$?
complain() {
  echo "$text"
  echo "$0: $1"
  exit 1
}
[ "$got" -eq "$status" ] || complain "exit status $got, not $status"
echo "$text" | grep -Eq -- "$pattern" || complain "does not say '$pattern'"
[ "$status" -eq 1 ] || exit 0
schedule=$(echo "$text" | sed -n "s/.*SYNCOPATE_SCHEDULE='\(.*\)'/\1/p")
text=$(SYNCOPATE_SCHEDULE=$schedule "$program" "$@" 2>&1)
got=$?
[ "$got" -eq 1 ] || complain "exit status $got with the schedule '$schedule', not 1"
echo "$text" | grep -Eq -- "$pattern" || complain "does not say '$pattern' with its schedule"
