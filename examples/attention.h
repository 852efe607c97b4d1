// SPDX-License-Identifier: Apache-2.0
//
// Attention for Hopper: O = softmax(Q K^T * scale) V for each head, with sums, largest scores and outputs in
// registers. Q, K, V and O are [heads, rows, 64], Q, K and V in bf16, O in float. A CTA has 128 rows of Q, a
// warpgroup 64 of them; a warp loads tiles of 64 rows of K and V, which both warpgroups read. The two take turns:
// one multiplies while the other has its softmax. 04_attention.cu runs it.
#pragma once

#include <heddle/isa/math.h>
#include <heddle/isa/memory.h>
#include <heddle/kernel/barriers.h>
#include <heddle/kernel/context.h>
#include <heddle/kernel/named_barriers.h>
#include <heddle/kernel/roles.h>
#include <heddle/kernel/shared_memory.h>
#include <heddle/kernel/turns.h>
#include <heddle/pipeline/input_tile_pipeline.h>
#include <heddle/tile/load_tile.h>
#include <heddle/tile/wgmma_sums.h>

#include <utility>

namespace heddle::inline HEDDLE_TARGET::attention {

constexpr std::uint32_t kDim = 64;
constexpr std::uint32_t kQueries = 128;  // of a CTA
constexpr std::uint32_t kKeys = 64;      // of a stage
constexpr std::uint32_t kStages = 2;

// A stage has a tile of K and one of V: what the payload calls A and B.
using Payload = StandardTilePayload<bf16, bf16, StandardTileConfig{.a = {kKeys, kDim}, .b = {kKeys, kDim}}>;
using Input = ArrivingInputPipeline<Payload, kStages>;
using QTiles = SMemTileArray2D<bf16, TileShape{kQueries, kDim}, 1>;
using QTile = QTiles::Tile;
using Scores = WgmmaSums<WgmmaShape{.n = kKeys}>;                        // 64 queries x keys, of bf16
using Output = WgmmaSums<WgmmaShape{.n = kDim, .b_major = Major::kMN}>;  // 64 queries x dimensions

using Math = Role<"math", 8>;
using Load = Role<"load", 1>;
using Roles = WarpRoles<Math, Load>;
using Barriers = NamedBarriers<BarrierUse<"turns", 2>>;
constexpr ClusterConfig kCluster{};

struct Attention {
  using Queries = QTile;
  using Keys = Payload::ATile;
  using Values = Payload::BTile;
  struct Params {
    isa::TensorMap q;
    isa::TensorMap k;
    isa::TensorMap v;
    float* o;
    std::uint32_t queries;
    std::uint32_t keys;
    float scale;
  };
  struct Shared {
    QTiles q;
    Input::Storage input;
    SharedMemBarrier q_full;
  };
  static_assert(check_shared_memory<Shared, Arch::kSm90>());
  static constexpr std::uint32_t kThreads = Roles::kThreads;

  HEDDLE_DEVICE static void run(const Params& params, Shared& shared) {
    const KernelContext<kCluster> ctx;
    const KernelScope<kCluster> scope([&] {
      Input::init_barriers<RingCounts<Roles, OneThread<Load>, EachWarp<Math>>>(shared.input.barriers.ptr());
      isa::mbarrier_init(&shared.q_full, 1);
    });
    if (Roles::enter<Load>()) {
      if (ctx.elect_one_thread()) load(params, shared);
    } else if (Roles::enter<Math>()) {
      attend(params, shared);
    }
  }

  HEDDLE_DEVICE static std::uint32_t key_tiles(const Params& params) { return (params.keys + kKeys - 1) / kKeys; }

