#!/bin/sh
# cc.sh ARGUMENTS -- gcc, which writes its folder and its arguments, a line each, into a new file of
# the folder $REWRITTEN_LOG, where that is set; behind the arguments come those in the file
# $REWRITTEN_FLAGS, but for the files that $REWRITTEN_PLAIN names.
if [ -n "${REWRITTEN_LOG:-}" ]; then
  printf '%s\n' "$PWD" "$@" > "$(mktemp "$REWRITTEN_LOG/XXXXXXXX")"
fi
for word in "$@"; do
  for plain in ${REWRITTEN_PLAIN:-}; do
    case $word in "$plain" | */"$plain") exec gcc "$@" ;; esac
  done
done
exec gcc "$@" ${REWRITTEN_FLAGS:+"@$REWRITTEN_FLAGS"}
