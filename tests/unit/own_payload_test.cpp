// SPDX-License-Identifier: Apache-2.0
//
// The payload of examples/own_payload.h in a pipeline.
#include <heddle/host/tensor_map.h>
#include <heddle/isa/fence.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/tma.h>

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "../../examples/own_payload.h"
#include "../support/tiny_kernel.h"

namespace heddle {
namespace {

TEST(SeedListings, PayloadOfOnesOwn) {
  constexpr std::uint32_t turns = 5;
  std::vector<bf16> rows(turns * 64 * 64);
  std::vector<float> scales(turns * 64);
  for (std::uint32_t i = 0; i < rows.size(); ++i) rows[i] = bf16::from_float(static_cast<float>(i % 251));
  for (std::uint32_t i = 0; i < scales.size(); ++i) scales[i] = static_cast<float>(i) + 0.5f;
  sim::GlobalMemory memory;
  memory.add("rows", rows.data(), rows.size() * sizeof(bf16));
  memory.add("scales", scales.data(), scales.size() * sizeof(float));
  const TensorMap map = make_tensor_map({.type = TensorType::kBF16,
                                         .rank = 2,
                                         .address = rows.data(),
                                         .dims = {64, turns * 64},
                                         .strides = {128},
                                         .box = {64, 64},
                                         .swizzle = Swizzle::k128B});
  using Storage = InputPipelineStorage<2, ScaledRows>;
  for (const sim::Schedule& schedule : test::some_schedules()) {
    const auto report =
        test::run_kernel<Storage>({.threads = 64, .memory = &memory, .schedule = schedule}, [&](Storage& shared) {
          using Input = ArrivingInputPipeline<ScaledRows, 2>;
          Input pipeline(shared);
          if (isa::tid_x() == 0) {
            Input::init_barriers(shared.barriers.ptr(), 1, 32);
            isa::fence_mbarrier_init();
          }
          isa::syncthreads();
          for (std::uint32_t turn = 0; turn < turns && isa::tid_x() == 0; ++turn) {
            const auto stage = pipeline.producer().acquire();
            const auto tiles = stage.tiles();
            isa::cp_async_bulk_tensor_load(tiles.rows.data(), &map, {0, static_cast<std::int32_t>(turn * 64)},
                                           stage.barrier());
            isa::cp_async_bulk_load(tiles.scales.data(), &scales[turn * 64], 256, stage.barrier());
          }
          for (std::uint32_t turn = 0; turn < turns && isa::tid_x() >= 32; ++turn) {
            auto stage = pipeline.acquire_consumer();
            const auto [tile, scale] = stage.tiles();
            const std::uint32_t lane = isa::laneid();
            EXPECT_EQ(tile.load(lane, 3).bits, rows[(turn * 64 + lane) * 64 + 3].bits);
            EXPECT_EQ(scale.load(0, lane), scales[turn * 64 + lane]);
            std::move(stage).release();
          }
        });
    EXPECT_TRUE(test::is_silent(report));
  }
}

}  // namespace
}  // namespace heddle