  HEDDLE_DEVICE static void load(const Params& params, Shared& shared) {
    const auto head = static_cast<std::int32_t>(isa::ctaid().y);
    isa::mbarrier_arrive_expect_tx(&shared.q_full, QTile::tx_bytes());
    load_tile(shared.q[0], &params.q, {0, static_cast<std::int32_t>(isa::ctaid().x * kQueries), head},
              &shared.q_full);
    Input input(shared.input);
    auto producer = input.producer();
    for (std::uint32_t i = 0; i < key_tiles(params); ++i) {
      auto tiles = producer.acquire();
      const auto row = static_cast<std::int32_t>(i * kKeys);
      load_tile(tiles.a_tile(), &params.k, {0, row, head}, tiles.barrier());
      load_tile(tiles.b_tile(), &params.v, {0, row, head}, tiles.barrier());
    }
    producer.drain();
  }

  HEDDLE_DEVICE static void attend(const Params& params, Shared& shared) {
    const std::uint32_t warpgroup = isa::warp_idx() / 4;
    const auto q = shared.q[0].slice<64, kDim>(warpgroup).operand();
    WarpgroupTurns<2, Barriers::first("turns")> turns(warpgroup);
    Input input(shared.input);
    Scores scores;
    Output output;
    auto& o = output.fill(0.0f);
    RowPair largest{{-1e30f, -1e30f}};                        // of the scores so far
    RowPair sum{{0.0f, 0.0f}};                                // of their exponentials
    const float factor = params.scale * 1.4426950408889634f;  // for powers of two
    while (!isa::mbarrier_try_wait_parity(&shared.q_full, 0)) {
    }
    for (std::uint32_t i = 0; i < key_tiles(params); ++i) {
      auto stage = input.acquire_consumer();
      auto turn = turns.wait();
      auto pending = scores.multiply(q, stage.a_tile().operand());
      auto& s = std::move(pending).wait();
      std::move(turn).pass();
      softmax(s, params.keys - i * kKeys, factor, largest, sum, o);
      const auto p = to_operand<bf16>(s);
      auto adding = output.multiply_add(p, stage.b_tile().operand<Major::kMN>());
      std::move(adding).wait();
      std::move(stage).release_elected();
    }
    store(params, warpgroup, o, sum);
  }

  // From scores to powers of two of their distance from the largest; what was summed before is scaled to it.
  template <class S, class O>
  HEDDLE_DEVICE static void softmax(S& s, std::uint32_t keys_left, float factor, RowPair& largest, RowPair& sum,
                                    O& o) {
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < S::count; ++i) {
      if (s.col(i) >= keys_left) s[i] = -1e30f;
    }
    const RowPair before = largest;
    const RowPair of_tile = row_max(s);
    RowPair scaled;
    HEDDLE_UNROLL
    for (std::uint32_t row = 0; row < 2; ++row) {
      largest[row] = of_tile[row] > before[row] ? of_tile[row] : before[row];
      scaled[row] = isa::ex2_approx_f32((before[row] - largest[row]) * factor);
    }
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < S::count; ++i) {
      s[i] = isa::ex2_approx_f32((s[i] - largest[s.row_of_pair(i)]) * factor);
    }
    const RowPair more = row_sum(s);
    HEDDLE_UNROLL
    for (std::uint32_t row = 0; row < 2; ++row) sum[row] = sum[row] * scaled[row] + more[row];
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < O::count; ++i) o[i] *= scaled[o.row_of_pair(i)];
  }

  template <class O>
  HEDDLE_DEVICE static void store(const Params& params, std::uint32_t warpgroup, const O& o, const RowPair& sum) {
    const RowPair inverse{{isa::rcp_approx_f32(sum[0]), isa::rcp_approx_f32(sum[1])}};
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < O::count; ++i) {
      const std::uint32_t query = isa::ctaid().x * kQueries + warpgroup * 64 + o.row(i);
      if (query >= params.queries) continue;
      const std::uint64_t row = std::uint64_t{isa::ctaid().y} * params.queries + query;
      isa::st_global(&params.o[row * kDim + o.col(i)], o[i] * inverse[o.row_of_pair(i)]);
    }
  }
};

}  // namespace heddle::inline HEDDLE_TARGET::attention
