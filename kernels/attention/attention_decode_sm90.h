// SPDX-License-Identifier: Apache-2.0
//
// Attention for few queries and many keys, on Hopper: what reads K and V fastest is fastest. The queries of all
// heads that share a head of keys are the rows of one tile. A CTA has two workers, each a math warpgroup with
// rings of its own; a worker has an equal part of all keys (attention_pieces.h). Where a head's keys are in
// several pieces, each worker writes what it found, and a second kernel joins these (attention_join.h).
//
// K and V may lie in pages: a table gives the page of each so many keys. Pages that the table has no right to
// name are read as zeros, never outside of the tensors: the copy engine knows how many there are.
#pragma once

#include "attention_decode_params.h"
#include "attention_load.h"
#include "attention_pages.h"

#include <heddle/isa/fence.h>
#include <heddle/isa/grid_dependency.h>
#include <heddle/isa/memory.h>
#include <heddle/kernel/barriers.h>
#include <heddle/kernel/cta_life.h>
#include <heddle/kernel/named_barriers.h>
#include <heddle/kernel/roles.h>
#include <heddle/kernel/shared_memory.h>
#include <heddle/pipeline/pipeline.h>
#include <heddle/pipeline/pipeline_storage.h>
#include <heddle/tile/convert.h>
#include <heddle/tile/online_softmax.h>
#include <heddle/tile/wgmma_sums.h>

#include <utility>

namespace heddle::inline HEDDLE_TARGET {

struct AttentionDecodeConfig {
  std::uint32_t head_dim = 128;
  std::uint32_t value_dim = 128;
  std::uint32_t keys = 64;       // of a tile
  std::uint32_t page_rows = 64;  // of a copy: pages have a multiple of them
  std::uint32_t stages = 3;      // of K, and of V
  std::uint32_t workers = 2;     // of a CTA

  bool operator==(const AttentionDecodeConfig&) const = default;
};

// The backends are parameters so that mistakes can be planted.
template <Element T, AttentionDecodeConfig config, class KBackend = MbarrierBackend<config.stages>,
          class VBackend = MbarrierBackend<config.stages>>
struct AttentionDecodeSm90 {
  using Params = AttentionDecodeParams;
  using QTiles = SMemTileArray2D<T, TileShape{kWgmmaM, config.head_dim}, 1>;
  using KTiles = SMemTileArray2D<T, TileShape{config.keys, config.head_dim}, config.stages>;
  using VTiles = SMemTileArray2D<T, TileShape{config.keys, config.value_dim}, config.stages>;
  // What a copy brings.
  using KPage = SMemTileArray2D<T, TileShape{config.page_rows, config.head_dim}, 1>;
  using VPage = SMemTileArray2D<T, TileShape{config.page_rows, config.value_dim}, 1>;

  struct Worker {
    QTiles q;
    KTiles k;
    VTiles v;
    BarrierPair<1> q_barriers;
    BarrierPair<config.stages> k_barriers;
    BarrierPair<config.stages> v_barriers;
  };
  struct Shared {
    Worker workers[config.workers];
  };
  static_assert(check_shared_memory<Shared, Arch::kSm90>());

  using Math = Role<"math", 4 * config.workers>;
  using Load = Role<"load", config.workers>;                 // K and V
  using LoadQueries = Role<"load_queries", config.workers>;  // apart, so that K and V never wait for them
  using Roles = WarpRoles<Math, Load, LoadQueries>;
  using Life = CtaLife<LifeConfig{}, Roles>;
  static constexpr std::uint32_t kThreads = Roles::kThreads;

  HEDDLE_DEVICE static void run(const Params& params, Shared& shared) {
    const auto init = [&] {
      for (Worker& worker : shared.workers) {
        Rings rings(worker);
        rings.q.init_mbars(1, 4);
        rings.k.init_mbars(1, 4);
        rings.v.init_mbars(1, 4);
      }
    };
    const auto prefetch = [&] {
      Life::template prefetch<Load>(params.k, params.v);
      Life::template prefetch<LoadQueries>(params.q);
    };
    const KernelScope<ClusterConfig{}> scope(init, prefetch);
    const std::uint32_t worker = worker_of_warp();
    Worker& own = shared.workers[worker];
    // Lengths are memory, which the kernel ahead may have written; without them this goes before the wait.
    if (params.extents.lengths != nullptr) isa::griddepcontrol_wait();
    Pieces pieces(params.extents, number_of(worker), isa::nctaid().x * config.workers);
    Piece piece;
    const bool has_any = pieces.next(piece);
    scope.wait_for_kernel_ahead();
    if (!has_any) return;
    if (Roles::template enter<Load>()) {
      if (isa::elect_sync()) load(params, own, pieces, piece);
    } else if (Roles::template enter<LoadQueries>()) {
      if (isa::elect_sync()) load_queries(params, own, pieces, piece);
    } else if (Roles::template enter<Math>()) {
      attend(params, own, worker, pieces, piece);
    }
  }

