// SPDX-License-Identifier: Apache-2.0
//
// Attention of e4m3 for Hopper, with an output of bf16 and scales for each head. As attention_sm90.h: a warpgroup
// starts the scores of the next keys before it adds the values of these, and warpgroups take turns. Weights are
// rounded to e4m3 in registers; values lie with their keys along rows, since wgmma reads numbers of 8 bits along
// K alone.
#pragma once

#include "attention_load.h"
#include "attention_mask.h"
#include "attention_scores.h"
#include "attention_steps.h"
#include "attention_store.h"

#include <heddle/isa/grid_dependency.h>
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
#include <heddle/tile/byte_operand.h>
#include <heddle/tile/online_softmax.h>
#include <heddle/tile/wgmma_sums.h>

#include <utility>

namespace heddle::inline HEDDLE_TARGET {

struct AttentionFp8Config {
  std::uint32_t head_dim = 128;
  std::uint32_t keys = 128;  // of a tile of K and of V, a multiple of 32
  std::uint32_t warpgroups = 2;
  std::uint32_t stages = 4;  // of K, and of V
  bool is_causal = false;

  HEDDLE_HOST_DEVICE constexpr std::uint32_t queries() const { return warpgroups * kWgmmaM; }

  bool operator==(const AttentionFp8Config&) const = default;
};

struct AttentionFp8Params {
  isa::TensorMap q;  // {dim, query, head, batch}
  isa::TensorMap k;  // {dim, key, key head, batch}
  isa::TensorMap v;  // {key, dim, key head, batch}
  isa::TensorMap o;  // as q
  AttentionSteps::Extents extents;
  std::int32_t heads_per_key_head;
  float* lse;             // [batches, heads, queries], or null
  const float* q_scales;  // [heads], or null: 1
  const float* k_scales;  // [key heads], or null
  const float* v_scales;
  float factor;  // of scores, for powers of two

  HEDDLE_DEVICE float score_factor(std::int32_t head) const {
    return factor * scale_of(q_scales, head) * scale_of(k_scales, head / heads_per_key_head);
  }
  HEDDLE_DEVICE float value_scale(std::int32_t head) const {
    return scale_of(v_scales, head / heads_per_key_head);
  }

 private:
  HEDDLE_DEVICE static float scale_of(const float* scales, std::int32_t head) {
    return scales == nullptr ? 1.0f : isa::ld_global(&scales[head]);
  }
};

// The backends are parameters so that mistakes can be planted.
template <AttentionFp8Config config, class KBackend = MbarrierBackend<config.stages>,
          class VBackend = MbarrierBackend<config.stages>>
struct AttentionFp8Sm90 {
  using Params = AttentionFp8Params;
  static constexpr std::uint32_t kQStages = 2;
  using QTiles = SMemTileArray2D<e4m3, TileShape{config.queries(), config.head_dim}, kQStages>;
  using KTiles = SMemTileArray2D<e4m3, TileShape{config.keys, config.head_dim}, config.stages>;
  using VTiles = SMemTileArray2D<e4m3, TileShape{config.head_dim, config.keys}, config.stages>;
  using OTiles = SMemTileArray2D<bf16, TileShape{kWgmmaM, config.head_dim}, 1>;

  struct Shared {
    QTiles q;
    KTiles k;
    VTiles v;
    OTiles o[config.warpgroups];
    BarrierPair<kQStages> q_barriers;
    BarrierPair<config.stages> k_barriers;
    BarrierPair<config.stages> v_barriers;
  };
  static_assert(check_shared_memory<Shared, Arch::kSm90>());

  using Math = Role<"math", 4 * config.warpgroups>;
  using Load = Role<"load", 4>;  // one thread loads; setmaxnreg wants a whole warpgroup
  using Roles = WarpRoles<Math, Load>;
  static constexpr std::uint32_t kThreads = Roles::kThreads;
  static constexpr std::uint32_t kRegisters = isa::entry_registers(kThreads);

