// SPDX-License-Identifier: Apache-2.0
//
// Attention for Blackwell: O = softmax(Q K^T * scale) V. A CTA lives as long as there is work. It has two tiles
// of 128 queries at a time, so that the tensor cores multiply for one while the other has its softmax; or one
// tile, whose scores of the next keys are there while these have their softmax: where sums of two tiles do not
// fit into tensor memory, or few queries make one tile. Scores, weights and sums lie in tensor memory; weights in
// the columns of their scores.
//
//   load          one thread: keys and values into rings of their own
//   load_queries  one thread
//   clear         a warp, where values after a sequence's last are another's: makes them zeros
//   mma           one thread: scores of further keys, after the sums with the values of earlier ones
//   softmax       a warpgroup for each tile, a thread for each query: scores become weights
//   correct       a warpgroup: rescales sums where a query's largest score has moved, and stores outputs
//
// All roles walk the same steps, a tile of queries against a tile of keys. Where those come from, which keys
// count and where outputs go is the Work's: attention_forward_sm100.h, attention_decode_sm100.h.
#pragma once

#include "attention_load.h"

#include <heddle/isa/fence.h>
#include <heddle/isa/math.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/registers.h>
#include <heddle/isa/tcgen05.h>
#include <heddle/kernel/barriers.h>
#include <heddle/kernel/cta_life.h>
#include <heddle/kernel/named_barriers.h>
#include <heddle/kernel/roles.h>
#include <heddle/kernel/shared_memory.h>
#include <heddle/kernel/warp_context.h>
#include <heddle/pipeline/pipeline.h>
#include <heddle/pipeline/pipeline_storage.h>
#include <heddle/pipeline/store_tile_pipeline.h>
#include <heddle/pipeline/tensor_core_backend.h>
#include <heddle/tile/fill_tile.h>
#include <heddle/tile/row_softmax.h>
#include <heddle/tile/tcgen05_mma.h>
#include <heddle/tile/tmem_plan.h>
#include <heddle/tile/tmem_rows.h>

#include <utility>

namespace heddle::inline HEDDLE_TARGET {

struct AttentionSm100Config {
  std::uint32_t head_dim = 128;   // of Q and K
  std::uint32_t value_dim = 128;  // of V and O
  std::uint32_t keys = 128;       // of a tile of K and of V
  std::uint32_t stages = 2;       // of K, and of V
  std::uint32_t tiles = 2;        // of queries at a time, 1 or 2
  bool is_causal = false;
  bool has_window = false;   // with a causal mask: queries see a number of keys before their own
  bool has_offsets = false;  // batches may lie one after another

  static constexpr std::uint32_t kRows = 128;  // of a tile of queries

  bool operator==(const AttentionSm100Config&) const = default;
};

// The backends are parameters so that mistakes can be planted.
template <Element T, AttentionSm100Config config, class Work, class KBackend = MmaInputBackend<config.stages>,
          class VBackend = MmaInputBackend<config.stages>>
struct AttentionSm100 {
  using Params = typename Work::Params;
  static constexpr std::uint32_t kTiles = config.tiles;
  static constexpr std::uint32_t kRows = config.kRows;
  static constexpr std::uint32_t kScores = 2;              // tiles of scores at a time
  static constexpr std::uint32_t kLag = kScores / kTiles;  // values follow the scores so many steps later
  static constexpr std::uint32_t kCols = 32;               // of a row that a thread has in registers on their way
  static_assert(kTiles == 1 || kTiles == 2, "a CTA has one tile of queries at a time, or two");
  using QTiles = SMemTileArray2D<T, TileShape{kRows, config.head_dim}, kTiles>;
  using KTiles = SMemTileArray2D<T, TileShape{config.keys, config.head_dim}, config.stages>;
  using VTiles = SMemTileArray2D<T, TileShape{config.keys, config.value_dim}, config.stages>;
  using OTiles = SMemTileArray2D<T, TileShape{kRows, 64}, 1>;

  using ScoreTmem = TmemTensor<float, AccumulatorShape{.m = kRows, .n = config.keys}>;
  using OutputTmem = TmemTensor<float, AccumulatorShape{.m = kRows, .n = config.value_dim}>;
  using Plan = TmemPlan<TmemRegion<"scores", ScoreTmem, kScores>, TmemRegion<"output", OutputTmem, kTiles>,
                        TmemOverlay<"weights", "scores", PackedTmem<T, config.keys>>>;

