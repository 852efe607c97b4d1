#!/usr/bin/env bash
# Runs the four tools of compute-sanitizer, all at a time: each must find the mistake planted for it, and none in
# the programs.
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
logs=$(mktemp -d) || exit 1
trap 'rm -rf "$logs"' EXIT

# judge TOOL PROGRAM ARGS...: what one tool says, as it comes.
judge() {
  local tool=$1 log="$logs/$1.log" failed=0 status program
  shift
  "$tool_path" --tool "$tool" --error-exitcode $found "$controls" "$tool" >"$log" 2>&1
  status=$?
  if grep -q '^skipped' "$log"; then
    grep '^skipped' "$log"
    return 77
  fi
  if [ $status -eq $found ]; then
    echo "$tool: finds its control: $(grep -m1 -E '^========= +(Error|Warning|Invalid|Barrier|Race|Uninitialized)' "$log")"
  else
    echo "$tool: FAILED to find its control (status $status)"
    failed=1
  fi
  for program in "$@"; do
    local began=$SECONDS
    # shellcheck disable=SC2086  # a program and its arguments
    "$tool_path" --tool "$tool" --error-exitcode $found $program >"$log" 2>&1
    status=$?
    echo "$tool: status $status, $(grep 'ERROR SUMMARY\|RACECHECK SUMMARY' "$log" | tail -1 | tr -d '='): $program," \
      "$((SECONDS - began)) s"
    [ $status -eq 0 ] || { failed=1; tail -40 "$log"; }
  done
  return $failed
}

tools=(memcheck racecheck synccheck initcheck)
judges=()
for tool in "${tools[@]}"; do
  judge "$tool" "$@" &
  judges+=($!)
done
worst=0
for judge in "${judges[@]}"; do
  wait "$judge"
  status=$?
  [ $status -eq 0 ] || [ $worst -eq 1 ] || worst=$status
done
exit $worst
