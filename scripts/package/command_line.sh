#!/bin/sh
# Installs the Python command, its manual pages (where help2man is) and its completions below a
# prefix that has the libraries. Prints each file that it has written, as it will be seen after moving the
# prefix's parent away from DESTDIR.
# Usage: command_line.sh SYNCOPATE PYTHON PREFIX LIBDIR      (SYNCOPATE: the build's command line;
#   PYTHON: the interpreter that the installed one starts; PREFIX: without DESTDIR, which is obeyed)
set -eu
command_line=$1 interpreter=$2 prefix=$3 libdir=$4
cd "$(dirname "$0")/../.."
root=${DESTDIR:-}$prefix

# The Python package finds the native parts below _native, as it does in a wheel.
python=$root/share/syncopate/python
rm -rf "$python"
find syncopate -type f ! -name '*.pyc' ! -name '*.in' | while read -r file; do
  install -D -m 644 "$file" "$python/$file"
done
mkdir "$python/syncopate/_native"
for part in bin include share libexec; do
  ln -s "../../../../../$part" "$python/syncopate/_native/$part"
done
ln -s "../../../../../$libdir" "$python/syncopate/_native/lib"
mkdir -p "$root/libexec/syncopate"
cat >"$root/libexec/syncopate/command" <<END
#!$interpreter -ISB
# What bin/syncopate does not do by itself; it calls this by its real path.
# -I: the program's PYTHON* variables are not for us. -S: \`site\` is imported only when needed.
import sys

sys.path.insert(0, __file__.rpartition("/")[0] + "/../../share/syncopate/python")
from syncopate.__main__ import main

sys.exit(main())
END
chmod 755 "$root/libexec/syncopate/command"

pages=
if command -v help2man >/dev/null; then
  pages=share/man/man1
  scripts/package/manpages.sh "$command_line" "$root/$pages"
else
  echo "command_line: no manual pages, since help2man is not installed" >&2
fi
complete() { # SHELL FILE
  mkdir -p "$(dirname "$root/share/$2")"
  "$command_line" completion "$1" >"$root/share/$2"
}
complete bash bash-completion/completions/syncopate
complete zsh zsh/vendor-completions/_syncopate
complete fish fish/vendor_completions.d/syncopate.fish

cd "$root"
find share/syncopate/python libexec/syncopate/command share/bash-completion/completions/syncopate \
  share/zsh/vendor-completions/_syncopate share/fish/vendor_completions.d/syncopate.fish \
  ${pages:+"$pages"} ! -type d \( ! -path 'share/man/*' -o -name 'syncopate*' \) |
  while read -r file; do
    echo "$prefix/$file"
  done
