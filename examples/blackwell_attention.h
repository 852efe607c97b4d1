// SPDX-License-Identifier: Apache-2.0
//
// Attention for Blackwell: O = softmax(Q K^T * scale) V for each head, with scores, weights and products in
// tensor memory. Q, K, V and O are [heads, rows, 64], Q, K and V in bf16, O in float. A CTA has 128 rows of Q, a
// thread of the softmax one of them. A stage of the input has a tile of K and one of V, which go back at
// different times. 06_blackwell_attention.cu runs it.
#pragma once

#include <heddle/isa/math.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/tcgen05.h>
#include <heddle/kernel/barriers.h>
#include <heddle/kernel/context.h>
#include <heddle/kernel/roles.h>
#include <heddle/kernel/shared_memory.h>
#include <heddle/pipeline/parted_pipeline.h>
#include <heddle/pipeline/pipeline_storage.h>
#include <heddle/pipeline/tensor_core_backend.h>
#include <heddle/tile/load_tile.h>
#include <heddle/tile/tcgen05_mma.h>
#include <heddle/tile/tmem_plan.h>

#include <utility>

namespace heddle::inline HEDDLE_TARGET::blackwell_attention {

constexpr std::uint32_t kDim = 64;
constexpr std::uint32_t kQueries = 128;  // of a CTA
constexpr std::uint32_t kKeys = 64;      // of a stage
constexpr std::uint32_t kStages = 2;

// [plan]
using S = TmemTensor<float, AccumulatorShape{.m = kQueries, .n = kKeys}>;  // scores
using P = PackedTmem<bf16, kKeys>;  // weights, in the columns of their scores
using O = TmemTensor<float, AccumulatorShape{.m = kQueries, .n = kDim}>;  // weights times V, of one stage
using Plan = TmemPlan<TmemRegion<"s", S, 2>, TmemOverlay<"p", "s", P>, TmemRegion<"o", O, 2>>;

using QTiles = SMemTileArray2D<bf16, TileShape{kQueries, kDim}, 1>;
using KvTiles = SMemTileArray2D<bf16, TileShape{kKeys, kDim}, kStages>;
using Input = PartedPipeline<kStages, 2, MmaInputBackend<kStages>>;  // part 0 is K, part 1 is V
using FromMma = ProducerConsumerPipeline<2, MmaOutputBackend<2>>;    // scores, and products
using ToMma = ProducerConsumerPipeline<2, MmaInputBackend<2>>;       // weights
// [plan]

using Softmax = Role<"softmax", 4>;  // first: a warp reaches the quarter of the lanes that its number says
using Load = Role<"load", 1>;
using Mma = Role<"mma", 1>;
using Roles = WarpRoles<Softmax, Load, Mma>;
constexpr ClusterConfig kCluster{};

struct Attention {
  using Queries = QTiles::Tile;
  using Keys = KvTiles::Tile;
  using Values = KvTiles::Tile;
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
    KvTiles k;
    KvTiles v;
    Input::Storage input;
    BarrierPair<2> scores;
    BarrierPair<2> weights;
    BarrierPair<2> products;
    SharedMemBarrier q_full;
    std::uint32_t tmem;
  };
  static_assert(check_shared_memory<Shared, Arch::kSm100>());
  static constexpr std::uint32_t kThreads = Roles::kThreads;

  HEDDLE_DEVICE static void run(const Params& params, Shared& shared) {
    const KernelContext<kCluster> ctx;
    const KernelScope<kCluster> scope(
        [&] {
          Input::init_barriers(shared.input.ptr(), 1, {1, 1}, "input");
          using ToThreads = RingCounts<Roles, OneThread<Mma>, EachThread<Softmax>>;
          using ToTensorCores = RingCounts<Roles, EachThread<Softmax>, OneThread<Mma>>;
          FromMma(shared.scores.ptr(), "scores").init_mbars<ToThreads>();
          ToMma(shared.weights.ptr(), "weights").init_mbars<ToTensorCores>();
          FromMma(shared.products.ptr(), "products").init_mbars<ToThreads>();
          isa::mbarrier_init(&shared.q_full, 1);
        },
        [&] {
          if (Roles::is<Mma>()) TmemAllocation<1>::allocate(&shared.tmem, Plan::kAllocCols);
        });
    const auto tmem = TmemAllocation<1>::from_shared(&shared.tmem, Plan::kAllocCols);
    const Plan plan(tmem.address());
    if (Roles::enter<Load>()) {
      if (ctx.elect_one_thread()) load(params, shared);
    } else if (Roles::enter<Mma>()) {
      if (ctx.elect_one_thread()) multiply(params, shared, plan);
    } else if (Roles::enter<Softmax>()) {
      attend(params, shared, plan);
    }
    isa::tcgen05_fence_before_thread_sync();
    isa::syncthreads();
    isa::tcgen05_fence_after_thread_sync();
    if (Roles::is<Mma>()) tmem.deallocate();
  }

  HEDDLE_DEVICE static std::uint32_t key_tiles(const Params& params) { return (params.keys + kKeys - 1) / kKeys; }

