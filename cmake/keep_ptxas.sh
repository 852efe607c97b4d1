#!/bin/sh
# Runs nvcc and keeps, beside the object, what else it makes:
#   <object>.ptxas    what `-Xptxas -v` says (registers, shared memory, spills), and the seconds that it took
#   <object>.ptx      the PTX, so that tests that read or run it need no compilation of their own
# Everything else that nvcc says is passed on. PTX is kept of objects for one architecture: with several, their
# files would have one name.
object=
previous=
architectures=0
for argument in "$@"; do
  [ "$previous" = -o ] && object=$argument
  case $argument in --generate-code=* | arch=compute_*) architectures=$((architectures + 1)) ;; esac
  previous=$argument
done
[ -n "$object" ] || exec "$@"

log=$object.ptxas
rm -f "$object.ptx"
if [ "$architectures" = 1 ]; then
  kept=$object.kept
  mkdir -p "$kept"
  set -- "$@" --keep --keep-dir "$kept"
fi
start=$(date +%s%N)
"$@" 2>"$log.all"
status=$?
tenths=$((($(date +%s%N) - start + 50000000) / 100000000))
is_report='^ptxas info|^ +[0-9]+ bytes stack frame'
grep -E "$is_report" "$log.all" >"$log"
grep -vE "$is_report" "$log.all" >&2
echo "compiled in $((tenths / 10)).$((tenths % 10)) s" >>"$log"
rm -f "$log.all"
if [ -n "${kept:-}" ]; then
  [ $status -eq 0 ] && mv "$kept"/*.ptx "$object.ptx"
  rm -rf "$kept"
fi
exit $status