  HEDDLE_DEVICE static void run(const Params& params, Shared& shared) {
    Rings rings(shared);
    const KernelScope<ClusterConfig{}> scope([&] {
      rings.q.init_mbars(1, Math::warps);
      rings.k.init_mbars(1, Math::warps);
      rings.v.init_mbars(1, Math::warps);
    });
    const Steps steps(params.extents);
    if (Roles::template enter<Load>()) {
      isa::setmaxnreg_dec<24>();
      const bool loads = Roles::template warp_in_role<Load>() == 0;
      isa::griddepcontrol_launch_dependents();
      isa::griddepcontrol_wait();
      if (loads && isa::elect_sync()) load(params, shared, rings, steps);
    } else if (Roles::template enter<Math>()) {
      isa::setmaxnreg_inc<240>();
      attend(params, shared, rings, steps);
    }
  }

 private:
  struct Rings {
    HEDDLE_DEVICE explicit Rings(Shared& shared)
        : q(shared.q_barriers.ptr(), "q"), k(shared.k_barriers.ptr(), "k"), v(shared.v_barriers.ptr(), "v") {}

    ProducerConsumerPipeline<kQStages> q;
    ProducerConsumerPipeline<config.stages, KBackend> k;
    ProducerConsumerPipeline<config.stages, VBackend> v;
  };

  using Steps = AttentionSteps::Of<AttentionSteps::Options{.queries = config.queries(),
                                                           .keys = config.keys,
                                                           .is_causal = config.is_causal,
                                                           .has_window = false,
                                                           .has_offsets = false,
                                                           .streams = 1}>;
  using Step = AttentionSteps::Step;
  static constexpr OperandType kType = operand_type<e4m3>();
  static constexpr WgmmaShape kScoreShape{.n = config.keys, .a = kType, .b = kType};
  static constexpr WgmmaShape kOutputShape{.n = config.head_dim, .a = kType, .b = kType};
  using Scores = WgmmaValues<kScoreShape>;
  using Output = WgmmaValues<kOutputShape>;
  using Barriers = NamedBarriers<BarrierUse<"turns", config.warpgroups>, BarrierUse<"stores", config.warpgroups>>;
  using Turns = WarpgroupTurns<config.warpgroups, Barriers::first("turns")>;
  using Stores = StoreTilePipeline<OTiles>;
  // Weights up to 2^8 of at most 448, so that few of those far below the largest are lost.
  using Softmax = OnlineSoftmaxOf<SoftmaxRange{.slack = 4, .lift = 4}>;

  HEDDLE_DEVICE static void load(const Params& params, Shared& shared, Rings& rings, const Steps& steps) {
    const auto key_head = [&](const Step& s) { return s.head / params.heads_per_key_head; };
    load_steps(
        steps,
        [&](const Step& s) {
          load_stage(rings.k, shared.k, params.k, {0, s.first_key, key_head(s), s.batch});
        },
        [&](const Step& s) {
          load_stage(rings.q, shared.q, params.q, {0, s.first_query, s.head, s.batch});
        },
        [&](const Step& s) {
          load_stage(rings.v, shared.v, params.v, {s.first_key, 0, key_head(s), s.batch});
        });
  }

