// SPDX-License-Identifier: Apache-2.0
//
// The second kernel of decoding attention: outputs of heads whose keys several workers had. There is a CTA for
// each worker of the first kernel. That of a head's first worker joins all of it, a warp for each row, four
// columns for a lane; of a head in many parts each worker's CTA has a row, whose parts its warps share. (Few
// parts are read at once, and the CTAs with high numbers begin last, when the last of the first kernel's have
// ended.) Always in the same order, so that results are the same bits each time.
#pragma once

#include "attention_decode_params.h"

#include <heddle/isa/grid_dependency.h>
#include <heddle/isa/math.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/warp.h>
#include <heddle/tile/convert.h>

namespace heddle::inline HEDDLE_TARGET {

// `keys` of a tile, as the first kernel has them.
template <Element T, std::uint32_t keys>
struct AttentionJoin {
  using Params = AttentionDecodeParams;
  static constexpr std::uint32_t kThreads = 256;
  static constexpr std::int32_t kWarps = kThreads / isa::kWarpThreads;

  // What was found of a row: sums of values weighed by powers of two of logarithms' distances from the largest.
  struct alignas(8) Sum {
    float largest;
    float all;
  };
  struct alignas(16) Values {
    float of_col[4];  // of this lane's columns
  };
  struct Found {
    Sum sum;
    Values values;
  };
  struct Shared {
    Sum sums[kWarps][isa::kWarpThreads];
    Values values[kWarps][isa::kWarpThreads];
  };

  HEDDLE_DEVICE static void run(const Params& params, Shared& shared) {
    isa::griddepcontrol_launch_dependents();
    // Lengths are memory, which a kernel ahead may have written; without them this goes before the wait.
    if (params.extents.lengths != nullptr) isa::griddepcontrol_wait();
    const auto worker = static_cast<std::int32_t>(isa::ctaid().x);
    AttentionPieces::Of<keys> pieces(params.extents, isa::ctaid().x, isa::nctaid().x);
    AttentionPieces::Piece piece;
    const bool has_any = pieces.last(piece);
    isa::griddepcontrol_wait();
    // A head's last worker may end with another head. All before it end with this one.
    if (!has_any || worker >= piece.last_worker) return;
    const std::int32_t sharing = piece.last_worker - piece.first_worker;
    const std::int32_t first_row = worker - piece.first_worker;
    const auto warp = static_cast<std::int32_t>(isa::warp_idx());
    const std::int32_t parts = sharing + 1;
    if (parts <= kAtATime) {
      for (std::int32_t row = warp; row < params.rows && first_row == 0; row += kWarps) {
        finish(params, piece, row, join(params, piece, row, 0, parts));
      }
      return;
    }
    const std::int32_t of_warp = (parts + kWarps - 1) / kWarps;
    const std::int32_t begin = warp * of_warp;
    const std::int32_t end = begin + of_warp < parts ? begin + of_warp : parts;
    for (std::int32_t row = first_row; row < params.rows; row += sharing) {
      Found all = join(params, piece, row, begin, end);
      isa::st_shared(&shared.sums[warp][isa::laneid()], all.sum);
      isa::st_shared(&shared.values[warp][isa::laneid()], all.values);
      isa::syncthreads();
      for (std::int32_t w = 1; w < kWarps && warp == 0; ++w) {
        all = both(all, {.sum = isa::ld_shared(&shared.sums[w][isa::laneid()]),
                         .values = isa::ld_shared(&shared.values[w][isa::laneid()])});
      }
      if (warp == 0) finish(params, piece, row, all);
      isa::syncthreads();
    }
  }

 private:
  static constexpr std::int32_t kAtATime = 16;  // parts
  static constexpr float kNone = -__builtin_huge_valf();

