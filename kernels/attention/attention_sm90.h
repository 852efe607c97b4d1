// SPDX-License-Identifier: Apache-2.0
//
// Attention for Hopper: O = softmax(Q K^T * scale) V, for every head of every batch. A CTA lives as long as there
// is work and has tiles of 64 queries for each of its math warpgroups; a warp loads tiles of Q, K and V into
// rings of their own. Scores, weights and sums stay in registers.
//
// A warpgroup starts the scores of the next tile of keys before it adds the values of this one, and has its
// softmax while that addition runs; warpgroups take turns at starting, so that one multiplies while another has
// its softmax. The next tile of keys may be the first of other queries: outputs are stored while their scores are
// computed.
#pragma once

#include "attention_scores.h"
#include "attention_steps.h"

#include <heddle/isa/grid_dependency.h>
#include <heddle/isa/math.h>
#include <heddle/isa/matrix.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/registers.h>
#include <heddle/kernel/barriers.h>
#include <heddle/kernel/named_barriers.h>
#include <heddle/kernel/roles.h>
#include <heddle/kernel/shared_memory.h>
#include <heddle/kernel/turns.h>
#include <heddle/pipeline/pipeline.h>
#include <heddle/pipeline/pipeline_storage.h>
#include <heddle/pipeline/store_tile_pipeline.h>
#include <heddle/tile/convert.h>
#include <heddle/tile/load_tile.h>
#include <heddle/tile/online_softmax.h>
#include <heddle/tile/wgmma_sums.h>

#include <utility>

namespace heddle::inline HEDDLE_TARGET {

struct AttentionConfig {
  std::uint32_t head_dim = 128;   // of Q and K
  std::uint32_t value_dim = 128;  // of V and O
  std::uint32_t keys = 128;       // of a tile of K and of V, a multiple of 16
  std::uint32_t warpgroups = 2;   // that multiply, with 64 queries each
  std::uint32_t q_stages = 2;
  std::uint32_t stages = 2;    // of K, and of V
  std::uint32_t o_cols = 128;  // of a piece of O on its way out
  bool is_causal = false;
  bool has_window = false;  // with a causal mask: queries see a number of keys before their own

  HEDDLE_HOST_DEVICE constexpr std::uint32_t queries() const { return warpgroups * kWgmmaM; }
  HEDDLE_HOST_DEVICE constexpr std::uint32_t o_piece() const { return o_cols < value_dim ? o_cols : value_dim; }

  bool operator==(const AttentionConfig&) const = default;
};

template <class Score>
struct AttentionSm90Params {
  isa::TensorMap q;  // {dim, query, head, batch}
  isa::TensorMap k;  // {dim, key, key head, batch}
  isa::TensorMap v;
  isa::TensorMap o;  // as q
  AttentionSteps::Extents extents;
  std::uint32_t heads_per_key_head;
  float* lse;          // [batches, heads, queries], or null
  const float* sinks;  // [heads], or null
  float factor;        // of scores, for powers of two
  typename Score::Params score;
};

// The backends are parameters so that mistakes can be planted.
template <Element T, AttentionConfig config, class Score = PlainScores,
          class QBackend = MbarrierBackend<config.q_stages>, class KBackend = MbarrierBackend<config.stages>,
          class VBackend = MbarrierBackend<config.stages>>
struct AttentionSm90 {
  using Params = AttentionSm90Params<Score>;
  using QTiles = SMemTileArray2D<T, TileShape{config.queries(), config.head_dim}, config.q_stages>;
  using KTiles = SMemTileArray2D<T, TileShape{config.keys, config.head_dim}, config.stages>;
  using VTiles = SMemTileArray2D<T, TileShape{config.keys, config.value_dim}, config.stages>;
  using OTiles = SMemTileArray2D<T, TileShape{kWgmmaM, config.o_piece()}, 1>;

  struct Shared {
    QTiles q;
    KTiles k;
    VTiles v;
    OTiles o[config.warpgroups];
    BarrierPair<config.q_stages> q_barriers;
    BarrierPair<config.stages> k_barriers;
    BarrierPair<config.stages> v_barriers;
  };
  static_assert(check_shared_memory<Shared, Arch::kSm90>());

  using Math = Role<"math", 4 * config.warpgroups>;
  using Load = Role<"load", 4>;  // one thread of it loads; setmaxnreg wants a whole warpgroup
  using Roles = WarpRoles<Math, Load>;
  static constexpr std::uint32_t kThreads = Roles::kThreads;
  static constexpr std::uint32_t kRegisters = isa::entry_registers(kThreads);
  static constexpr std::uint32_t kLoadRegisters = config.warpgroups == 2 ? 24 : 32;
  static constexpr std::uint32_t kMathRegisters = config.warpgroups == 2 ? 240 : 160;

