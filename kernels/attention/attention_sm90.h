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

#include "attention_forward.h"

#include <heddle/isa/grid_dependency.h>
#include <heddle/isa/registers.h>
#include <heddle/kernel/barriers.h>
#include <heddle/kernel/cta_life.h>
#include <heddle/kernel/named_barriers.h>
#include <heddle/kernel/roles.h>
#include <heddle/kernel/shared_memory.h>
#include <heddle/kernel/turns.h>
#include <heddle/pipeline/pipeline.h>
#include <heddle/pipeline/pipeline_storage.h>
#include <heddle/pipeline/store_tile_pipeline.h>
#include <heddle/tile/online_softmax.h>
#include <heddle/tile/wgmma_sums.h>

#include <type_traits>
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
  std::uint32_t streams = 1;   // tiles of queries at a time, each with warpgroups and rings of its own
  bool takes_turns = true;     // warpgroups of a stream, at starting to multiply
  bool is_causal = false;
  bool has_window = false;   // with a causal mask: queries see a number of keys before their own
  bool has_offsets = false;  // batches may lie one after another

  HEDDLE_HOST_DEVICE constexpr std::uint32_t queries() const { return warpgroups * kWgmmaM; }
  HEDDLE_HOST_DEVICE constexpr std::uint32_t o_piece() const { return o_cols < value_dim ? o_cols : value_dim; }

  bool operator==(const AttentionConfig&) const = default;
};

// The backends are parameters so that mistakes can be planted.
template <Element T, AttentionConfig config, class Score = PlainScores,
          class QBackend = MbarrierBackend<config.q_stages>, class KBackend = MbarrierBackend<config.stages>,
          class VBackend = MbarrierBackend<config.stages>>
struct AttentionSm90 {
  using Work = AttentionForward<T, attention_steps(config, config.queries(), config.streams), kWgmmaM, Score>;
  using Params = typename Work::Params;
  template <std::uint32_t rows, std::uint32_t cols, std::uint32_t count>
  using Tiles = SMemTileArray2D<T, TileShape{rows, cols}, count, cols % 64 == 0 ? Swizzle::k128B : Swizzle::k64B>;
  using QTiles = Tiles<config.queries(), config.head_dim, config.q_stages>;
  using KTiles = Tiles<config.keys, config.head_dim, config.stages>;
  using VTiles = Tiles<config.keys, config.value_dim, config.stages>;
  using OTiles = Tiles<kWgmmaM, config.o_piece(), 1>;

  struct Stream {
    QTiles q;
    KTiles k;
    VTiles v;
    OTiles o[config.warpgroups];
    BarrierPair<config.q_stages> q_barriers;
    BarrierPair<config.stages> k_barriers;
    BarrierPair<config.stages> v_barriers;
  };
  struct Shared {
    Stream streams[config.streams];
  };
  static_assert(check_shared_memory<Shared, Arch::kSm90>());

  static constexpr std::uint32_t kWarpgroups = config.streams * config.warpgroups;
  using Math = Role<"math", 4 * kWarpgroups>;
  using Load = Role<"load", 4>;  // a thread for each stream loads; setmaxnreg wants a whole warpgroup
  using Roles = WarpRoles<Math, Load>;
  using Life = CtaLife<LifeConfig{}, Roles>;
  static constexpr std::uint32_t kThreads = Roles::kThreads;
  static constexpr std::uint32_t kRegisters = isa::entry_registers(kThreads);
  static constexpr std::uint32_t kLoadRegisters = kWarpgroups == 3 ? 32 : config.has_offsets ? 40 : 24;
  static constexpr std::uint32_t kMathRegisters = kWarpgroups == 4     ? 112
                                                  : kWarpgroups == 3   ? 160
                                                  : config.has_offsets ? 232
                                                                       : 240;