  HEDDLE_DEVICE static void load(const Params& params, Shared& shared) {
    const auto head = static_cast<std::int32_t>(isa::ctaid().y);
    isa::mbarrier_arrive_expect_tx(&shared.q_full, Queries::tx_bytes());
    load_tile(shared.q[0], &params.q, {0, static_cast<std::int32_t>(isa::ctaid().x * kQueries), head},
              &shared.q_full);
    Input input(shared.input.ptr(), "input");
    for (std::uint32_t i = 0; i < key_tiles(params); ++i) {
      auto stage = input.acquire_producer();
      stage.expect_bytes(2 * Keys::tx_bytes());
      const auto row = static_cast<std::int32_t>(i * kKeys);
      load_tile(shared.k[stage.index()], &params.k, {0, row, head}, stage.mbar());
      load_tile(shared.v[stage.index()], &params.v, {0, row, head}, stage.mbar());
      std::move(stage).release();
    }
    input.drain_producer();
  }

  // [multiply]
  // Scores of the next tile are under way while the softmax of this one is computed. Every release is a commit.
  HEDDLE_DEVICE static void multiply(const Params& params, Shared& shared, const Plan& plan) {
    Input input(shared.input.ptr(), "input");
    FromMma scores(shared.scores.ptr(), "scores");
    ToMma weights(shared.weights.ptr(), "weights");
    FromMma products(shared.products.ptr(), "products");
    while (!isa::mbarrier_try_wait_parity(&shared.q_full, 0)) {
    }
    const std::uint32_t tiles = key_tiles(params);
    for (std::uint32_t i = 0; i <= tiles; ++i) {
      if (i < tiles) {
        auto k = input.part<0>().acquire_consumer();
        auto s = scores.acquire_producer();
        tcgen05_mma(plan.region<"s">(s.index()), shared.q[0].operand(), shared.k[k.index()].operand(), false);
        std::move(k).release();
        std::move(s).release();
      }
      if (i > 0) {
        auto v = input.part<1>().acquire_consumer();
        auto p = weights.acquire_consumer();
        auto o = products.acquire_producer();
        isa::tcgen05_fence_after_thread_sync();
        tcgen05_mma(plan.region<"o">(o.index()), plan.region<"p">(p.index()).operand(),
                    shared.v[v.index()].operand<Major::kMN>(), false);
        std::move(v).release();
        std::move(p).release();
        std::move(o).release();
      }
    }
  }
  // [multiply]

  HEDDLE_DEVICE static void attend(const Params& params, Shared& shared, const Plan& plan) {
    FromMma scores(shared.scores.ptr(), "scores");
    ToMma weights(shared.weights.ptr(), "weights");
    FromMma products(shared.products.ptr(), "products");
    float o[kDim] = {};
    float largest = -1e30f;                                   // of the scores so far
    float sum = 0.0f;                                         // of their exponentials
    const float factor = params.scale * 1.4426950408889634f;  // for powers of two
    for (std::uint32_t i = 0; i < key_tiles(params); ++i) {
      auto s = scores.acquire_consumer();
      TmemFragment<float, kKeys> row;
      plan.region<"s">(s.index()).load(row, 0);
      isa::tcgen05_wait_ld();
      float p[kKeys];
      const float before = softmax(row, params.keys - i * kKeys, factor, largest, sum, p);
      auto w = weights.acquire_producer();
      plan.region<"p">(w.index()).store(p, 0);
      isa::tcgen05_wait_st();
      isa::tcgen05_fence_before_thread_sync();
      std::move(s).release();
      std::move(w).release();
      auto product = products.acquire_consumer();
      TmemFragment<float, kDim> more;
      plan.region<"o">(product.index()).load(more, 0);
      isa::tcgen05_wait_ld();
      HEDDLE_UNROLL
      for (std::uint32_t d = 0; d < kDim; ++d) o[d] = o[d] * before + more[d];
      std::move(product).release();
    }
    const std::uint32_t query = isa::ctaid().x * kQueries + Roles::thread_in_role<Softmax>();
    if (query >= params.queries) return;
    float* const to = params.o + (std::uint64_t{isa::ctaid().y} * params.queries + query) * kDim;
    const float inverse = isa::rcp_approx_f32(sum);
    HEDDLE_UNROLL
    for (std::uint32_t d = 0; d < kDim; ++d) isa::st_global(to + d, o[d] * inverse);
  }

  // From scores to powers of two of their distance from the largest. Gives what has been summed before is to be
  // multiplied by.
  HEDDLE_DEVICE static float softmax(const TmemFragment<float, kKeys>& s, std::uint32_t keys_left, float factor,
                                     float& largest, float& sum, float (&p)[kKeys]) {
    const float before = largest;
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < kKeys; ++i) {
      p[i] = i < keys_left ? s[i] : -1e30f;
      largest = __builtin_fmaxf(largest, p[i]);
    }
    const float scaled = isa::ex2_approx_f32((before - largest) * factor);
    sum *= scaled;
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < kKeys; ++i) {
      p[i] = isa::ex2_approx_f32((p[i] - largest) * factor);
      sum += p[i];
    }
    return scaled;
  }
};

}  // namespace heddle::inline HEDDLE_TARGET::blackwell_attention
