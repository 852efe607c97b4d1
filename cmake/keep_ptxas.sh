#!/bin/sh
# Runs nvcc and keeps what `-Xptxas -v` says (registers, shared memory, spills) in a file beside the object,
# named <object>.ptxas. Everything else that nvcc says is passed on.
object=
previous=
for argument in "$@"; do
  [ "$previous" = -o ] && object=$argument
  previous=$argument
done
[ -n "$object" ] || exec "$@"

log=$object.ptxas
"$@" 2>"$log.all"
status=$?
is_report='^ptxas info|^ +[0-9]+ bytes stack frame'
grep -E "$is_report" "$log.all" >"$log"
grep -vE "$is_report" "$log.all" >&2
rm -f "$log.all"
exit $status