  HEDDLE_DEVICE static void run(const Params& params, Shared& all) {
    const std::uint32_t number = stream_number();
    Stream& shared = all.streams[number];
    Rings rings(shared);
    const auto init = [&] {
      for (Stream& stream : all.streams) {
        const Rings of_stream(stream);
        of_stream.q.init_mbars(1, 4 * config.warpgroups);
        of_stream.k.init_mbars(1, 4 * config.warpgroups);
        of_stream.v.init_mbars(1, 4 * config.warpgroups);
      }
    };
    const KernelScope<ClusterConfig{}> scope(
        init, [&] { Life::template prefetch<Load>(params.k, params.q, params.v); });
    if constexpr (config.has_offsets) isa::griddepcontrol_wait();  // everyone reads them
    const Steps steps = Work::steps(params, number);
    if (Roles::template enter<Load>()) {
      isa::setmaxnreg_dec<kLoadRegisters>();
      const bool loads = Roles::template warp_in_role<Load>() < config.streams && !steps.is_empty();
      isa::griddepcontrol_launch_dependents();
      isa::griddepcontrol_wait();
      if (loads && isa::elect_sync()) load(params, shared, rings, steps);
    } else if (Roles::template enter<Math>()) {
      isa::setmaxnreg_inc<kMathRegisters>();
      if (!steps.is_empty()) attend(params, shared, rings, steps, number);
    }
  }

 private:
  struct Rings {
    HEDDLE_DEVICE explicit Rings(Stream& shared)
        : q(shared.q_barriers.ptr(), "q"), k(shared.k_barriers.ptr(), "k"), v(shared.v_barriers.ptr(), "v") {}

    ProducerConsumerPipeline<config.q_stages, QBackend> q;
    ProducerConsumerPipeline<config.stages, KBackend> k;
    ProducerConsumerPipeline<config.stages, VBackend> v;
  };

  using Steps = typename Work::Steps;
  using Step = typename Work::Step;
  static constexpr OperandType kType = operand_type<T>();
  static constexpr WgmmaShape kScoreShape{.n = config.keys, .a = kType, .b = kType};
  static constexpr WgmmaShape kOutputShape{.n = config.value_dim, .a = kType, .b = kType, .b_major = Major::kMN};
  using Scores = WgmmaValues<kScoreShape>;
  using Output = WgmmaValues<kOutputShape>;
  using Barriers = NamedBarriers<BarrierUse<"turns", config.warpgroups>, BarrierUse<"stores", kWarpgroups>,
                                 BarrierUse<"clearing", 1>>;
  static_assert(!config.has_offsets || config.streams == 1, "all warpgroups clear values together");
  using Turns = WarpgroupTurns<config.takes_turns ? config.warpgroups : 1, Barriers::first("turns")>;
  using Stores = StoreTilePipeline<OTiles>;

  // Whose warp this is: math warps follow one another stream by stream, and so do those that load.
  HEDDLE_DEVICE static std::uint32_t stream_number() {
    if constexpr (config.streams == 1) return 0;
    const std::uint32_t warp = isa::warp_idx();
    return warp < Math::warps ? warp / 4 / config.warpgroups : (warp - Math::warps) % config.streams;
  }

  HEDDLE_DEVICE static void load(const Params& params, Stream& shared, Rings& rings, const Steps& steps) {
    load_steps(
        steps, [&](const Step& s) { Work::load(params, params.k, steps, s, rings.k, shared.k); },
        [&](const Step& s) { Work::load_queries(params, steps, s, 0, rings.q, shared.q); },
        [&](const Step& s) { Work::load(params, params.v, steps, s, rings.v, shared.v); });
  }

