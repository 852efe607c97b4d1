// SPDX-License-Identifier: Apache-2.0
//
// What tests of wgmma share: a kernel that multiplies one tile, operands laid out in shared memory by the
// manual's table (written out here a second time), and fragments taken apart. Compiled for both targets.
#pragma once

#include <heddle/isa/address.h>
#include <heddle/isa/entry.h>
#include <heddle/isa/fence.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/wgmma.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace heddle::inline HEDDLE_TARGET::wgmma_test {

inline constexpr std::uint32_t kImageBytes = 96 * 1024;

// Everything a run needs, in memory that the kernel can reach.
struct TileParams {
  const isa::Bytes16* image;  // what shared memory holds
  std::uint32_t image_bytes;
  std::uint64_t a_descriptor;  // with addresses that count from the image's start
  std::uint64_t b_descriptor;
  std::uint32_t a_step_bytes;  // from one K step to the next
  std::uint32_t b_step_bytes;
  std::uint32_t steps;
  const std::uint32_t* fragments;  // A in registers: steps x threads x 4
  const std::uint32_t* d_in;       // threads x d_registers; null: the first step has scale-d 0
  std::uint32_t* d_out;
};

template <WgmmaShape shape, bool a_in_registers>
struct MultiplyTile {
  using Params = TileParams;
  struct Shared {
    alignas(1024) isa::Bytes16 image[kImageBytes / 16];
  };
  static constexpr std::uint32_t kThreads = kWarpgroupThreads;

  HEDDLE_DEVICE static void run(const Params& params, Shared& shared) {
    const std::uint32_t thread = isa::tid_x();
    for (std::uint32_t i = thread; i < params.image_bytes / 16; i += kThreads) {
      isa::st_shared(&shared.image[i], isa::ld_global(&params.image[i]));
    }
    isa::fence_proxy_async_shared_cta();
    isa::syncthreads();

    const std::uint32_t base = isa::shared_address(shared.image);
    constexpr std::uint32_t registers = shape.d_registers();
    WgmmaAccumulators<shape> d;
    for (std::uint32_t i = 0; i < registers; ++i) {
      const std::uint32_t start =
          params.d_in == nullptr ? 0 : isa::ld_global(&params.d_in[thread * registers + i]);
      if constexpr (shape.d == AccumulatorType::kF16) {
        d[i] = start;
      } else {
        d[i] = __builtin_bit_cast(float, start);
      }
    }
    for (std::uint32_t step = 0; step < params.steps; ++step) {
      const std::uint64_t b = advanced_descriptor(params.b_descriptor, base + step * params.b_step_bytes);
      const bool scale_d = step != 0 || params.d_in != nullptr;
      if constexpr (a_in_registers) {
        WgmmaFragment a;
        for (std::uint32_t r = 0; r < 4; ++r) {
          a[r] = isa::ld_global(&params.fragments[(step * kThreads + thread) * 4 + r]);
        }
        isa::wgmma_fence_operands(d);
        isa::wgmma_fence();
        isa::wgmma_mma_async<shape>(d, a, b, scale_d);
      } else {
        isa::wgmma_fence_operands(d);
        isa::wgmma_fence();
        isa::wgmma_mma_async<shape>(
            d, advanced_descriptor(params.a_descriptor, base + step * params.a_step_bytes), b, scale_d);
      }
      isa::wgmma_commit_group();
      isa::wgmma_wait_group<0>();
      isa::wgmma_fence_operands(d);
    }
    for (std::uint32_t i = 0; i < registers; ++i) {
      isa::st_global(&params.d_out[thread * registers + i], __builtin_bit_cast(std::uint32_t, d[i]));
    }
  }
};

// The other side: what the host prepares and compares.

inline std::uint32_t bytes_of(OperandType type) {
  return type == OperandType::kTf32 ? 4 : type == OperandType::kF16 || type == OperandType::kBf16 ? 2 : 1;
}