  HEDDLE_DEVICE static void run(const Params& params, Shared& shared) {
    Rings rings(shared);
    const KernelScope<ClusterConfig{}> scope([&] {
      rings.q.init_mbars(1, Math::warps);
      rings.k.init_mbars(1, Math::warps);
      rings.v.init_mbars(1, Math::warps);
    });
    if (Roles::template enter<Load>()) {
      isa::setmaxnreg_dec<kLoadRegisters>();
      const bool is_first_warp = Roles::template warp_in_role<Load>() == 0;
      isa::griddepcontrol_launch_dependents();
      isa::griddepcontrol_wait();
      if (is_first_warp && isa::elect_sync()) load(params, shared, rings);
    } else if (Roles::template enter<Math>()) {
      isa::setmaxnreg_inc<kMathRegisters>();
      attend(params, shared, rings);
    }
  }

 private:
  struct Rings {
    HEDDLE_DEVICE explicit Rings(Shared& shared)
        : q(shared.q_barriers.ptr(), "q"), k(shared.k_barriers.ptr(), "k"), v(shared.v_barriers.ptr(), "v") {}

    ProducerConsumerPipeline<config.q_stages, QBackend> q;
    ProducerConsumerPipeline<config.stages, KBackend> k;
    ProducerConsumerPipeline<config.stages, VBackend> v;
  };

  using Steps = AttentionSteps::Of<config.queries(), config.keys, config.is_causal, config.has_window>;
  using Step = AttentionSteps::Step;
  static constexpr OperandType kType = operand_type<T>();
  static constexpr WgmmaShape kScoreShape{.n = config.keys, .a = kType, .b = kType};
  static constexpr WgmmaShape kOutputShape{.n = config.value_dim, .a = kType, .b = kType, .b_major = Major::kMN};
  using Scores = WgmmaValues<kScoreShape>;
  using Output = WgmmaValues<kOutputShape>;
  using Barriers = NamedBarriers<BarrierUse<"turns", config.warpgroups>, BarrierUse<"stores", config.warpgroups>>;
  using Turns = WarpgroupTurns<config.warpgroups, Barriers::first("turns")>;
  using Stores = StoreTilePipeline<OTiles>;

  // In the order in which the math wants them: keys ahead of values by a step, and ahead of their queries, whose
  // place may be given back only after a wait for those keys.
  HEDDLE_DEVICE static void load(const Params& params, Shared& shared, Rings& rings) {
    const Steps steps(params.extents);
    Step before = steps.first();
    load_keys(params, shared, rings, before);
    load_queries(params, shared, rings, before);
    for (Step step = before; steps.next(step); before = step) {
      load_keys(params, shared, rings, step);
      if (step.tile == 0) load_queries(params, shared, rings, step);
      load_values(params, shared, rings, before);
    }
    load_values(params, shared, rings, before);
  }

  HEDDLE_DEVICE static void load_queries(const Params& params, Shared& shared, Rings& rings, const Step& step) {
    const auto stage = rings.q.produce();
    stage.expect_bytes(QTiles::Tile::tx_bytes());
    load_tile(shared.q[stage.index()], &params.q, {0, step.first_query, step.head, step.batch}, stage.mbar());
  }
  HEDDLE_DEVICE static void load_keys(const Params& params, Shared& shared, Rings& rings, const Step& step) {
    const auto stage = rings.k.produce();
    stage.expect_bytes(KTiles::Tile::tx_bytes());
    load_tile(shared.k[stage.index()], &params.k, {0, step.first_key, key_head(params, step), step.batch},
              stage.mbar());
  }
  HEDDLE_DEVICE static void load_values(const Params& params, Shared& shared, Rings& rings, const Step& step) {
    const auto stage = rings.v.produce();
    stage.expect_bytes(VTiles::Tile::tx_bytes());
    load_tile(shared.v[stage.index()], &params.v, {0, step.first_key, key_head(params, step), step.batch},
              stage.mbar());
  }
  HEDDLE_DEVICE static std::int32_t key_head(const Params& params, const Step& step) {
    return step.head / static_cast<std::int32_t>(params.heads_per_key_head);
  }