  // In each step a warpgroup starts the scores of this step and adds the values of the one before. All that
  // decides on the way is the same for all warpgroups, so that it stays in uniform registers: with loops of their
  // own they were 12 % slower. Steps that begin other queries have a text of their own, so that the loop over
  // keys is one row of instructions without a gap.
  HEDDLE_DEVICE static void attend(const Params& params, Stream& shared, Rings& rings, const Steps& steps,
                                   std::uint32_t number) {
    const std::uint32_t warpgroup = Roles::template warp_in_role<Math>() / 4 - number * config.warpgroups;
    const bool is_last_in_turn = warpgroup + 1 == config.warpgroups;
    Turns turns(warpgroup);
    Stores stores(shared.o[warpgroup], Barriers::first("stores") + number * config.warpgroups + warpgroup);
    WgmmaSums<kScoreShape> scores;
    WgmmaSums<kOutputShape> output;
    OnlineSoftmax softmax;
    Step step = steps.first();

    auto q = rings.q.acquire_consumer();
    auto& first = first_scores(shared, rings, turns, scores, queries(shared, q.index(), warpgroup),
                               !is_last_in_turn || !steps.is_last(step));
    Work::mask(first, params, steps, step, warpgroup);
    softmax.weigh(first, params.factor);
    auto weights = to_operand<T>(first);
    output.fill(0.0f);

    Step before = step;
    const auto take_step = [&](std::uint32_t q_stage, auto is_other) {
      constexpr bool is_other_tile = decltype(is_other)::value;
      const bool is_last = steps.is_last(step);
      if constexpr (Work::kClears) clear_values(params, shared, rings, steps, before);
      auto k = rings.k.acquire_consumer();
      auto turn = turns.wait();
      auto scoring = scores.multiply(queries(shared, q_stage, warpgroup), keys(shared, k.index()));
      auto v = rings.v.acquire_consumer();
      auto adding = output.multiply_add(weights, values(shared, v.index()));
      std::move(turn).pass_if(!is_last_in_turn || !is_last);
      auto& s = std::move(scoring).template wait<1>();
      std::move(k).release_elected();
      Work::mask(s, params, steps, step, warpgroup);
      const OnlineSoftmax finished = softmax;
      if constexpr (is_other_tile) softmax = OnlineSoftmax{};
      const bool rescales = softmax.weigh(s, params.factor);
      // Keeps the exponentials ahead of the next wait: ptxas would have them after it, when nothing multiplies.
      // It does not move them over this loop, and they all have a part in its condition.
      if (!is_last & (softmax.own_sum() >= 0.0f)) rings.k.wait_producer();
      auto& o = std::move(adding).wait();
      std::move(v).release_elected();
      if constexpr (is_other_tile) {
        store(params, steps, stores, o, finished, before, warpgroup);
        output.fill(0.0f);
      } else if (rescales) {
        softmax.rescale(o);
      }
      weights = to_operand<T>(s);
      before = step;
    };
    for (;;) {
      while (steps.next_keys(step)) take_step(q.index(), std::false_type{});
      if (!steps.next_queries(step)) break;
      std::move(q).release_elected();
      q = rings.q.acquire_consumer();
      take_step(q.index(), std::true_type{});
    }
    std::move(q).release_elected();
    if constexpr (Work::kClears) clear_values(params, shared, rings, steps, before);
    store(params, steps, stores, last_values(shared, rings, output, weights), softmax, before, warpgroup);
    stores.drain();
  }

  // The scores of the first step, beside which nothing else is multiplied.
  template <class Queries>
  HEDDLE_DEVICE static Scores& first_scores(Stream& shared, Rings& rings, Turns& turns,
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
  HEDDLE_DEVICE static Output& last_values(Stream& shared, Rings& rings, WgmmaSums<kOutputShape>& output,
                                           Weights& weights) {
    auto v = rings.v.acquire_consumer();
    auto adding = output.multiply_add(weights, values(shared, v.index()));
    auto& sums = std::move(adding).wait();
    std::move(v).release_elected();
    return sums;
  }

  HEDDLE_DEVICE static void clear_values(const Params& params, Stream& shared, const Rings& rings,
                                         const Steps& steps, const Step& step) {
    const std::int32_t left = Work::keys_left(params, steps, step);
    if (left >= static_cast<std::int32_t>(config.keys)) return;
    const std::uint32_t first = left < 0 ? 0 : static_cast<std::uint32_t>(left);
    clear_rows_of_next<Math::threads>(rings.v, shared.v, first, Barriers::first("clearing"));
  }

  HEDDLE_DEVICE static auto queries(Stream& shared, std::uint32_t stage, std::uint32_t warpgroup) {
    return shared.q[stage].template slice<kWgmmaM, config.head_dim>(warpgroup).operand();
  }
  HEDDLE_DEVICE static auto keys(Stream& shared, std::uint32_t stage) { return shared.k[stage].operand(); }
  HEDDLE_DEVICE static auto values(Stream& shared, std::uint32_t stage) {
    return shared.v[stage].template operand<Major::kMN>();
  }

  HEDDLE_DEVICE static void store(const Params& params, const Steps& steps, Stores& stores, const Output& o,
                                  const OnlineSoftmax& softmax, const Step& step, std::uint32_t warpgroup) {
    const RowPair factors = Work::end(params, steps, step, warpgroup, softmax);
    Work::store(params, steps, step, warpgroup, stores, o, factors);
  }
};

}  // namespace heddle::inline HEDDLE_TARGET