// One operand in shared memory: rows x (32 bytes of K for each step).
struct Layout {
  Major major = Major::kK;
  Swizzle swizzle = Swizzle::kNone;
  std::uint32_t element_bytes = 0;
  std::uint32_t leading_bytes = 0;
  std::uint32_t stride_bytes = 0;
  std::uint32_t step_bytes = 0;
  std::uint32_t total_bytes = 0;

  std::uint32_t address(std::uint32_t row, std::uint32_t k) const {
    const std::uint32_t es = element_bytes;
    const std::uint32_t t = 16 / es;
    const std::uint32_t s = swizzle == Swizzle::k32B ? 32 : swizzle == Swizzle::k64B ? 64 : 128;
    std::uint32_t a = 0;
    if (swizzle == Swizzle::kNone) {
      a = major == Major::kK ? (row % 8) * 16 + (row / 8) * stride_bytes + (k / t) * leading_bytes + (k % t) * es
                             : (row % t) * es + (row / t) * stride_bytes + (k % 8) * 16 + (k / 8) * leading_bytes;
      return a;
    }
    const std::uint32_t w = s / es;
    a = major == Major::kK ? (row % 8) * s + (row / 8) * stride_bytes + k * es
                           : (row % w) * es + (row / w) * leading_bytes + (k % 8) * s + (k / 8) * stride_bytes;
    return a ^ ((a >> 7) & (s / 16 - 1)) << 4;
  }

  SmemDescriptor descriptor(std::uint32_t start) const {
    return {
        .start_address = start, .leading_bytes = leading_bytes, .stride_bytes = stride_bytes, .swizzle = swizzle};
  }
};

// The usual arrangement, with a gap of `gap` bytes (a multiple of 1024) behind each block so that no stride is
// the one that a wrong formula would guess.
inline Layout make_layout(Major major, Swizzle swizzle, OperandType type, std::uint32_t rows, std::uint32_t steps,
                          std::uint32_t gap) {
  const std::uint32_t es = bytes_of(type);
  const std::uint32_t depth = steps * 32 / es;
  const std::uint32_t s = swizzle == Swizzle::k32B ? 32 : swizzle == Swizzle::k64B ? 64 : 128;
  Layout layout{.major = major, .swizzle = swizzle, .element_bytes = es};
  if (swizzle == Swizzle::kNone && major == Major::kK) {
    layout.stride_bytes = 128;  // 8 rows of 16 bytes, groups of rows side by side
    layout.leading_bytes = (rows / 8) * 128 + gap / 8;
    layout.step_bytes = 2 * layout.leading_bytes;
    layout.total_bytes = steps * layout.step_bytes;
  } else if (major == Major::kK) {
    layout.leading_bytes = 16;  // ignored
    layout.stride_bytes = 8 * s + gap;
    layout.step_bytes = 32;
    layout.total_bytes = (rows / 8) * layout.stride_bytes;
  } else if (swizzle == Swizzle::kNone) {
    layout.leading_bytes = 128;  // 8 k of 16 bytes, groups of k side by side
    layout.stride_bytes = (depth / 8) * 128 + gap / 8;
    layout.step_bytes = 4 / es * layout.leading_bytes;
    layout.total_bytes = (rows * es + 15) / 16 * layout.stride_bytes;
  } else {
    layout.stride_bytes = 8 * s;
    layout.leading_bytes = (depth / 8) * 8 * s + gap;
    layout.step_bytes = 4 / es * layout.stride_bytes;
    layout.total_bytes = (rows * es + s - 1) / s * layout.leading_bytes;
  }
  layout.total_bytes = (layout.total_bytes + 1023) / 1024 * 1024;
  return layout;
}

// Where element i of a thread's D lies.
struct Place {
  std::uint32_t row;
  std::uint32_t column;
};

inline Place place_of(std::uint32_t thread, std::uint32_t i) {
  const std::uint32_t lane = thread % 32;
  return {16 * (thread / 32) + lane / 4 + 8 * (i / 2 % 2), 8 * (i / 4) + 2 * (lane % 4) + i % 2};
}

