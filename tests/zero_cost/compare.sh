#!/bin/bash
# Compiles the kernels of <prefix>with_handles.cu and <prefix>by_hand.cu and compares them, kernel by kernel: PTX
# instructions, machine instructions and registers. Handles must not need more of any. Called as
#   compare.sh <prefix> <nvcc> <architecture> <folder for outputs> <option>...
set -euo pipefail
prefix=$1 nvcc=$2 arch=$3 out=$4
shift 4
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"

# Statements of one kernel: not declarations, labels, comments or the braces around inline assembly.
ptx_instructions() {
  awk -v entry=".entry $2(" '
    /\.entry/ { inside = index($0, entry) > 0 }
    inside {
      sub(/^[ \t]+/, "")
      if ($0 != "" && $0 !~ /^[.{})\/]/ && $0 !~ /^[$A-Za-z_0-9]+:/) ++count
    }
    END { print count + 0 }' "$1"
}

# Every instruction has 16 bytes, and NOP, which pads a kernel to a full line, has opcode 0x918 in the low bits.
machine_instructions() {
  local offset size
  read -r offset size < <(readelf -SW "$1" 2>/dev/null | awk -v name=".text.$2" '
    { for (i = 1; i <= NF; ++i) if ($i == name) print $(i + 3), $(i + 4) }')
  od -An -v -tx8 -w16 -j $((16#$offset)) -N $((16#$size)) "$1" | awk '$1 !~ /918$/ { ++count } END { print count + 0 }'
}

registers() {
  awk -v entry="'$2'" '
    /Compiling entry function/ { inside = index($0, entry) > 0 }
    inside && match($0, /Used [0-9]+ registers/) { print substr($0, RSTART + 5, RLENGTH - 15) }' "$1"
}

for version in with_handles by_hand; do
  "$nvcc" -arch="sm_$arch" "$@" -ptx -o "$out/$version.ptx" "$here/$prefix$version.cu"
  "$nvcc" -arch="sm_$arch" -Xptxas=-v -cubin -o "$out/$version.cubin" "$out/$version.ptx" 2> "$out/$version.ptxas"
done

kernels=$(sed -n 's/.*\.entry \([A-Za-z_0-9]*\)(.*/\1/p' "$out/by_hand.ptx" | sort)
if [[ -z $kernels || $kernels != "$(sed -n 's/.*\.entry \([A-Za-z_0-9]*\)(.*/\1/p' "$out/with_handles.ptx" | sort)" ]]; then
  echo "${prefix}with_handles.cu and ${prefix}by_hand.cu must have the same kernels, at least one" >&2
  exit 1
fi

status=0
printf '%-10s %-22s %-22s %s\n' "sm_$arch" "PTX instructions" "machine instructions" "registers"
for kernel in $kernels; do
  row=()
  for measure in ptx_instructions:ptx machine_instructions:cubin registers:ptxas; do
    with=$(${measure%:*} "$out/with_handles.${measure#*:}" "$kernel")
    hand=$(${measure%:*} "$out/by_hand.${measure#*:}" "$kernel")
    verdict="$with, by hand $hand"
    if ((with == 0 || hand == 0 || with > hand)); then
      verdict+=" !"
      status=1
    fi
    row+=("$verdict")
  done
  printf '%-10s %-22s %-22s %s\n' "$kernel" "${row[@]}"
done
((status == 0)) || echo "handles must need no more than the same loop by hand; ! marks where they do" >&2
exit $status
