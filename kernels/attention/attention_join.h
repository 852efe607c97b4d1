// SPDX-License-Identifier: Apache-2.0
//
// The second kernel of decoding attention: outputs of heads whose keys several workers had. A CTA for each worker
// of the first kernel joins the head that begins with it and goes on with the next, always in the same order, so
// that results are the same bits each time; a warp for each row, four columns for a lane.
#pragma once

#include "attention_decode_params.h"

#include <heddle/isa/grid_dependency.h>
#include <heddle/isa/math.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/warp.h>
#include <heddle/tile/convert.h>

namespace heddle::inline HEDDLE_TARGET {

// `keys` of a tile, as the first kernel has them.
template <Element T, std::uint32_t keys>
struct AttentionJoin {
  using Params = AttentionDecodeParams;
  struct Shared {};
  static constexpr std::uint32_t kThreads = 256;

  HEDDLE_DEVICE static void run(const Params& params, Shared&) {
    isa::griddepcontrol_launch_dependents();
    // Lengths are memory, which a kernel ahead may have written; without them this goes before the wait.
    if (params.extents.lengths != nullptr) isa::griddepcontrol_wait();
    const std::uint32_t worker = isa::ctaid().x;
    AttentionPieces::Of<keys> pieces(params.extents, worker, isa::nctaid().x);
    AttentionPieces::Piece piece;
    const bool has_any = pieces.last(piece);
    isa::griddepcontrol_wait();
    if (!has_any || piece.is_whole() || piece.first_worker != static_cast<std::int32_t>(worker)) return;
    for (auto row = static_cast<std::int32_t>(isa::warp_idx()); row < params.rows;
         row += static_cast<std::int32_t>(kThreads / isa::kWarpThreads)) {
      join(params, piece, row);
    }
  }

 private:
  // Parts weighed by their sums. Many are read at a time, since each time is a way to the L2 cache and back.
  HEDDLE_DEVICE static void join(const Params& params, const AttentionPieces::Piece& piece, std::int32_t row) {
    constexpr std::int32_t kAtATime = 16;
    const std::int32_t col = static_cast<std::int32_t>(isa::laneid()) * 4;
    if (col >= params.value_dim) return;
    float largest = params.sink_of(piece, row);
    float sum = largest == -__builtin_huge_valf() ? 0.0f : 1.0f;  // the sink's own weight
    float values[4] = {};
    for (std::int32_t first = piece.first_worker; first <= piece.last_worker; first += kAtATime) {
      float sums[kAtATime];
      isa::Bytes16 parts[kAtATime];
      HEDDLE_UNROLL
      for (std::int32_t j = 0; j < kAtATime; ++j) {
        sums[j] = -__builtin_huge_valf();
        parts[j] = {};
        if (first + j > piece.last_worker) continue;
        const std::int64_t at = std::int64_t{piece.slot(first + j)} * params.rows + row;
        sums[j] = isa::ld_global(&params.part_sums[at]);
        parts[j] =
            isa::ld_global(reinterpret_cast<const isa::Bytes16*>(&params.parts[at * params.value_dim + col]));
      }
      // The largest first: rescaling for each part would be a chain of powers, one after another.
      float now = largest;
      HEDDLE_UNROLL
      for (std::int32_t j = 0; j < kAtATime; ++j) now = __builtin_fmaxf(now, sums[j]);
      const float rescaling = largest == now ? 1.0f : isa::ex2_approx_ftz_f32(largest - now);
      largest = now;
      sum *= rescaling;
      HEDDLE_UNROLL
      for (std::uint32_t d = 0; d < 4; ++d) values[d] *= rescaling;
      HEDDLE_UNROLL
      for (std::int32_t j = 0; j < kAtATime; ++j) {
        if (sums[j] == -__builtin_huge_valf()) continue;  // without a score; with a NaN it is NaN
        const float weight = isa::ex2_approx_ftz_f32(sums[j] - now);
        sum += weight;
        HEDDLE_UNROLL
        for (std::uint32_t d = 0; d < 4; ++d) values[d] += weight * __builtin_bit_cast(float, parts[j].word[d]);
      }
    }
    const float inverse = sum != 0.0f ? isa::rcp_approx_f32(sum) : 0.0f;
    auto* words = reinterpret_cast<std::uint32_t*>(params.template output_at<T>(piece, row) + col);
    isa::st_global(words, pack_pair<T>(values[0] * inverse, values[1] * inverse));
    isa::st_global(words + 1, pack_pair<T>(values[2] * inverse, values[3] * inverse));
    if (col == 0 && params.lse != nullptr) {
      const bool has_any = sum != 0.0f;
      isa::st_global(params.lse_at(piece, row),
                     has_any ? (largest + isa::lg2_approx_ftz_f32(sum)) * kLn2 : largest);
    }
  }
};

}  // namespace heddle::inline HEDDLE_TARGET