  using Softmax = Role<"softmax", 4 * kTiles>;
  using Correct = Role<"correct", 4>;
  using Load = Role<"load", 1>;
  using Mma = Role<"mma", 1>;
  using LoadQueries = Role<"load_queries", 1>;
  using Clear = Role<"clear", 1>;
  using Roles = WarpRoles<Softmax, Correct, Load, Mma, LoadQueries, Clear>;
  using Life = CtaLife<LifeConfig{}, Roles>;
  static constexpr std::uint32_t kThreads = Roles::kThreads;
  static constexpr std::uint32_t kRegisters = isa::entry_registers(kThreads);
  using Context =
      WarpContext<WarpContextConfig{.output = {.num_stages = kScores, .stage_stride_cols = config.keys},
                                    .tmem_cols = Plan::kCols,
                                    .epilogue_threads = Softmax::threads + Correct::threads}>;

  struct Shared {
    QTiles q;
    KTiles k;
    VTiles v;
    OTiles o;
    float rows[kTiles][kRows];  // what a softmax tells the correction, for each query
    BarrierPair<kTiles> q_barriers;
    BarrierPair<config.stages> k_barriers;
    BarrierPair<config.stages> v_barriers;
    BarrierPair<config.stages> cleared_barriers;
    OutputPipelineStorage<kScores> scores;
    BarrierPair<kTiles> output_barriers;
    BarrierPair<kTiles> row_barriers;
    TmemDeallocStorage tmem;
  };
  static_assert(check_shared_memory<Shared, Arch::kSm100>());

  HEDDLE_DEVICE static void run(const Params& params, Shared& shared) {
    Rings rings(shared);
    const auto init = [&] {
      rings.q.init_mbars(1, 1);
      rings.k.init_mbars(1, 1);
      rings.v.init_mbars(1, 1);
      rings.cleared.init_mbars(1, 1);
      rings.output.init_mbars(1, Correct::threads);
      rings.rows.init_mbars(4, 4);
      Context::Output::init_barriers(shared.scores.barriers.ptr(), 1, Softmax::threads / kTiles, "scores");
      shared.tmem.init(Softmax::threads + Correct::threads);
    };
    const auto prefetch = [&] {
      Life::template prefetch<Load>(params.k, params.v);
      Life::template prefetch<LoadQueries>(params.q);
    };
    const KernelScope<ClusterConfig{}> scope(init, prefetch);
    scope.wait_for_kernel_ahead();  // offsets and lengths are memory, too
    const Steps steps = Work::steps(params);
    if (steps.is_empty()) return;
    if (Roles::template enter<Softmax>()) {
      isa::setmaxnreg_inc<kTiles == 2 ? 192 : 232>();
      weigh(params, shared, rings, steps);
    } else if (Roles::template enter<Correct>()) {
      isa::setmaxnreg_dec<kTiles == 2 ? 80 : 128>();
      correct(params, shared, rings, steps);
    } else {
      isa::setmaxnreg_dec<kTiles == 2 ? 48 : 96>();
      if (Roles::template enter<Load>()) {
        if (isa::elect_sync()) load(params, shared, rings, steps);
      } else if (Roles::template enter<LoadQueries>()) {
        if (isa::elect_sync()) load_queries(params, shared, rings, steps);
      } else if (Roles::template enter<Mma>()) {
        multiply(shared, rings, steps);
      } else if (Roles::template enter<Clear>()) {
        if constexpr (Work::kClears) clear(params, shared, rings, steps);
      }
    }
  }

 private:
  // Stage t of the rings of queries, sums and rows belongs to tile t.
  struct Rings {
    HEDDLE_DEVICE explicit Rings(Shared& shared)
        : q(shared.q_barriers.ptr(), "q"),
          k(shared.k_barriers.ptr(), "k"),
          v(shared.v_barriers.ptr(), "v"),
          cleared(shared.cleared_barriers.ptr(), "cleared"),
          output(shared.output_barriers.ptr(), "output"),
          rows(shared.row_barriers.ptr(), "rows") {}

    ProducerConsumerPipeline<kTiles, MmaInputBackend<kTiles>> q;
    ProducerConsumerPipeline<config.stages, KBackend> k;
    ProducerConsumerPipeline<config.stages, VBackend> v;
    ProducerConsumerPipeline<config.stages, MmaInputBackend<config.stages>> cleared;
    ProducerConsumerPipeline<kTiles, MmaOutputBackend<kTiles>> output;
    ProducerConsumerPipeline<kTiles> rows;
  };

  using Steps = typename Work::Steps;
  using Step = typename Work::Step;
  using Barriers = NamedBarriers<BarrierUse<"address", 1>, BarrierUse<"stores", 1>>;
  static_assert(Barriers::first("address") == 1, "where WarpContext hands the address over");

