#!/usr/bin/env bash
# How long nvcc takes for kernels: user seconds, the least of some runs, of one job without a cache.
#
#   bench/compile_time.sh [RUNS]
#
# An empty file, heddle.h alone, and one configuration of the Hopper matmul (128x128x64, six stages, ping-pong, bf16): with
# plain sums, and with the fused epilogue that is shipped.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
nvcc=${CUDACXX:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}

: >"$folder/empty.cu"
echo '#include <heddle/heddle.h>' >"$folder/heddle.cu"
for epilogue in Plain Fused; do
  cat >"$folder/$epilogue.cu" <<END
#include "matmul/device/matmul_sm90.h"
namespace heddle::inline HEDDLE_TARGET {
constexpr MatmulSm90Config config{.tile_m = 128, .tile_n = 128, .tile_k = 64, .stages = 6, .form = MatmulForm::kPingpong};
using Instance = MatmulSm90<config, bf16, ${epilogue}Epilogue>;
template __global__ void isa::kernel_entry<Instance>(const __grid_constant__ Instance::Params);
}  // namespace heddle::inline HEDDLE_TARGET
END
done

TIMEFORMAT=%U
for name in empty heddle Plain Fused; do
  for ((run = 0; run < ${1:-3}; ++run)); do
    { time "$nvcc" -std=c++20 -O2 -DNDEBUG -gencode arch=compute_90a,code=sm_90a "-I$root/include" "-I$root/kernels" \
      -c "$folder/$name.cu" -o "$folder/$name.o"; } 2>&1
  done | sort -n | head -1 | sed "s/$/ s  $name/"
done
