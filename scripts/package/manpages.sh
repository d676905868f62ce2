#!/bin/sh
# Writes a manual page for the command line and for each of its commands, from their --help pages.
# Needs help2man.
# Usage: manpages.sh SYNCOPATE FOLDER      (SYNCOPATE: the command line; FOLDER: where they go)
set -eu
syncopate=$1 folder=$2
command -v help2man >/dev/null || {
  echo "manpages: please install help2man" >&2
  exit 1
}
mkdir -p "$folder"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
version=$("$syncopate" --version | cut -d' ' -f2)

# help2man knows a synopsis by its capital letter, and takes one line of it: what goes on in the next
# lines is joined, and another way to call the command is told by "or:".
cat >"$work/synopsis" <<'END'
NR == 1 && sub(/^usage:/, "Usage:") { usage = $0; next }
usage != "" && /^ +syncopate / { print usage; sub(/^ +/, "  or:  "); usage = $0; next }
usage != "" && /^ +[^ ]/ { sub(/^ +/, " "); usage = usage $0; next }
usage != "" { print usage; usage = "" }
{ print }
END
page() { # NAME SUMMARY COMMAND...
  name=$1 summary=$2
  shift 2
  printf '#!/bin/sh\n"%s" %s --help | awk -f "%s"\n' "$syncopate" "$*" "$work/synopsis" >"$work/$name"
  chmod +x "$work/$name"
  help2man --no-info --version-string="$version" --name="$summary" --manual="Syncopate" \
    --output="$folder/$name.1" "$work/$name"
  gzip -9nf "$folder/$name.1"
}

page syncopate "make multi-threaded programs wait less"
"$syncopate" --help | sed -n 's/^  \([a-z+]*\)  *\(.*\)$/\1 \2/p' |
  while read -r command summary; do
    page "syncopate-$command" "${summary%%;*}" "$command" </dev/null
  done