  HEDDLE_DEVICE static void attend(const Params& params, Shared& shared, Rings& rings, const Steps& steps) {
    const std::uint32_t warpgroup = Roles::template warp_in_role<Math>() / 4;
    const bool is_last_in_turn = warpgroup + 1 == config.warpgroups;
    Turns turns(warpgroup);
    Stores stores(shared.o[warpgroup], Barriers::first("stores") + warpgroup);
    WgmmaSums<kScoreShape> scores;
    WgmmaSums<kOutputShape> output;
    Softmax softmax;
    Step step = steps.first();

    auto q = rings.q.acquire_consumer();
    auto& first = first_scores(shared, rings, turns, scores, queries(shared, q.index(), warpgroup),
                               !is_last_in_turn || !steps.is_last(step));
    mask(first, params, step, warpgroup);
    softmax.weigh(first, params.score_factor(step.head));
    auto weights = to_byte_operand<e4m3>(first);
    output.fill(0.0f);

    Step before = step;
    for (; steps.next(step); before = step) {
      const bool is_other_tile = step.tile == 0;
      const bool is_last = steps.is_last(step);
      if (is_other_tile) {
        std::move(q).release_elected();
        q = rings.q.acquire_consumer();
      }
      const float factor = params.score_factor(step.head);
      auto k = rings.k.acquire_consumer();
      auto turn = turns.wait();
      auto scoring = scores.multiply(queries(shared, q.index(), warpgroup), shared.k[k.index()].operand());
      auto v = rings.v.acquire_consumer();
      auto adding = output.multiply_add(weights, shared.v[v.index()].operand());
      std::move(turn).pass_if(!is_last_in_turn || !is_last);
      auto& s = std::move(scoring).template wait<1>();
      std::move(k).release_elected();
      mask(s, params, step, warpgroup);
      const Softmax finished = softmax;
      if (is_other_tile) softmax = Softmax{};
      const bool rescales = softmax.weigh(s, factor);
      // As in attention_sm90.h: keeps the exponentials ahead of the next wait.
      if (!is_last & (softmax.own_sum() >= 0.0f)) rings.k.wait_producer();
      auto& o = std::move(adding).wait();
      std::move(v).release_elected();
      if (is_other_tile) {
        store(params, steps, stores, o, finished, before, warpgroup);
        output.fill(0.0f);
      } else if (rescales) {
        softmax.rescale(o);
      }
      weights = to_byte_operand<e4m3>(s);
    }
    std::move(q).release_elected();
    store(params, steps, stores, last_values(shared, rings, output, weights), softmax, before, warpgroup);
    stores.drain();
  }

  // The scores of the first step, beside which nothing else is multiplied.
  template <class Queries>
  HEDDLE_DEVICE static Scores& first_scores(Shared& shared, Rings& rings, Turns& turns,
                                            WgmmaSums<kScoreShape>& scores, const Queries& q, bool passes_turn) {
    auto k = rings.k.acquire_consumer();
    auto turn = turns.wait();
    auto scoring = scores.multiply(q, shared.k[k.index()].operand());
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
    auto adding = output.multiply_add(weights, shared.v[v.index()].operand());
    auto& sums = std::move(adding).wait();
    std::move(v).release_elected();
    return sums;
  }

  HEDDLE_DEVICE static auto queries(Shared& shared, std::uint32_t stage, std::uint32_t warpgroup) {
    return shared.q[stage].template slice<kWgmmaM, config.head_dim>(warpgroup).operand();
  }

  HEDDLE_DEVICE static void mask(Scores& s, const Params& params, const Step& step, std::uint32_t warpgroup) {
    const std::int32_t first_query = step.first_query + static_cast<std::int32_t>(warpgroup * kWgmmaM);
    mask_scores<config.is_causal, false>(s, {.first_key = step.first_key,
                                             .keys = params.extents.keys,
                                             .seen = first_query + params.extents.offset + 1,
                                             .window = 0});
  }

  HEDDLE_DEVICE static void store(const Params& params, const Steps& steps, Stores& stores, const Output& o,
                                  const Softmax& softmax, const Step& step, std::uint32_t warpgroup) {
    const std::int32_t first_query = step.first_query + static_cast<std::int32_t>(warpgroup * kWgmmaM);
    const auto end = softmax.end(params.score_factor(step.head));
    const float scale = params.value_scale(step.head);
    store_sums(stores, &params.o, {0, first_query, step.head, step.batch}, o,
               RowPair{{end.inverse[0] * scale, end.inverse[1] * scale}});
    if (params.lse != nullptr) {
      store_lse(params.lse + steps.lse_row(step), first_query, params.extents.queries, end.log2_sum);
    }
  }
};

}  // namespace heddle::inline HEDDLE_TARGET
