#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# trace_off.sh ROOT NVCC FOLDER: without HEDDLE_TRACE, kernels are the same machine code as from headers out of which every
# call of isa/trace.h was taken; with it they are not, and have the same parameters.
set -eu
root=$1 nvcc=$2 folder=$3
rm -rf "$folder"
mkdir -p "$folder"
cp -r "$root/include" "$folder/include"
calls='TracedWait traced(|trace_arrive(bar|trace_multiply();|trace_begin();|trace_end();|trace_tested(|trace_barriers(first|annotate_tile'
removed=0
for file in $(grep -rlE "$(echo "$calls" | sed 's/[()]/\\&/g')" "$folder/include" | grep -v 'isa/trace.h$'); do
  before=$(wc -l < "$file")
  sed -i -E -e '/TracedWait traced\(/d' -e '/^ *trace_(arrive|multiply|begin|end)\(.*\);$/d' \
    -e '/^ *isa::annotate_tile(_end)?\(.*\);$/d' -e '/^ *trace_barriers\(first/d' -e 's/isa::trace_tested\((test<[a-z_]+>\([^;]*site\)), [a-z_]+\(stage\), phase\)/\1/' "$file"
  removed=$((removed + before - $(wc -l < "$file")))
done
if grep -rnE 'TracedWait traced|trace_(arrive|multiply|begin|end|tested|barriers)\(|isa::annotate_tile' "$folder/include" | grep -v 'isa/trace.h:'; then
  echo "these calls were not taken out"
  exit 1
fi
echo "$removed lines taken out"
[ "$removed" -ge 22 ]
failed=0
for source in kernels/tile_copy/tile_copy.cu tests/zero_cost/matmul_with_handles.cu examples/03_hopper_tiles.cu; do
  name=$(basename "$source" .cu)
  compile() {  # OUTPUT HEADERS OPTIONS...
    output=$1 headers=$2
    shift 2
    "$nvcc" -std=c++20 -O2 -arch=sm_90a "$@" "-I$headers" "-I$root/kernels" -o "$folder/$output" "$root/$source"
  }
  mkdir "$folder/$name.off"
  compile "$name.off.cubin" "$root/include" -cubin --keep --keep-dir "$folder/$name.off"
  mv "$folder/$name.off/$name.ptx" "$folder/$name.off.ptx"
  compile "$name.without.cubin" "$folder/include" -cubin
  compile "$name.on.ptx" "$root/include" -ptx -DHEDDLE_TRACE=1
  if ! cmp "$folder/$name.off.cubin" "$folder/$name.without.cubin"; then
    echo "$name: with tracing off the machine code is not that of sources without it"
    failed=1
  fi
  parameters() { grep -E '^[[:space:]]*\.param' "$folder/$name.$1.ptx" | sed -E 's/[A-Za-z_$][A-Za-z0-9_$]*param_/param_/' | sort; }
  if [ "$(parameters off)" != "$(parameters on)" ]; then
    echo "$name: tracing adds parameters"
    failed=1
  fi
  if grep -q 'clock64' "$folder/$name.off.ptx" || ! grep -q 'clock64' "$folder/$name.on.ptx"; then
    echo "$name: the clock is read with tracing off, or not with it on"
    failed=1
  fi
done
exit $failed