  HEDDLE_DEVICE static void load(const Params& params, Shared& shared, Rings& rings, const Steps& steps) {
    load_steps(
        steps, [&](const Step& s) { Work::load(params, params.k, steps, s, rings.k, shared.k); },
        [](const Step&) {}, [&](const Step& s) { Work::load(params, params.v, steps, s, rings.v, shared.v); });
    rings.k.drain_producer();
    rings.v.drain_producer();
  }
  HEDDLE_DEVICE static void load_queries(const Params& params, Shared& shared, Rings& rings, const Steps& steps) {
    bool has_step = true;
    for (Step step = steps.first(); has_step; has_step = steps.next(step)) {
      for (std::uint32_t t = 0; t < kTiles && step.tile == 0; ++t) {
        Work::load_queries(params, steps, step, t, rings.q, shared.q);
      }
    }
    rings.q.drain_producer();
  }

  // Values after a sequence's last may be anything, and a weight of zero does not make zero of it.
  HEDDLE_DEVICE static void clear(const Params& params, Shared& shared, Rings& rings, const Steps& steps) {
    bool has_step = true;
    for (Step step = steps.first(); has_step; has_step = steps.next(step)) {
      auto cleared = rings.cleared.acquire_producer();
      rings.v.wait_producer();
      const std::int32_t left = Work::keys_left(params, steps, step);
      if (left < static_cast<std::int32_t>(config.keys)) {
        clear_rows_by<isa::kWarpThreads>(isa::laneid(), shared.v[cleared.index()],
                                         left < 0 ? 0 : static_cast<std::uint32_t>(left));
        isa::fence_proxy_async_shared_cta();
      }
      rings.v.consumer_step();
      std::move(cleared).release_elected();
    }
    rings.cleared.drain_producer();
  }

  // With two tiles a step has scores of both, and the values of the step before are added when their weights are
  // there. With one, the values of two steps before. Weights are there when the stage of scores whose columns
  // they take has been given back; then the scores of this step take their place.
  HEDDLE_DEVICE static void multiply(Shared& shared, Rings& rings, const Steps& steps) {
    auto mma = Context::MmaHandle::create(shared.tmem, shared.scores);
    if (isa::elect_sync()) {
      const Plan plan(mma.tmem().address());
      std::uint32_t begun = 0;  // a bit for each step, the last one lowest: it is the first of its queries
      std::uint32_t waiting = 0;
      bool has_step = true;
      Step step = steps.first();
      for (; has_step && waiting < kLag; ++waiting, has_step = steps.next(step)) {
        auto k = rings.k.acquire_consumer();
        for (std::uint32_t t = 0; t < kTiles; ++t) {
          auto s = mma.acquire_k_stage_linear();
          score(shared, rings, plan, step, t, s.index(), k.index());
          std::move(s).release();
        }
        std::move(k).release();
        begun = begun << 1 | (step.tile == 0);
      }
      for (; has_step; has_step = steps.next(step)) {
        auto k = rings.k.acquire_consumer();
        with_values(rings, [&](std::uint32_t v) {
          for (std::uint32_t t = 0; t < kTiles; ++t) {
            auto s = mma.acquire_k_stage_linear();
            add_values(shared, rings, plan, begun >> (kLag - 1) & 1, t, s.index(), v);
            score(shared, rings, plan, step, t, s.index(), k.index());
            std::move(s).release();
          }
        });
        std::move(k).release();
        begun = begun << 1 | (step.tile == 0);
      }
      for (std::uint32_t unused = waiting; unused < kLag; ++unused) {
        auto s = mma.acquire_k_stage_linear();
        std::move(s).release_without_signal();
      }
      for (; waiting > 0; --waiting) {
        with_values(rings, [&](std::uint32_t v) {
          for (std::uint32_t t = 0; t < kTiles; ++t) {
            auto s = mma.acquire_k_stage_linear();
            add_values(shared, rings, plan, begun >> (waiting - 1) & 1, t, s.index(), v);
            std::move(s).release_without_signal();
          }
        });
      }
    }
    std::move(mma).release();
  }

