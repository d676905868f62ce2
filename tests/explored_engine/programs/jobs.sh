#!/bin/sh
# jobs.sh PROGRAM: several processes say what one says: verdict, counts, failure, output. Who gets
# which part is another question each time, with few processes and with many.
program=$1
own=$SYNCOPATE_EXPLORE
one=$(SYNCOPATE_EXPLORE=$own "$program" 2>&1)
one_status=$?
for jobs in 2 3 8; do
  several=$(SYNCOPATE_EXPLORE=$own,jobs=$jobs,split=1 "$program" 2>&1)
  status=$?
  [ "$one" = "$several" ] && [ "$one_status" -eq "$status" ] && continue
  echo "one process, status $one_status: $one"
  echo "$jobs, status $status: $several"
  exit 1
done