  // What a sum is multiplied with where the largest has moved. Of no number it is none.
  HEDDLE_DEVICE static float rescaling(float largest, float now) {
    return largest == now ? 1.0f : isa::ex2_approx_ftz_f32(largest - now);
  }
  HEDDLE_DEVICE static Found both(const Found& a, const Found& b) {
    const float largest = __builtin_fmaxf(a.sum.largest, b.sum.largest);
    const float of_a = rescaling(a.sum.largest, largest);
    const float of_b = rescaling(b.sum.largest, largest);
    Found found{.sum = {.largest = largest, .all = a.sum.all * of_a + b.sum.all * of_b}, .values = {}};
    HEDDLE_UNROLL
    for (std::uint32_t d = 0; d < 4; ++d) {
      found.values.of_col[d] = a.values.of_col[d] * of_a + b.values.of_col[d] * of_b;
    }
    return found;
  }

  // The parts from `begin` to `end`, weighed by their sums; with the first also the sink, which has no value.
  // Many are read at a time, since each time is a way to the L2 cache and back.
  HEDDLE_DEVICE static Found join(const Params& params, const AttentionPieces::Piece& piece, std::int32_t row,
                                  std::int32_t begin, std::int32_t end) {
    const std::int32_t col = static_cast<std::int32_t>(isa::laneid()) * 4;
    const bool has_cols = col < params.value_dim;
    const float sink = begin == 0 ? params.sink_of(piece, row) : kNone;
    Found found{.sum = {.largest = sink, .all = sink == kNone ? 0.0f : 1.0f}, .values = {}};
    for (std::int32_t first = begin; first < end; first += kAtATime) {
      float sums[kAtATime];
      Values parts[kAtATime];
      HEDDLE_UNROLL
      for (std::int32_t j = 0; j < kAtATime; ++j) {
        sums[j] = kNone;
        parts[j] = {};
        if (first + j >= end || !has_cols) continue;
        const std::int64_t at = std::int64_t{piece.slot(piece.first_worker + first + j)} * params.rows + row;
        sums[j] = isa::ld_global(&params.part_sums[at]);
        const auto* part = reinterpret_cast<const isa::Bytes16*>(&params.parts[at * params.value_dim + col]);
        parts[j] = __builtin_bit_cast(Values, isa::ld_global(part));
      }
      // The largest first: rescaling for each part would be a chain of powers, one after another.
      float now = found.sum.largest;
      HEDDLE_UNROLL
      for (std::int32_t j = 0; j < kAtATime; ++j) now = __builtin_fmaxf(now, sums[j]);
      const float factor = rescaling(found.sum.largest, now);
      found.sum = {.largest = now, .all = found.sum.all * factor};
      HEDDLE_UNROLL
      for (float& value : found.values.of_col) value *= factor;
      HEDDLE_UNROLL
      for (std::int32_t j = 0; j < kAtATime; ++j) {
        if (sums[j] == kNone) continue;  // without a score; with a NaN it is NaN
        const float weight = isa::ex2_approx_ftz_f32(sums[j] - now);
        found.sum.all += weight;
        HEDDLE_UNROLL
        for (std::uint32_t d = 0; d < 4; ++d) found.values.of_col[d] += weight * parts[j].of_col[d];
      }
    }
    return found;
  }

  HEDDLE_DEVICE static void finish(const Params& params, const AttentionPieces::Piece& piece, std::int32_t row,
                                   const Found& found) {
    const std::int32_t col = static_cast<std::int32_t>(isa::laneid()) * 4;
    if (col >= params.value_dim) return;
    const Sum& sum = found.sum;
    const auto& values = found.values.of_col;
    const float inverse = sum.all != 0.0f ? isa::rcp_approx_f32(sum.all) : 0.0f;
    auto* words = reinterpret_cast<std::uint32_t*>(params.template output_at<T>(piece, row) + col);
    isa::st_global(words, pack_pair<T>(values[0] * inverse, values[1] * inverse));
    isa::st_global(words + 1, pack_pair<T>(values[2] * inverse, values[3] * inverse));
    if (col != 0 || params.lse == nullptr) return;
    const float log2_sum = sum.all != 0.0f ? sum.largest + isa::lg2_approx_ftz_f32(sum.all) : sum.largest;
    isa::st_global(params.lse_at(piece, row), log2_sum * kLn2);
  }
};

}  // namespace heddle::inline HEDDLE_TARGET
