// SPDX-License-Identifier: Apache-2.0
//
// Attention for Blackwell: O = softmax(Q K^T * scale) V, for every head of every batch. A CTA lives as long as
// there is work and has two tiles of 128 queries at a time, so that the tensor cores multiply for one while the
// other has its softmax. Scores, weights and sums lie in tensor memory; the weights of a tile in the columns of
// its scores.
//
//   load      one thread: queries, keys and values into rings of their own
//   mma       one thread: scores of the next keys, after the sums with the values of these
//   softmax   a warpgroup for each tile, a thread for each query: scores become weights
//   correct   a warpgroup: rescales sums where a query's largest score has moved, and stores outputs
//
// All roles walk the steps of attention_steps.h, which Hopper's kernel does too.
#pragma once

#include "attention_load.h"
#include "attention_mask.h"
#include "attention_scores.h"
#include "attention_steps.h"

#include <heddle/isa/grid_dependency.h>
#include <heddle/isa/math.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/registers.h>
#include <heddle/isa/tcgen05.h>
#include <heddle/kernel/barriers.h>
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
  std::uint32_t head_dim = 128;
  std::uint32_t value_dim = 128;
  std::uint32_t keys = 128;  // of a tile of K and of V
  std::uint32_t stages = 2;  // of K, and of V
  bool is_causal = false;
  bool has_window = false;

  bool operator==(const AttentionSm100Config&) const = default;
};

struct AttentionSm100Params {
  isa::TensorMap q;  // {dim, query, head, batch}
  isa::TensorMap k;  // {dim, key, key head, batch}
  isa::TensorMap v;
  isa::TensorMap o;  // as q
  AttentionSteps::Extents extents;
  std::uint32_t heads_per_key_head;
  float* lse;          // [batches, heads, queries], or null
  const float* sinks;  // [heads], or null
  float factor;        // of scores, for powers of two
  CappedScores::Params score;
};

// The backends are parameters so that mistakes can be planted.
template <Element T, AttentionSm100Config config, class KBackend = MmaInputBackend<config.stages>,
          class VBackend = MmaInputBackend<config.stages>>
struct AttentionSm100 {
  using Params = AttentionSm100Params;
  static constexpr std::uint32_t kTiles = 2;   // of queries
  static constexpr std::uint32_t kRows = 128;  // of each
  static constexpr std::uint32_t kCols = 32;   // of sums, which a thread has in registers
  static constexpr std::uint32_t kStoredCols = 64;
  using QTiles = SMemTileArray2D<T, TileShape{kRows, config.head_dim}, kTiles>;
  using KTiles = SMemTileArray2D<T, TileShape{config.keys, config.head_dim}, config.stages>;
  using VTiles = SMemTileArray2D<T, TileShape{config.keys, config.value_dim}, config.stages>;
  using OTiles = SMemTileArray2D<T, TileShape{kRows, kStoredCols}, 1>;

  using ScoreTmem = TmemTensor<float, AccumulatorShape{.m = kRows, .n = config.keys}>;
  using OutputTmem = TmemTensor<float, AccumulatorShape{.m = kRows, .n = config.value_dim}>;
  using Plan = TmemPlan<TmemRegion<"scores", ScoreTmem, kTiles>, TmemRegion<"output", OutputTmem, kTiles>,
                        TmemOverlay<"weights", "scores", PackedTmem<T, config.keys>>>;

  using Softmax = Role<"softmax", 4 * kTiles>;
  using Correct = Role<"correct", 4>;
  using Load = Role<"load", 1>;
  using Mma = Role<"mma", 1>;
  using Idle = Role<"idle", 2>;  // setmaxnreg wants whole warpgroups
  using Roles = WarpRoles<Softmax, Correct, Load, Mma, Idle>;
  static constexpr std::uint32_t kThreads = Roles::kThreads;
  static constexpr std::uint32_t kRegisters = isa::entry_registers(kThreads);
  using Context =
      WarpContext<WarpContextConfig{.output = {.num_stages = kTiles, .stage_stride_cols = config.keys},
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
    OutputPipelineStorage<kTiles> scores;
    BarrierPair<kTiles> output_barriers;
    BarrierPair<kTiles> row_barriers;
    TmemDeallocStorage tmem;
  };
  static_assert(check_shared_memory<Shared, Arch::kSm100>());

