// SPDX-License-Identifier: Apache-2.0
#include "tile_copy.h"
#include "tile_copy_host.h"

#include <heddle/host/error.h>

#include <fmt/format.h>

#include <algorithm>

namespace heddle {

namespace {

void require(bool holds, const std::string& message) {
  if (!holds) throw InputError("tile copy: " + message);
}

void check(const TileCopyProblem& p) {
  require(p.rank >= 1 && p.rank <= 5, fmt::format("rank {}; a tensor map has 1 to 5 dimensions", p.rank));
  require(p.element_bytes == 1 || p.element_bytes == 2 || p.element_bytes == 4 || p.element_bytes == 8,
          fmt::format("elements of {} bytes; 1, 2, 4 or 8", p.element_bytes));
  require(p.swizzle_bytes == 0 || p.swizzle_bytes == 32 || p.swizzle_bytes == 64 || p.swizzle_bytes == 128,
          fmt::format("a swizzle of {} bytes; 0, 32, 64 or 128", p.swizzle_bytes));
  require(p.stages >= 1 && p.stages <= 8, fmt::format("{} stages; 1 to 8", p.stages));
  require(p.consumer_warps >= 1 && p.consumer_warps <= 4,
          fmt::format("{} consumer warps; 1 to 4", p.consumer_warps));
  require(p.cluster >= 1 && p.cluster <= TileCopyParams::kMaxCluster,
          fmt::format("a cluster of {} CTAs; 1 or {}", p.cluster, TileCopyParams::kMaxCluster));
  require(p.ctas > 0 && p.ctas % p.cluster == 0,
          fmt::format("{} CTAs; a multiple of the cluster's {} that is not zero", p.ctas, p.cluster));
  for (std::uint32_t d = 0; d < p.rank; ++d) {
    require(p.dims[d] > 0, fmt::format("dims[{}] is 0; at least 1", d));
    require(p.box[d] >= 1 && p.box[d] <= 256,
            fmt::format("box[{}] is {}; the copy engine takes 1 to 256", d, p.box[d]));
  }
}

}  // namespace

TileCopyPlan plan_tile_copy(const TileCopyProblem& p) {
  check(p);
  TileCopyPlan plan;
  const bool is_dense = std::all_of(std::begin(p.strides), std::end(p.strides), [](auto s) { return s == 0; });
  std::uint64_t pitch = (p.dims[0] * p.element_bytes + 15) / 16 * 16;
  plan.tensor_bytes = pitch;
  for (std::uint32_t d = 1; d < p.rank; ++d) {
    if (!is_dense) pitch = p.strides[d - 1];
    plan.strides[d - 1] = pitch;
    plan.tensor_bytes = std::max(plan.tensor_bytes, pitch * p.dims[d]);
    pitch *= p.dims[d];
  }
  std::uint64_t rows = 1;
  std::uint64_t boxes = 1;
  for (std::uint32_t d = 0; d < p.rank; ++d) {
    const auto beyond = static_cast<std::int64_t>(p.dims[d]) - p.start[d];
    require(beyond > 0, fmt::format("start[{}] is {}; the tensor ends at {}", d, p.start[d], p.dims[d]));
    plan.counts[d] = static_cast<std::uint32_t>((static_cast<std::uint64_t>(beyond) + p.box[d] - 1) / p.box[d]);
    boxes *= plan.counts[d];
    require(boxes <= 0x7fffffff, fmt::format("more than {} boxes up to dimension {}", 0x7fffffff, d));
    if (d > 0) rows *= p.box[d];
  }
  plan.boxes = static_cast<std::uint32_t>(boxes);
  const std::uint32_t row_bytes = p.box[0] * p.element_bytes;
  const std::uint64_t tile_bytes = rows * std::max(row_bytes, p.swizzle_bytes);
  const std::uint32_t room = TileCopyConfig{}.stage_bytes;
  require(tile_bytes <= room,
          fmt::format("a box takes {} bytes of shared memory; a stage has {}", tile_bytes, room));
  plan.tx_bytes = static_cast<std::uint32_t>(rows * row_bytes);
  plan.tile_bytes = static_cast<std::uint32_t>(tile_bytes);
  return plan;
}

}  // namespace heddle
