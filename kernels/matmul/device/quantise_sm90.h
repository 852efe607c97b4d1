// SPDX-License-Identifier: Apache-2.0
//
// bf16 to e4m3 with block scales: see quantise_problem.h. A warp has 128 numbers of a row at a time, four in each
// lane. With square blocks a CTA has 128 rows of them and finds their scale together.
#pragma once

#include "matmul/api/quantise_problem.h"

#include <heddle/isa/entry.h>
#include <heddle/isa/grid_dependency.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/sreg.h>
#include <heddle/isa/target.h>
#include <heddle/isa/warp.h>
#include <heddle/tile/element.h>
#include <heddle/tile/smem_array.h>

namespace heddle::inline HEDDLE_TARGET {

// The scale of a block whose largest magnitude is `largest`, and a number of it.
HEDDLE_HOST_DEVICE constexpr float quantise_scale(float largest, bool has_powers_of_two) {
  if (largest == 0.0f) return 1.0f;
  const float scale = largest / 448.0f;
  if (!has_powers_of_two) return scale;
  // The exponent, one more where a fraction is left.
  const auto bits = __builtin_bit_cast(std::uint32_t, scale);
  const std::uint32_t up = (bits + 0x007fffffu) & 0x7f800000u;
  return __builtin_bit_cast(float, up);
}
// One NaN for all: which bits a division makes of one is not the same everywhere.
HEDDLE_HOST_DEVICE constexpr std::uint32_t quantised(float value, float scale) {
  constexpr std::uint32_t kNan = 0x7f;
  const float quotient = value / scale;
  return quotient != quotient ? kNan : e4m3::from_float(quotient).bits;
}
// The larger magnitude; NaNs have none. fmax would take a signalling NaN on a host, and not on a GPU.
HEDDLE_HOST_DEVICE constexpr float larger_magnitude(float largest, float value) {
  const float magnitude = value < 0 ? -value : value;
  return magnitude > largest ? magnitude : largest;
}

template <QuantiseBlocks blocks>
struct QuantiseSm90 {
  struct Params {
    const bf16* in;
    e4m3* out;
    float* scales;
    std::uint64_t in_pitch;
    std::uint64_t out_pitch;
    std::uint64_t scales_pitch;
    std::uint32_t rows;
    std::uint32_t cols;
    bool has_powers_of_two;
  };

  static constexpr std::uint32_t kWarps = 4;
  static constexpr std::uint32_t kThreads = kWarps * isa::kWarpThreads;
  static constexpr std::uint32_t kBlock = 128;
  static constexpr std::uint32_t kRowsOfBlock = blocks == QuantiseBlocks::kRows ? kWarps : kBlock;

  struct Shared {
    SMemArray<float, kWarps> largest;
  };

  // A CTA for each block along K and `kRowsOfBlock` rows.
  HEDDLE_DEVICE static void run(const Params& params, Shared& shared) {
    isa::griddepcontrol_launch_dependents();
    isa::griddepcontrol_wait();
    const std::uint32_t warp = isa::warp_idx();
    const std::uint32_t first_row = isa::ctaid().x * kRowsOfBlock;
    const std::uint32_t col = isa::ctaid().y * kBlock + isa::laneid() * kPerLane;
    if constexpr (blocks == QuantiseBlocks::kRows) {
      const std::uint32_t row = first_row + warp;
      const Four numbers = load(params, row, col);
      const float largest = largest_of_warp(magnitude(numbers));
      const float scale = quantise_scale(largest, params.has_powers_of_two);
      store(params, row, col, numbers, scale);
      if (row < params.rows && isa::laneid() == 0) {
        isa::st_global(params.scales + isa::ctaid().y * params.scales_pitch + row, scale);
      }
    } else {
      // Read twice, the second time from a cache: they are too many for registers.
      float own = 0;
      for (std::uint32_t i = warp; i < kBlock; i += kWarps) {
        own = larger_magnitude(own, magnitude(load(params, first_row + i, col)));
      }
      own = largest_of_warp(own);
      if (isa::laneid() == 0) shared.largest.store(own, warp);
      isa::syncthreads();
      float largest = 0;
      for (std::uint32_t i = 0; i < kWarps; ++i) largest = larger_magnitude(largest, shared.largest.load(i));
      const float scale = quantise_scale(largest, params.has_powers_of_two);
      for (std::uint32_t i = warp; i < kBlock; i += kWarps) {
        store(params, first_row + i, col, load(params, first_row + i, col), scale);
      }
      if (isa::tid_x() == 0) {
        isa::st_global(params.scales + std::uint64_t{isa::ctaid().x} * isa::nctaid().y + isa::ctaid().y, scale);
      }
    }
  }

 private:
  static constexpr std::uint32_t kPerLane = 4;

  struct Four {
    float of[kPerLane];
  };
  struct alignas(8) Words {
    std::uint32_t word[2];
  };

  // Zeros where there are none.
  HEDDLE_DEVICE static Four load(const Params& params, std::uint32_t row, std::uint32_t col) {
    Words words{};
    if (row < params.rows && col < params.cols) {
      words = isa::ld_global(reinterpret_cast<const Words*>(params.in + row * params.in_pitch + col));
    }
    Four numbers;
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < kPerLane; ++i) {
      numbers.of[i] =
          __builtin_bit_cast(float, i % 2 == 0 ? words.word[i / 2] << 16 : words.word[i / 2] & 0xffff0000u);
    }
    return numbers;
  }

  HEDDLE_DEVICE static void store(const Params& params, std::uint32_t row, std::uint32_t col, const Four& numbers,
                                  float scale) {
    if (row >= params.rows || col >= params.cols) return;
    std::uint32_t bytes = 0;
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < kPerLane; ++i) bytes |= quantised(numbers.of[i], scale) << 8 * i;
    isa::st_global(reinterpret_cast<std::uint32_t*>(params.out + row * params.out_pitch + col), bytes);
  }

  HEDDLE_DEVICE static float magnitude(const Four& numbers) {
    float largest = 0;
    HEDDLE_UNROLL
    for (std::uint32_t i = 0; i < kPerLane; ++i) largest = larger_magnitude(largest, numbers.of[i]);
    return largest;
  }
  HEDDLE_DEVICE static float largest_of_warp(float largest) {
    HEDDLE_UNROLL
    for (std::uint32_t lanes = 1; lanes < isa::kWarpThreads; lanes *= 2) {
      const std::uint32_t other = isa::shfl_sync_bfly(__builtin_bit_cast(std::uint32_t, largest), lanes);
      largest = larger_magnitude(largest, __builtin_bit_cast(float, other));
    }
    return largest;
  }
};

}  // namespace heddle::inline HEDDLE_TARGET
