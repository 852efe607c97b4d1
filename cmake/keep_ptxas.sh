#!/bin/sh
# Runs nvcc and keeps what `-Xptxas -v` says (registers, shared memory, spills) in a file beside the object,
# named <object>.ptxas, with the seconds that it took. Everything else that nvcc says is passed on.
object=
previous=
for argument in "$@"; do
  [ "$previous" = -o ] && object=$argument
  previous=$argument
done
[ -n "$object" ] || exec "$@"

log=$object.ptxas
start=$(date +%s%N)
"$@" 2>"$log.all"
status=$?
tenths=$((($(date +%s%N) - start + 50000000) / 100000000))
is_report='^ptxas info|^ +[0-9]+ bytes stack frame'
grep -E "$is_report" "$log.all" >"$log"
grep -vE "$is_report" "$log.all" >&2
echo "compiled in $((tenths / 10)).$((tenths % 10)) s" >>"$log"
rm -f "$log.all"
exit $status