 private:
  struct Rings {
    HEDDLE_DEVICE explicit Rings(Worker& shared)
        : q(shared.q_barriers.ptr(), "q"), k(shared.k_barriers.ptr(), "k"), v(shared.v_barriers.ptr(), "v") {}

    ProducerConsumerPipeline<1> q;
    ProducerConsumerPipeline<config.stages, KBackend> k;
    ProducerConsumerPipeline<config.stages, VBackend> v;
  };

  using Pieces = AttentionPieces::Of<config.keys>;
  using Piece = AttentionPieces::Piece;
  static constexpr OperandType kType = operand_type<T>();
  static constexpr WgmmaShape kScoreShape{.n = config.keys, .a = kType, .b = kType};
  static constexpr WgmmaShape kOutputShape{.n = config.value_dim, .a = kType, .b = kType, .b_major = Major::kMN};
  using Scores = WgmmaValues<kScoreShape>;
  using Output = WgmmaValues<kOutputShape>;
  using Barriers = NamedBarriers<BarrierUse<"workers", config.workers>>;

  // Where there are fewer tiles than workers, every CTA has one before any has two.
  HEDDLE_DEVICE static std::uint32_t number_of(std::uint32_t worker) {
    return worker * isa::nctaid().x + isa::ctaid().x;
  }
  // Of every role there are as many warps for each worker.
  HEDDLE_DEVICE static std::uint32_t worker_of_warp() {
    const std::uint32_t warp = isa::warp_idx();
    return warp < Math::warps ? warp / 4 : (warp - Math::warps) % config.workers;
  }

  // All roles walk the pieces of their worker, from the first one on.
  HEDDLE_DEVICE static void load_queries(const Params& params, Worker& shared, Pieces& pieces, Piece piece) {
    Rings rings(shared);
    do {
      load_stage(rings.q, shared.q, params.q, {0, 0, piece.head, piece.batch});
    } while (pieces.next(piece));
  }

  HEDDLE_DEVICE static void load(const Params& params, Worker& shared, Pieces& pieces, Piece piece) {
    Rings rings(shared);
    do {
      for (std::int32_t tile = 0; tile < piece.tiles; ++tile) {
        const std::int32_t first_key = piece.first_key + tile * static_cast<std::int32_t>(config.keys);
        load_pages<KPage>(params, params.k, rings.k, shared.k, piece, first_key);
        load_pages<VPage>(params, params.v, rings.v, shared.v, piece, first_key);
      }
    } while (pieces.next(piece));
  }

  HEDDLE_DEVICE static void attend(const Params& params, Worker& shared, std::uint32_t worker, Pieces& pieces,
                                   Piece piece) {
    Rings rings(shared);
    WgmmaSums<kScoreShape> scores;
    WgmmaSums<kOutputShape> output;
    do {
      OnlineSoftmax softmax;
      Output* sums = &output.fill(0.0f);
      auto q = rings.q.acquire_consumer();
      for (std::int32_t tile = 0; tile < piece.tiles; ++tile) {
        const std::int32_t first_key = piece.first_key + tile * static_cast<std::int32_t>(config.keys);
        auto k = rings.k.acquire_consumer();
        auto scoring = scores.multiply(shared.q[0].operand(), shared.k[k.index()].operand());
        auto& s = std::move(scoring).wait();
        std::move(k).release_elected();
        mask(s, params, piece, first_key);
        if (softmax.weigh(s, params.factor)) softmax.rescale(*sums);
        const auto weights = to_operand<T>(s);
        auto v = rings.v.acquire_consumer();
        clear_after(shared.v[v.index()], piece.length - first_key, worker);
        auto adding = output.multiply_add(weights, shared.v[v.index()].template operand<Major::kMN>());
        sums = &std::move(adding).wait();
        std::move(v).release_elected();
      }
      std::move(q).release_elected();
      finish(params, piece, *sums, softmax, worker);
    } while (pieces.next(piece));
  }

