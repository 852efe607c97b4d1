// SPDX-License-Identifier: Apache-2.0
//
// Running the tile copy from a host program: the same function for the simulated SM and for a GPU. The types
// are plain and shared by both.
#pragma once

#include <heddle/host/gpu_list.h>
#include <heddle/host/run_options.h>
#include <heddle/isa/target.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace heddle {

// A tensor of bytes-wide elements and the boxes it is cut into. Dimension 0 is the contiguous one.
struct TileCopyProblem {
  std::uint32_t rank = 2;
  std::uint32_t element_bytes = 2;  // 1, 2, 4 or 8
  std::uint64_t dims[5] = {};       // elements
  std::uint64_t strides[4] = {};    // bytes; all zero: dense, rows padded to 16 bytes
  std::uint32_t box[5] = {};
  std::int32_t start[5] = {};        // coordinates of the first box; boxes go on from there over the tensor
  std::uint32_t swizzle_bytes = 0;   // 0, 32, 64 or 128
  std::uint32_t stages = 4;          // 1 to 8
  std::uint32_t consumer_warps = 4;  // 1 to 4
  std::uint32_t cluster = 1;         // 1 or 2, with multicast
  std::uint32_t ctas = 4;            // a multiple of `cluster`
  bool image = false;                // give back the tiles as they lie in shared memory, not the copied tensor
  std::string mistake = {};          // simulated SM only: a name from heddle/testing/mutant.h
};

struct TileCopyResult {
  RunOutcome outcome;
  std::vector<std::vector<unsigned char>> outputs;  // one for each CTA of a cluster
};

// Sizes that follow from a problem. Throws InputError for one that cannot be run.
struct TileCopyPlan {
  std::uint64_t strides[4] = {};
  std::uint64_t tensor_bytes = 0;
  std::uint32_t counts[5] = {1, 1, 1, 1, 1};
  std::uint32_t boxes = 1;
  std::uint32_t tx_bytes = 0;
  std::uint32_t tile_bytes = 0;
};
TileCopyPlan plan_tile_copy(const TileCopyProblem& problem);

inline constexpr unsigned char kTileCopyPoison = 0xEE;

// `source` holds plan.tensor_bytes. Outputs are poisoned before the kernel runs. Target::kCuda exists only in
// programs that were built with nvcc.
template <Target target>
TileCopyResult tile_copy(const TileCopyProblem& problem, const RunOptions& options,
                         const std::vector<unsigned char>& source);

// The GPUs that it can run on.
template <Target target>
GpuList tile_copy_gpus();

template <>
TileCopyResult tile_copy<Target::kSim>(const TileCopyProblem&, const RunOptions&,
                                       const std::vector<unsigned char>&);
template <>
TileCopyResult tile_copy<Target::kCuda>(const TileCopyProblem&, const RunOptions&,
                                        const std::vector<unsigned char>&);
template <>
GpuList tile_copy_gpus<Target::kSim>();
template <>
GpuList tile_copy_gpus<Target::kCuda>();

}  // namespace heddle
