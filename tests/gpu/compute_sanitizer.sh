#!/usr/bin/env bash
# Runs the four tools of compute-sanitizer: each must find the mistake planted for it, and none in the programs.
#
#   compute_sanitizer.sh SANITIZER_CONTROLS 'PROGRAM ARGS...'...
set -uo pipefail
tool_path=$(command -v compute-sanitizer) || { echo "skipped: there is no compute-sanitizer on the PATH"; exit 77; }
if [ $# -lt 1 ]; then
  echo "usage: $0 SANITIZER_CONTROLS 'PROGRAM ARGS...'..." >&2
  exit 2
fi
controls=$1
shift
found=99  # the status that stands for a finding
failed=0
for tool in memcheck racecheck synccheck initcheck; do
  "$tool_path" --tool "$tool" --error-exitcode $found "$controls" "$tool" >control.log 2>&1
  status=$?
  if grep -q '^skipped' control.log; then
    grep '^skipped' control.log
    exit 77
  fi
  if [ $status -eq $found ]; then
    echo "$tool: finds its control: $(grep -m1 -E '^========= +(Error|Warning|Invalid|Barrier|Race|Uninitialized)' control.log)"
  else
    echo "$tool: FAILED to find its control (status $status)"
    failed=1
  fi
  for program in "$@"; do
    # shellcheck disable=SC2086  # a program and its arguments
    "$tool_path" --tool "$tool" --error-exitcode $found $program >program.log 2>&1
    status=$?
    echo "$tool: status $status, $(grep 'ERROR SUMMARY\|RACECHECK SUMMARY' program.log | tail -1 | tr -d '='): $program"
    [ $status -eq 0 ] || { failed=1; tail -40 program.log; }
  done
done
exit $failed