  // In each step a warpgroup starts the scores of this step and adds the values of the one before. All that
  // decides on the way is the same for all warpgroups, so that it stays in uniform registers: with loops of their
  // own they were 12 % slower.
  HEDDLE_DEVICE static void attend(const Params& params, Shared& shared, Rings& rings) {
    const std::uint32_t warpgroup = Roles::template warp_in_role<Math>() / 4;
    const bool is_last_in_turn = warpgroup + 1 == config.warpgroups;
    Turns turns(warpgroup);
    Stores stores(shared.o[warpgroup], Barriers::first("stores") + warpgroup);
    WgmmaSums<kScoreShape> scores;
    WgmmaSums<kOutputShape> output;
    OnlineSoftmax softmax;
    const Steps steps(params.extents);
    Step step = steps.first();

    auto q = rings.q.acquire_consumer();
    auto& first = first_scores(shared, rings, turns, scores, queries(shared, q.index(), warpgroup),
                               !is_last_in_turn || !steps.is_last(step));
    mask(first, params, step, warpgroup);
    softmax.weigh(first, params.factor);
    auto weights = to_operand<T>(first);
    output.fill(0.0f);

    Step before = step;
    for (; steps.next(step); before = step) {
      const bool is_other_tile = step.tile == 0;
      const bool is_last = steps.is_last(step);
      if (is_other_tile) {
        std::move(q).release_elected();
        q = rings.q.acquire_consumer();
      }
      auto k = rings.k.acquire_consumer();
      auto turn = turns.wait();
      auto scoring = scores.multiply(queries(shared, q.index(), warpgroup), keys(shared, k.index()));
      auto v = rings.v.acquire_consumer();
      auto adding = output.multiply_add(weights, values(shared, v.index()));
      std::move(turn).pass_if(!is_last_in_turn || !is_last);
      auto& s = std::move(scoring).template wait<1>();
      std::move(k).release_elected();
      mask(s, params, step, warpgroup);
      const OnlineSoftmax finished = softmax;
      if (is_other_tile) softmax = OnlineSoftmax{};
      const bool rescales = softmax.weigh(s, params.factor);
      // Keeps the exponentials ahead of the next wait: ptxas would have them after it, when nothing multiplies.
      // It does not move them over this loop, and they all have a part in its condition.
      if (!is_last & (softmax.own_sum() >= 0.0f)) rings.k.wait_producer();
      auto& o = std::move(adding).wait();
      std::move(v).release_elected();
      if (is_other_tile) {
        store(params, stores, o, finished, before, warpgroup);
        output.fill(0.0f);
      } else if (rescales) {
        softmax.rescale(o);
      }
      weights = to_operand<T>(s);
    }
    std::move(q).release_elected();
    store(params, stores, last_values(shared, rings, output, weights), softmax, before, warpgroup);
    stores.drain();
  }

  // The scores of the first step, beside which nothing else is multiplied.
  template <class Queries>
  HEDDLE_DEVICE static Scores& first_scores(Shared& shared, Rings& rings, Turns& turns,
                                            WgmmaSums<kScoreShape>& scores, const Queries& q, bool passes_turn) {
    auto k = rings.k.acquire_consumer();
    auto turn = turns.wait();
    auto scoring = scores.multiply(q, keys(shared, k.index()));
    std::move(turn).pass_if(passes_turn);
    auto& values = std::move(scoring).wait();
    std::move(k).release_elected();
    return values;
  }

  // The sums with the values of the last step.
  template <class Weights>
  HEDDLE_DEVICE static Output& last_values(Shared& shared, Rings& rings, WgmmaSums<kOutputShape>& output,
                                           Weights& weights) {
    auto v = rings.v.acquire_consumer();
    auto adding = output.multiply_add(weights, values(shared, v.index()));
    auto& sums = std::move(adding).wait();
    std::move(v).release_elected();
    return sums;
  }

  HEDDLE_DEVICE static auto queries(Shared& shared, std::uint32_t stage, std::uint32_t warpgroup) {
    return shared.q[stage].template slice<kWgmmaM, config.head_dim>(warpgroup).operand();
  }
  HEDDLE_DEVICE static auto keys(Shared& shared, std::uint32_t stage) { return shared.k[stage].operand(); }
  HEDDLE_DEVICE static auto values(Shared& shared, std::uint32_t stage) {
    return shared.v[stage].template operand<Major::kMN>();
  }