  // With the next stage of values, as the clear role leaves it where there is one.
  template <class Use>
  HEDDLE_DEVICE static void with_values(Rings& rings, const Use& use) {
    auto v = rings.v.acquire_consumer();
    if constexpr (Work::kClears) {
      auto cleared = rings.cleared.acquire_consumer();
      use(v.index());
      std::move(cleared).release();
    } else {
      use(v.index());
    }
    std::move(v).release();
  }
  // A tile of queries is held from its first step to its last.
  HEDDLE_DEVICE static void score(Shared& shared, Rings& rings, const Plan& plan, const Step& step,
                                  std::uint32_t t, std::uint32_t s, std::uint32_t k) {
    if (step.tile == 0) {
      auto q = rings.q.acquire_consumer();
      std::move(q).release_without_signal();
    }
    tcgen05_mma(plan.template region<"scores">(s), shared.q[t].operand(), shared.k[k].operand(), false);
    if (step.tile + 1 == step.tiles) rings.q.backend().arrive_empty(t, CallSite::here());
  }
  HEDDLE_DEVICE static void add_values(Shared& shared, Rings& rings, const Plan& plan, bool begins,
                                       std::uint32_t t, std::uint32_t s, std::uint32_t v) {
    auto o = rings.output.acquire_producer();
    tcgen05_mma(plan.template region<"output">(t), plan.template region<"weights">(s).operand(),
                shared.v[v].template operand<Major::kMN>(), !begins);
    std::move(o).release();
  }

  using Row = TmemRow<config.keys>;

  HEDDLE_DEVICE static void weigh(const Params& params, Shared& shared, Rings& rings, const Steps& steps) {
    typename Context::EpilogueContext context(shared.tmem, shared.scores);
    const Plan plan(context.tmem().address());
    const std::uint32_t t = Roles::template warp_in_role<Softmax>() / 4;
    auto& scores = context.output().get_pipeline();
    scores.consumer_skip(t);
    for (std::uint32_t i = 0; i < t; ++i) rings.rows.producer_step();
    RowSoftmax softmax;
    bool has_step = true;
    for (Step step = steps.first(); has_step; has_step = steps.next(step)) {
      auto stage = scores.acquire_consumer();
      Row s;
      load_row(plan.template region<"scores">(stage.index()), s);
      Work::mask(s, params, steps, step, t);
      if (step.tile == 0) softmax = RowSoftmax{};
      const float rescaling = softmax.follow(row_max(s), params.factor);
      if (step.tile != 0) tell(shared, rings, t, rescaling);
      HEDDLE_UNROLL
      for (std::uint32_t first = 0; first < Row::count; first += kCols) {
        float weights[kCols];
        HEDDLE_UNROLL
        for (std::uint32_t i = 0; i < kCols; ++i) weights[i] = softmax.weigh(s[first + i], params.factor);
        plan.template region<"weights">(stage.index()).store(weights, first);
      }
      isa::tcgen05_wait_st();
      std::move(stage).release();
      scores.consumer_skip(kTiles - 1);
      // What the sums are to be multiplied with in the end.
      if (step.tile + 1 == step.tiles) tell(shared, rings, t, Work::end(params, steps, step, t, softmax));
    }
  }

  // A number for each query, to the correction.
  HEDDLE_DEVICE static void tell(Shared& shared, Rings& rings, std::uint32_t t, float number) {
    auto stage = rings.rows.acquire_producer();
    isa::st_shared(&shared.rows[t][Row::row(0)], number);
    std::move(stage).release_elected();
    for (std::uint32_t i = 1; i < kTiles; ++i) rings.rows.producer_step();
  }

  HEDDLE_DEVICE static void correct(const Params& params, Shared& shared, Rings& rings, const Steps& steps) {
    typename Context::EpilogueContext context(shared.tmem, shared.scores);
    const Plan plan(context.tmem().address());
    StoreTilePipeline<OTiles> stores(shared.o, Barriers::first("stores"));
    bool has_step = true;
    for (Step step = steps.first(); has_step; has_step = steps.next(step)) {
      for (std::uint32_t t = 0; t < kTiles && step.tile != 0; ++t) {
        const float factor = told(shared, rings, t);
        auto sums = rings.output.acquire_consumer();
        if (isa::vote_sync_ballot(factor != 1.0f) != 0) scale_rows(plan.template region<"output">(t), factor);
        std::move(sums).release();
      }
      for (std::uint32_t t = 0; t < kTiles && step.tile + 1 == step.tiles; ++t) {
        const float factor = told(shared, rings, t);
        auto sums = rings.output.acquire_consumer();
        Work::store(params, steps, step, t, stores, plan.template region<"output">(t), factor);
        std::move(sums).release();
      }
    }
    stores.drain();
  }

  HEDDLE_DEVICE static float told(Shared& shared, Rings& rings, std::uint32_t t) {
    auto stage = rings.rows.acquire_consumer();
    const float number = isa::ld_shared(&shared.rows[t][Row::row(0)]);
    std::move(stage).release_elected();
    return number;
  }
};

}  // namespace heddle::inline HEDDLE_TARGET
