#!/bin/sh
# jobs.sh PROGRAM: several processes say what one says: verdict, counts, failure, output.
program=$1
own=$SYNCOPATE_EXPLORE
one=$(SYNCOPATE_EXPLORE=$own "$program" 2>&1)
one_status=$?
several=$(SYNCOPATE_EXPLORE=$own,jobs=3,split=1 "$program" 2>&1)
status=$?
[ "$one" = "$several" ] && [ "$one_status" -eq "$status" ] && exit 0
echo "one process, status $one_status: $one"
echo "several, status $status: $several"
exit 1