  // What the policy makes of the scores; those of keys that a query does not see, or that do not exist, become
  // minus infinity.
  HEDDLE_DEVICE static void mask(Scores& s, const Params& params, const Step& step, std::uint32_t warpgroup) {
    const std::int32_t first_query = step.first_query + static_cast<std::int32_t>(warpgroup * kWgmmaM);
    Score::apply(
        s, params.score,
        {.first_query = first_query, .first_key = step.first_key, .head = step.head, .batch = step.batch});
    const std::int32_t end = step.first_key + static_cast<std::int32_t>(config.keys);
    const std::int32_t seen = config.is_causal ? first_query + params.extents.offset + 1 : end;
    // Counted from this thread's first key and row.
    const auto row = static_cast<std::int32_t>(Scores::row(0));
    const std::int32_t first = step.first_key + static_cast<std::int32_t>(Scores::col(0));
    if (end > params.extents.keys || end > seen) {
      HEDDLE_UNROLL
      for (std::uint32_t i = 0; i < Scores::count; ++i) {
        const std::int32_t causal = seen + row + static_cast<std::int32_t>(Scores::row_of_pair(i) * 8);
        const bool is_causal_limit = config.is_causal && causal < params.extents.keys;
        if (offset_of(i) >= (is_causal_limit ? causal : params.extents.keys) - first)
          s[i] = -__builtin_huge_valf();
      }
    }
    if constexpr (config.has_window) {
      const std::int32_t begin = seen - params.extents.window;
      if (step.first_key >= begin + static_cast<std::int32_t>(kWgmmaM) - 1) return;
      HEDDLE_UNROLL
      for (std::uint32_t i = 0; i < Scores::count; ++i) {
        const std::int32_t of_row = begin + row + static_cast<std::int32_t>(Scores::row_of_pair(i) * 8);
        if (offset_of(i) < of_row - first) s[i] = -__builtin_huge_valf();
      }
    }
  }
  HEDDLE_DEVICE static constexpr std::int32_t offset_of(std::uint32_t i) {
    return static_cast<std::int32_t>(i / 4 * 8 + i % 2);
  }

  HEDDLE_DEVICE static void store(const Params& params, Stores& stores, const Output& o,
                                  const OnlineSoftmax& softmax, const Step& step, std::uint32_t warpgroup) {
    const std::int32_t first_query = step.first_query + static_cast<std::int32_t>(warpgroup * kWgmmaM);
    const RowPair sums = softmax.sums();
    // A sink is a score without a value.
    const float sink = params.sinks == nullptr ? -__builtin_huge_valf()
                                               : isa::ld_global(&params.sinks[step.head]) * 1.44269504089f;
    RowPair inverse;
    HEDDLE_UNROLL
    for (std::uint32_t row = 0; row < 2; ++row) {
      const float sum = sums[row] + softmax.weight_of(row, sink, params.factor);
      inverse[row] = sum > 0.0f ? isa::rcp_approx_f32(sum) : 0.0f;
    }
    const std::uint32_t lane = isa::laneid();
    const std::uint32_t row = isa::warp_idx() % 4 * 16 + lane % 16;
    HEDDLE_UNROLL
    for (std::uint32_t first_col = 0; first_col < config.value_dim; first_col += config.o_piece()) {
      auto stage = stores.acquire();
      const auto tile = stage.tile();
      HEDDLE_UNROLL
      for (std::uint32_t col = 0; col < config.o_piece(); col += 16) {
        std::uint32_t pairs[4];
        HEDDLE_UNROLL
        for (std::uint32_t j = 0; j < 4; ++j) {
          const std::uint32_t i = (first_col + col) / 2 + 2 * j;
          pairs[j] = pack_pair<T>(o[i] * inverse[j % 2], o[i + 1] * inverse[j % 2]);
        }
        isa::stmatrix_x4(tile.pointer(row, col + lane / 16 * 8), pairs);
      }
      std::move(stage).release(&params.o,
                               {static_cast<std::int32_t>(first_col), first_query, step.head, step.batch});
    }
    if (params.lse == nullptr || lane % 4 != 0) return;
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < 2; ++i) {
      constexpr float kLn2 = 0.69314718056f;
      const std::int32_t query = first_query + static_cast<std::int32_t>(Output::row(2 * i));
      if (query >= params.extents.queries) continue;
      const auto head = static_cast<std::uint64_t>(step.batch * params.extents.heads + step.head);
      isa::st_global(&params.lse[head * static_cast<std::uint64_t>(params.extents.queries) +
                                 static_cast<std::uint64_t>(query)],
                     kLn2 * softmax.log2_sum(i, sums[i], params.factor, sink));
    }
  }
};

}  // namespace heddle::inline HEDDLE_TARGET