  HEDDLE_DEVICE static void run(const Params& params, Shared& shared) {
    Rings rings(shared);
    const KernelScope<ClusterConfig{}> scope([&] {
      rings.q.init_mbars(1, 1);
      rings.k.init_mbars(1, 1);
      rings.v.init_mbars(1, 1);
      rings.output.init_mbars(1, Correct::threads);
      rings.rows.init_mbars(4, 4);
      Context::Output::init_barriers(shared.scores.barriers.ptr(), 1, Softmax::threads / kTiles, "scores");
      shared.tmem.init(Softmax::threads + Correct::threads);
    });
    const Steps steps(params.extents);
    isa::griddepcontrol_launch_dependents();
    isa::griddepcontrol_wait();
    if (Roles::template enter<Softmax>()) {
      isa::setmaxnreg_inc<192>();
      weigh(params, shared, rings, steps);
    } else if (Roles::template enter<Correct>()) {
      isa::setmaxnreg_dec<80>();
      correct(params, shared, rings, steps);
    } else {
      isa::setmaxnreg_dec<48>();
      if (Roles::template enter<Load>()) {
        if (isa::elect_sync()) load(params, shared, rings, steps);
      } else if (Roles::template enter<Mma>()) {
        multiply(shared, rings, steps);
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
          output(shared.output_barriers.ptr(), "output"),
          rows(shared.row_barriers.ptr(), "rows") {}

    ProducerConsumerPipeline<kTiles, MmaInputBackend<kTiles>> q;
    ProducerConsumerPipeline<config.stages, KBackend> k;
    ProducerConsumerPipeline<config.stages, VBackend> v;
    ProducerConsumerPipeline<kTiles, MmaOutputBackend<kTiles>> output;
    ProducerConsumerPipeline<kTiles> rows;
  };

  using Steps = AttentionSteps::Of<AttentionSteps::Options{.queries = kTiles * kRows,
                                                           .keys = config.keys,
                                                           .is_causal = config.is_causal,
                                                           .has_window = config.has_window,
                                                           .has_offsets = false,
                                                           .streams = 1}>;
  using Step = AttentionSteps::Step;
  using Barriers = NamedBarriers<BarrierUse<"address", 1>, BarrierUse<"stores", 1>>;
  static_assert(Barriers::first("address") == 1, "where WarpContext hands the address over");

  HEDDLE_DEVICE static void load(const Params& params, Shared& shared, Rings& rings, const Steps& steps) {
    bool has_step = true;
    for (Step step = steps.first(); has_step; has_step = steps.next(step)) {
      const std::int32_t key_head = step.head / static_cast<std::int32_t>(params.heads_per_key_head);
      load_stage(rings.k, shared.k, params.k, {0, step.first_key, key_head, step.batch});
      for (std::uint32_t t = 0; t < kTiles && step.tile == 0; ++t) {
        load_stage(rings.q, shared.q, params.q, {0, first_query(step, t), step.head, step.batch});
      }
      load_stage(rings.v, shared.v, params.v, {0, step.first_key, key_head, step.batch});
    }
    rings.q.drain_producer();
    rings.k.drain_producer();
    rings.v.drain_producer();
  }
  HEDDLE_DEVICE static std::int32_t first_query(const Step& step, std::uint32_t t) {
    return step.first_query + static_cast<std::int32_t>(t * kRows);
  }

  // In each step, for each tile: the sums with the values of the step before, whose weights are there when the
  // stage of scores has been given back; then the scores of this step, which take their place.
  HEDDLE_DEVICE static void multiply(Shared& shared, Rings& rings, const Steps& steps) {
    auto mma = Context::MmaHandle::create(shared.tmem, shared.scores);
    if (isa::elect_sync()) {
      const Plan plan(mma.tmem().address());
      Step step = steps.first();
      {
        auto k = rings.k.acquire_consumer();
        for (std::uint32_t t = 0; t < kTiles; ++t) {
          auto s = mma.acquire_k_stage_linear();
          score(shared, rings, plan, step, t, k.index());
          std::move(s).release();
        }
        std::move(k).release();
      }
      Step before = step;
      for (; steps.next(step); before = step) {
        auto k = rings.k.acquire_consumer();
        auto v = rings.v.acquire_consumer();
        for (std::uint32_t t = 0; t < kTiles; ++t) {
          auto s = mma.acquire_k_stage_linear();
          add_values(shared, rings, plan, before, t, v.index());
          score(shared, rings, plan, step, t, k.index());
          std::move(s).release();
        }
        std::move(v).release();
        std::move(k).release();
      }
      auto v = rings.v.acquire_consumer();
      for (std::uint32_t t = 0; t < kTiles; ++t) {
        auto s = mma.acquire_k_stage_linear();
        add_values(shared, rings, plan, before, t, v.index());
        std::move(s).release_without_signal();
      }
      std::move(v).release();
    }
    std::move(mma).release();
  }

  // A tile of queries is held from its first step to its last.
  HEDDLE_DEVICE static void score(Shared& shared, Rings& rings, const Plan& plan, const Step& step,
                                  std::uint32_t t, std::uint32_t k) {
    if (step.tile == 0) {
      auto q = rings.q.acquire_consumer();
      std::move(q).release_without_signal();
    }
    tcgen05_mma(plan.template region<"scores">(t), shared.q[t].operand(), shared.k[k].operand(), false);
    if (step.tile + 1 == step.tiles) rings.q.backend().arrive_empty(t, CallSite::here());
  }
  HEDDLE_DEVICE static void add_values(Shared& shared, Rings& rings, const Plan& plan, const Step& step,
                                       std::uint32_t t, std::uint32_t v) {
    auto o = rings.output.acquire_producer();
    tcgen05_mma(plan.template region<"output">(t), plan.template region<"weights">(t).operand(),
                shared.v[v].template operand<Major::kMN>(), step.tile != 0);
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
      load_row(plan.template region<"scores">(t), s);
      mask(s, params, step, first_query(step, t));
      if (step.tile == 0) softmax = RowSoftmax{};
      const float rescaling = softmax.follow(s.largest(), params.factor);
      if (step.tile != 0) tell(shared, rings, t, rescaling);
      HEDDLE_UNROLL
      for (std::uint32_t first = 0; first < Row::count; first += kCols) {
        float weights[kCols];
        HEDDLE_UNROLL
        for (std::uint32_t i = 0; i < kCols; ++i) weights[i] = softmax.weigh(s[first + i], params.factor);
        plan.template region<"weights">(t).store(weights, first);
      }
      isa::tcgen05_wait_st();
      std::move(stage).release();
      scores.consumer_skip(kTiles - 1);
      if (step.tile + 1 == step.tiles) end_row(params, shared, rings, steps, step, t, softmax);
    }
  }

  HEDDLE_DEVICE static void mask(Row& s, const Params& params, const Step& step, std::int32_t first_query) {
    CappedScores::apply(
        s, params.score,
        {.first_query = first_query, .first_key = step.first_key, .head = step.head, .batch = step.batch});
    const std::int32_t row = first_query + static_cast<std::int32_t>(Row::row(0));
    mask_row<config.is_causal, config.has_window>(s, {.first_key = step.first_key,
                                                      .keys = params.extents.keys,
                                                      .seen = row + params.extents.offset + 1,
                                                      .window = params.extents.window});
  }

  // A number for each query, to the correction.
  HEDDLE_DEVICE static void tell(Shared& shared, Rings& rings, std::uint32_t t, float number) {
    auto stage = rings.rows.acquire_producer();
    isa::st_shared(&shared.rows[t][Row::row(0)], number);
    std::move(stage).release_elected();
    for (std::uint32_t i = 1; i < kTiles; ++i) rings.rows.producer_step();
  }

  // What the sums are to be multiplied with in the end, and the logarithm. A sink is a score without a value.
  HEDDLE_DEVICE static void end_row(const Params& params, Shared& shared, Rings& rings, const Steps& steps,
                                    const Step& step, std::uint32_t t, const RowSoftmax& softmax) {
    const RowSoftmax::End end = softmax.end(params.factor, log2_sink(params.sinks, step.head));
    const std::int32_t query = first_query(step, t) + static_cast<std::int32_t>(Row::row(0));
    if (params.lse != nullptr && query < params.extents.queries) {
      isa::st_global(&params.lse[steps.lse_row(step) + static_cast<std::uint64_t>(query)], end.log2_sum * kLn2);
    }
    tell(shared, rings, t, end.sum > 0.0f ? isa::rcp_approx_f32(end.sum) : 0.0f);
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
        store(params, stores, plan.template region<"output">(t), factor, step, first_query(step, t));
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

  template <class Stores>
  HEDDLE_DEVICE static void store(const Params& params, Stores& stores, const OutputTmem& sums, float factor,
                                  const Step& step, std::int32_t row) {
    HEDDLE_UNROLL
    for (std::uint32_t first = 0; first < config.value_dim; first += kStoredCols) {
      auto stage = stores.acquire();
      HEDDLE_UNROLL
      for (std::uint32_t col = 0; col < kStoredCols; col += kCols) {
        TmemFragment<float, kCols> part;
        sums.load(part, first + col);
        isa::tcgen05_wait_ld();
        float values[kCols];
        HEDDLE_UNROLL
        for (std::uint32_t i = 0; i < kCols; ++i) values[i] = part[i] * factor;
        fill_row(stage.tile(), Row::row(0), col, values);
      }
      std::move(stage).release(&params.o, {static_cast<std::int32_t>(first), row, step.head, step.batch});
    }
  }
};

}  // namespace heddle::inline HEDDLE_TARGET
