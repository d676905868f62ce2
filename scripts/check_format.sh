#!/bin/sh
# Checks how the sources look: C++ by clang-format and a hundred columns, which it leaves to comments,
# Python by ruff.
# Usage: check_format.sh PYTHON ROOT
set -eu
python=$1
cd "$2"
python_folders="syncopate scripts tests bench papers"
list=$(mktemp)
trap 'rm -f "$list"' EXIT
find bench include integrations papers products scripts src tests \
  \( -name '*.h' -o -name '*.cpp' \) -print0 >"$list"
[ "$(tr -cd '\0' <"$list" | wc -c)" -gt 1000 ] || { echo "no sources in $2" >&2; exit 1; }
right=yes
xargs -0 clang-format --dry-run -Werror <"$list" || right=
# shellcheck disable=SC2016  # for the inner shell
if LC_ALL=C.UTF-8 xargs -0 grep -nE '^.{101,}' <"$list"; then
  echo "these lines have more than a hundred columns" >&2
  right=
fi
# shellcheck disable=SC2086  # a list of folders
"$python" -m ruff check --no-cache --quiet $python_folders || right=
# shellcheck disable=SC2086
"$python" -m ruff format --no-cache --check --quiet $python_folders || right=
[ -n "$right" ]