  // Values after the last key may be anything, and a weight of zero does not make zero of it.
  template <class Tile>
  HEDDLE_DEVICE static void clear_after(const Tile& tile, std::int32_t keys, std::uint32_t worker) {
    if (keys >= static_cast<std::int32_t>(config.keys)) return;
    constexpr std::uint32_t kChunk = 16 / sizeof(T);
    constexpr std::uint32_t kChunks = config.value_dim / kChunk;
    const std::uint32_t first = keys < 0 ? 0 : static_cast<std::uint32_t>(keys) * kChunks;
    for (std::uint32_t i = first + thread(); i < config.keys * kChunks; i += kWarpgroupThreads) {
      isa::st_shared(reinterpret_cast<isa::Bytes16*>(tile.pointer(i / kChunks, i % kChunks * kChunk)),
                     isa::Bytes16{});
    }
    isa::fence_proxy_async_shared_cta();
    sync(worker);
  }
  HEDDLE_DEVICE static std::uint32_t thread() { return isa::tid_x() % kWarpgroupThreads; }
  HEDDLE_DEVICE static void sync(std::uint32_t worker) {
    Barriers::template sync<"workers">(kWarpgroupThreads, worker);
  }

  HEDDLE_DEVICE static void mask(Scores& s, const Params& params, const Piece& piece, std::int32_t first_key) {
    const AttentionPieces::Extents& extents = params.extents;
    CappedScores::apply(s, params.score,
                        {.first_query = 0, .first_key = first_key, .head = piece.head, .batch = 0});
    const std::int32_t fewest = params.is_causal ? piece.length - extents.queries + 1 : piece.length;
    const bool is_inside = first_key + static_cast<std::int32_t>(config.keys) <= fewest &&
                           first_key >= piece.length - extents.window;
    if (is_inside) return;
    std::int32_t end[2];
    HEDDLE_UNROLL
    for (std::uint32_t row = 0; row < 2; ++row) {
      const auto query = static_cast<std::int32_t>(Scores::row(2 * row)) % extents.queries;
      end[row] = params.is_causal ? fewest + query : piece.length;
    }
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < Scores::count; ++i) {
      const std::int32_t key = first_key + static_cast<std::int32_t>(Scores::col(i));
      const std::int32_t end_of_row = end[Scores::row_of_pair(i)];
      if (key >= end_of_row || key < end_of_row - extents.window) s[i] = -__builtin_huge_valf();
    }
  }

  // The output of a head, or this worker's part of it. Of two rows, each thread has neighbouring columns.
  HEDDLE_DEVICE static void finish(const Params& params, const Piece& piece, const Output& sums,
                                   const OnlineSoftmax& softmax, std::uint32_t worker) {
    RowPair sinks;
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < 2; ++i) {
      const auto row = static_cast<std::int32_t>(Output::row(2 * i));
      const bool has_sink = piece.is_whole() && row < params.rows;
      sinks[i] = has_sink ? params.sink_of(piece, row) : -__builtin_huge_valf();
    }
    const OnlineSoftmax::End end = softmax.end(params.factor, sinks);
    const std::int64_t slot = piece.slot(static_cast<std::int32_t>(number_of(worker)));
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < 2; ++i) {
      const auto row = static_cast<std::int32_t>(Output::row(2 * i));
      if (row >= params.rows) continue;
      HEDDLE_UNROLL
      for (std::uint32_t j = 2 * i; j < Output::count; j += 4) {
        const auto col = static_cast<std::int32_t>(Output::col(j));
        if (col >= params.value_dim) continue;
        const float pair[2] = {sums[j] * end.inverse[i], sums[j + 1] * end.inverse[i]};
        if (piece.is_whole()) {
          isa::st_global(reinterpret_cast<std::uint32_t*>(params.template output_at<T>(piece, row) + col),
                         pack_pair<T>(pair[0], pair[1]));
        } else {
          float* part = &params.parts[(slot * params.rows + row) * params.value_dim + col];
          isa::st_global(part, pair[0]);
          isa::st_global(part + 1, pair[1]);
        }
      }
      if (isa::laneid() % 4 != 0) continue;
      if (!piece.is_whole()) {
        isa::st_global(&params.part_sums[slot * params.rows + row], end.log2_sum[i]);
      } else if (params.lse != nullptr) {
        isa::st_global(params.lse_at(piece, row), end.log2_sum[i] * kLn2);
      }
    }
  }
};

}  // namespace heddle::inline HEDDLE_TARGET
