#!/bin/sh
# report.sh PROGRAM -- the statistics of reported.cpp, as tables and as JSON; options that are wrong.
fail() {
  echo "$*" >&2
  exit 1
}
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT

export SYNCOPATE_ELIDE=always
SYNCOPATE_STATS=1 "$1" 2> "$folder/text" || fail "the program failed"
expect() {
  grep -Eq -- "$1" "$folder/text" || {
    cat "$folder/text" >&2
    fail "the report has no line like: $1"
  }
}
expect ' < committed at reported.cpp:[0-9]+ .* 10 +100.0 %'
expect ' counts_under_a_mutex at reported.cpp:[0-9]+ < main at .* 5 +100.0 %'
expect ' < too_large at reported.cpp:[0-9]+ < main at'
expect '^ +write capacity +1 '
expect '^ +explicit 77 +1 '
expect '^ +library call of puts +1 '
expect '^ +1 +fought_over.left, .right +loses at reported.cpp:[0-9]+ +loses::lambda::lambda at'

SYNCOPATE_STATS="$folder/report.json" "$1" || fail "the program failed"
python3 - "$folder/report.json" << 'END' || fail "the JSON report is wrong"
import json
import sys

report = json.load(open(sys.argv[1]))
assert report["schema"] == "syncopate-emulated-report", report["schema"]
begins = sum(site["begins"] for site in report["transactions"])
commits = sum(site["commits"] for site in report["transactions"])
assert (begins, commits) == (20, 16), (begins, commits)
assert sum(site["fell_back"] for site in report["transactions"]) == 1
causes = {abort["cause"]: abort for abort in report["aborts"]}
assert set(causes) == {"write_capacity", "explicit", "library_call", "conflict"}, causes
assert causes["explicit"]["code"] == 77
(line,) = report["hot_lines"]
assert line["name"].startswith("fought_over") and line["conflicts"] == 1
assert "loses" in line["meetings"][0]["held_at"]
END

refuse() {
  SYNCOPATE_EMULATED="$1" "$2" 2> "$folder/text"
  [ $? = 2 ] || fail "SYNCOPATE_EMULATED=$1 is taken"
  expect "$3"
  [ "$(wc -l < "$folder/text")" = 1 ] || fail "SYNCOPATE_EMULATED=$1 takes more than a line"
}
refuse ways=x "$1" '^syncopate: SYNCOPATE_EMULATED: ways=x: needs a number from 1 to 255'
refuse way=8 "$1" "no option is named 'way'; do you mean ways\?"
refuse sets=4,sets=0 "$1" 'sets=0: needs a number'
refuse frobnicate "$1" "no option is named 'frobnicate'; there are: sets, ways"