// Element e of a thread's fragment of A.
// PTX: Register Fragments, Matrix A, one rule for each width.
inline Place place_in_fragment(OperandType type, std::uint32_t thread, std::uint32_t e) {
  const std::uint32_t l = thread % 32;
  const std::uint32_t first_row = 16 * (thread / 32) + l / 4;
  switch (bytes_of(type)) {
    case 2: return {first_row + 8 * (e / 2 % 2), 2 * (l % 4) + e % 2 + 8 * (e / 4)};
    case 1: return {first_row + 8 * (e / 4 % 2), 4 * (l % 4) + e % 4 + 16 * (e / 8)};
    default: return {first_row + 8 * (e % 2), l % 4 + 4 * (e / 2)};
  }
}

// What a run multiplies: patterns of A (64 x depth) and B (n x depth), row by row.
struct Problem {
  WgmmaShape shape = {};
  bool a_in_registers = false;
  Swizzle a_swizzle = Swizzle::k128B;
  Swizzle b_swizzle = Swizzle::k128B;
  std::uint32_t steps = 1;
  std::uint32_t gap = 0;
  std::vector<std::uint32_t> a = {};
  std::vector<std::uint32_t> b = {};
  std::vector<std::uint32_t> d_in = {};  // threads x d_registers, or empty

  std::uint32_t depth() const { return steps * shape.k(); }
};

// The problem as bytes that a kernel can be given.
struct Prepared {
  std::vector<std::byte> image;
  std::vector<std::uint32_t> fragments;
  Layout a;
  Layout b;
  std::uint32_t b_start = 0;
};

inline Prepared prepare(const Problem& problem) {
  const WgmmaShape& shape = problem.shape;
  Prepared prepared;
  prepared.a = make_layout(shape.a_major, problem.a_swizzle, shape.a, 64, problem.steps, problem.gap);
  prepared.b = make_layout(shape.b_major, problem.b_swizzle, shape.b, shape.n, problem.steps, problem.gap);
  prepared.b_start = problem.a_in_registers ? 0 : prepared.a.total_bytes;
  prepared.image.resize(prepared.b_start + prepared.b.total_bytes, std::byte{0x7B});
  const auto put = [&](const Layout& layout, std::uint32_t start, const std::vector<std::uint32_t>& elements,
                       std::uint32_t rows) {
    for (std::uint32_t row = 0; row < rows; ++row) {
      for (std::uint32_t k = 0; k < problem.depth(); ++k) {
        std::memcpy(&prepared.image[start + layout.address(row, k)], &elements[row * problem.depth() + k],
                    layout.element_bytes);
      }
    }
  };
  put(prepared.b, prepared.b_start, problem.b, shape.n);
  if (!problem.a_in_registers) {
    put(prepared.a, 0, problem.a, 64);
    return prepared;
  }
  const std::uint32_t es = bytes_of(shape.a);
  prepared.fragments.resize(problem.steps * kWarpgroupThreads * 4);
  for (std::uint32_t step = 0; step < problem.steps; ++step) {
    for (std::uint32_t thread = 0; thread < kWarpgroupThreads; ++thread) {
      for (std::uint32_t e = 0; e < 16 / es; ++e) {
        const Place at = place_in_fragment(shape.a, thread, e);
        const std::uint32_t bits = problem.a[at.row * problem.depth() + step * shape.k() + at.column];
        prepared.fragments[(step * kWarpgroupThreads + thread) * 4 + e * es / 4] |= bits << 8 * (e * es % 4);
      }
    }
  }
  return prepared;
}

inline TileParams params_of(const Prepared& prepared, std::uint32_t steps) {
  return {.image = nullptr,
          .image_bytes = static_cast<std::uint32_t>(prepared.image.size()),
          .a_descriptor = wgmma_descriptor(prepared.a.descriptor(0)),
          .b_descriptor = wgmma_descriptor(prepared.b.descriptor(prepared.b_start)),
          .a_step_bytes = prepared.a.step_bytes,
          .b_step_bytes = prepared.b.step_bytes,
          .steps = steps,
          .fragments = nullptr,
          .d_in = nullptr,
          .d_out = nullptr};
}

}  // namespace heddle::inline HEDDLE_TARGET::wgmma_test
