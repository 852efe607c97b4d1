// SPDX-License-Identifier: Apache-2.0
//
// What tests of tcgen05 share: a kernel that multiplies one tile on one CTA or a pair, and writes D out as it
// lies in tensor memory; operands of small integers, laid out in shared memory by the manual's table.
#pragma once

#include "../support/tiny_kernel.h"
#include "wgmma_tiles.h"

#include <heddle/isa/address.h>
#include <heddle/isa/cluster.h>
#include <heddle/isa/fence.h>
#include <heddle/isa/memory.h>
#include <heddle/isa/named_barrier.h>
#include <heddle/isa/tcgen05.h>
#include <heddle/isa/warp.h>
#include <heddle/tile/element.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

namespace heddle::tcgen05_test {

inline constexpr std::uint32_t kImageBytes = 160 * 1024;

struct Problem {
  InstructionDescriptor fields = {};
  int cta_group = 1;
  Swizzle a_swizzle = Swizzle::k128B;
  Swizzle b_swizzle = Swizzle::k128B;
  std::uint32_t steps = 1;
  std::uint32_t gap = 0;
  bool has_d = false;        // D is not zero at the start
  std::uint32_t d_lane = 0;  // of its address
  std::uint32_t d_column = 0;
  bool a_in_tmem = false;

  std::uint32_t depth() const { return steps * 32 / wgmma_test::bytes_of(fields.a_type); }
};

// Integers from -2 to 2, different in every row and column.
inline int a_value(std::uint32_t row, std::uint32_t k) {
  return static_cast<int>((row * 7 + k * 3 + row * k) % 5) - 2;
}
inline int b_value(std::uint32_t column, std::uint32_t k) {
  return static_cast<int>((column * 5 + k * 11 + column * column * k) % 5) - 2;
}
// What tensor memory holds at the start, by CTA, lane and column.
inline int d_value(std::uint32_t cta, std::uint32_t lane, std::uint32_t column) {
  return static_cast<int>((cta * 31 + lane * 13 + column * 29) % 64) - 32;
}

inline std::uint32_t bits_of(OperandType type, float value) {
  switch (type) {
    case OperandType::kBf16: return bf16::from_float(value).bits;
    case OperandType::kF16: return fp16::from_float(value).bits;
    case OperandType::kTf32: return tf32::from_float(value).bits;
    case OperandType::kE4m3: return e4m3::from_float(value).bits;
    case OperandType::kE2m3: return e2m3::from_float(value).bits;
    case OperandType::kE3m2: return e3m2::from_float(value).bits;
    case OperandType::kE2m1: return e2m1::from_float(value).bits;
    default: return e5m2::from_float(value).bits;
  }
}

// The bits of what a_value() and b_value() return, found once and not for each element.
class SmallIntegers {
 public:
  explicit SmallIntegers(OperandType type) {
    for (int value = -2; value <= 2; ++value) bits_[value + 2] = bits_of(type, static_cast<float>(value));
  }
  std::uint32_t bits(int value) const { return bits_[value + 2]; }

 private:
  std::uint32_t bits_[5];
};

// MN-major tf32 has a layout of its own; the others are those of wgmma.
struct Layout : wgmma_test::Layout {
  std::uint32_t address(std::uint32_t row, std::uint32_t k) const {
    if (swizzle != Swizzle::k128BAtom32B) return wgmma_test::Layout::address(row, k);
    const std::uint32_t a = row / 32 * leading_bytes + row % 32 * 4 + k / 4 * stride_bytes + k % 4 * 128;
    return a ^ ((a >> 7) & 3) << 5;
  }

  // Numbers below a byte are packed into the first bytes of the 16 that 16 of them take; or, for the fp4 kinds,
  // two to a byte.
  void put(std::byte* image, OperandType type, bool is_packed, std::uint32_t row, std::uint32_t k,
           std::uint32_t bits) const {
    const bool is_fp6 = type == OperandType::kE2m3 || type == OperandType::kE3m2;
    if (!is_fp6 && type != OperandType::kE2m1) {
      std::memcpy(image + address(row, k), &bits, element_bytes);
      return;
    }
    const std::uint32_t width = is_fp6 ? 6 : 4;
    const std::uint32_t unit = is_packed ? 32 : 16;  // numbers to 16 bytes
    const std::uint32_t start = address(row, k / unit * 16);
    const std::uint32_t first = k % unit * width;
    for (std::uint32_t bit = 0; bit < width; ++bit) {
      const std::byte mask{static_cast<unsigned char>(1u << (first + bit) % 8)};
      std::byte& byte = image[start + (first + bit) / 8];
      byte = (bits >> bit & 1) != 0 ? byte | mask : byte & ~mask;
    }
  }
};

inline Layout make_layout(const Problem& problem, Major major, Swizzle swizzle, OperandType type,
                          std::uint32_t rows) {
  if (swizzle != Swizzle::k128BAtom32B) {
    return {wgmma_test::make_layout(major, swizzle, type, rows, problem.steps, problem.gap)};
  }
  Layout layout;
  layout.major = major;
  layout.swizzle = swizzle;
  layout.element_bytes = 4;
  layout.stride_bytes = 512;
  layout.leading_bytes = problem.steps * 1024 + problem.gap;
  layout.step_bytes = 1024;
  layout.total_bytes = (rows + 31) / 32 * layout.leading_bytes;
  return layout;
}

// Where element (m, n) of D must be.
struct Cell {
  std::uint32_t cta;
  std::uint32_t lane;
  std::uint32_t column;
};

inline Cell cell_of(const Problem& problem, std::uint32_t m, std::uint32_t n) {
  const InstructionDescriptor& f = problem.fields;
  if (problem.cta_group == 1 && f.m == 128) return {0, m, n};
  if (problem.cta_group == 1) return {0, problem.d_lane + m % 16 + 32 * (m / 16), n};
  if (f.m == 256) return {m / 128, m % 128, n};
  return {m / 64, m % 64 + 64 * (n / (f.n / 2)), n % (f.n / 2)};
}

// What each CTA's shared memory holds.
struct Prepared {
  std::vector<std::vector<isa::Bytes16>> images;  // by CTA
  Layout a;
  Layout b;
  std::uint32_t b_start = 0;
};

inline Prepared prepare(const Problem& problem) {
  const InstructionDescriptor& f = problem.fields;
  const auto group = static_cast<std::uint32_t>(problem.cta_group);
  const std::uint32_t a_rows = f.m / group;
  const std::uint32_t b_rows = f.n / group;
  Prepared prepared;
  prepared.a = make_layout(problem, f.a_major, problem.a_swizzle, f.a_type, a_rows);
  prepared.b = make_layout(problem, f.b_major, problem.b_swizzle, f.b_type, b_rows);
  prepared.b_start = prepared.a.total_bytes;
  const SmallIntegers a_integers(f.a_type);
  const SmallIntegers b_integers(f.b_type);
  for (std::uint32_t cta = 0; cta < group; ++cta) {
    std::vector<isa::Bytes16> image((prepared.b_start + prepared.b.total_bytes) / 16);
    auto* bytes = reinterpret_cast<std::byte*>(image.data());
    std::memset(bytes, 0x7B, 16 * image.size());
    for (std::uint32_t k = 0; k < problem.depth(); ++k) {
      for (std::uint32_t row = 0; row < a_rows; ++row) {
        prepared.a.put(bytes, f.a_type, false, row, k, a_integers.bits(a_value(cta * a_rows + row, k)));
      }
      for (std::uint32_t row = 0; row < b_rows; ++row) {
        prepared.b.put(bytes + prepared.b_start, f.b_type, false, row, k,
                       b_integers.bits(b_value(cta * b_rows + row, k)));
      }
    }
    prepared.images.push_back(std::move(image));
  }
  return prepared;
}

// The row of A, among those of its CTA, that a lane of tensor memory holds; 128: none.
inline std::uint32_t a_row_of(const Problem& problem, std::uint32_t lane) {
  if (problem.cta_group == 1 && problem.fields.m == 64) {
    return lane % 32 / 16 == problem.d_lane / 16 ? 16 * (lane / 32) + lane % 16 : 128;
  }
  return problem.cta_group == 2 && problem.fields.m == 128 ? lane % 64 : lane;
}

inline constexpr std::uint32_t kAColumn = 448;  // where A lies in tensor memory, 8 columns to a step

struct Shared {
  alignas(1024) isa::Bytes16 image[kImageBytes / 16];
  SharedMemBarrier done;
  std::uint32_t base;
};

inline constexpr std::uint32_t kThreads = 128;

// The words that the multiplications are given, with addresses that count from the image's start.
struct Words {
  std::uint64_t a;
  std::uint64_t b;
  std::uint32_t instruction;
};

inline Words words_of(const Problem& problem, const Prepared& prepared) {
  return {tcgen05_descriptor(prepared.a.descriptor(0)),
          tcgen05_descriptor(prepared.b.descriptor(prepared.b_start)), instruction_descriptor(problem.fields)};
}

// What tensor memory holds after the multiplications: by CTA, lane and column.
struct Outcome {
  sim::Report report;
  std::vector<std::uint32_t> cells;

  std::uint32_t at(const Cell& cell) const { return cells[(cell.cta * 128 + cell.lane) * 256 + cell.column]; }
};

template <MmaKind kind, int cta_group>
Outcome run(const Problem& problem, const Prepared& prepared, const Words& words, sim::Schedule schedule = {}) {
  const auto group = static_cast<std::uint32_t>(cta_group);
  const InstructionDescriptor& f = problem.fields;
  // Where all cells were written, all are looked at.
  const std::uint32_t cols = problem.has_d ? 256 : cta_group == 2 && f.m == 128 ? f.n / 2 : f.n;
  Outcome outcome;
  outcome.cells.resize(std::size_t{group} * 128 * 256);
  sim::GlobalMemory memory;
  for (const auto& image : prepared.images) memory.add_read_only("image", image.data(), 16 * image.size());
  memory.add("cells", outcome.cells.data(), 4 * outcome.cells.size());
  const bool is_f16 = f.d_type == AccumulatorType::kF16;
  const auto kernel = [&](Shared& shared) {
    const std::uint32_t rank = cta_group == 2 ? isa::cluster_ctarank() : 0;
    const std::vector<isa::Bytes16>& image = prepared.images[rank];
    for (std::size_t i = isa::tid_x(); i < image.size(); i += kThreads) {
      isa::st_shared(&shared.image[i], isa::ld_global(&image[i]));
    }
    isa::fence_proxy_async_shared_cta();
    if (isa::tid_x() == 0) test::init_barrier(&shared.done, 1);
    isa::cluster_sync();
    if (isa::warp_idx() == 0) isa::tcgen05_alloc<cta_group>(&shared.base, 512);
    isa::syncthreads();
    const std::uint32_t base = isa::ld_shared(&shared.base) + problem.d_column;
    const std::uint32_t own = base + (32 * isa::warp_idx() << 16);
    // With 64 rows in one CTA, the loads below find lanes that no multiplication writes.
    const bool leaves_lanes = cta_group == 1 && f.m == 64;
    if (problem.has_d || leaves_lanes) {
      for (std::uint32_t c = 0; c < 256; c += 32) {
        std::uint32_t r[32];
        for (std::uint32_t i = 0; i < 32; ++i) {
          const auto value = static_cast<float>(d_value(rank, isa::tid_x(), c + i));
          r[i] = is_f16 ? fp16::from_float(value).bits : std::bit_cast<std::uint32_t>(value);
        }
        isa::tcgen05_st_32x32b(own + c, r);
      }
      isa::tcgen05_wait_st();
      isa::tcgen05_fence_before_thread_sync();
    }
    const std::uint32_t a_base = base - problem.d_column + kAColumn;
    for (std::uint32_t step = 0; problem.a_in_tmem && step < problem.steps; ++step) {
      std::uint32_t r[8] = {};
      const std::uint32_t row = a_row_of(problem, isa::tid_x());
      const std::uint32_t per_word = 4 / wgmma_test::bytes_of(f.a_type);
      for (std::uint32_t i = 0; row < 128 && i < 8 * per_word; ++i) {
        const int value = a_value(rank * (f.m / group) + row, step * 8 * per_word + i);
        r[i / per_word] |= bits_of(f.a_type, static_cast<float>(value)) << 32 / per_word * (i % per_word);
      }
      isa::tcgen05_st_32x32b(a_base + 8 * step + (32 * isa::warp_idx() << 16), r);
      isa::tcgen05_wait_st();
      isa::tcgen05_fence_before_thread_sync();
    }
    isa::cluster_sync();
    if (rank == 0 && isa::warp_idx() == 0 && isa::elect_sync()) {
      isa::tcgen05_fence_after_thread_sync();
      const std::uint32_t start = isa::shared_address(shared.image);
      for (std::uint32_t step = 0; step < problem.steps; ++step) {
        const std::uint32_t d = base + (problem.d_lane << 16);
        const std::uint64_t b = advanced_descriptor(words.b, start + step * prepared.b.step_bytes);
        const bool accumulate = step != 0 || problem.has_d;
        if (problem.a_in_tmem) {
          isa::tcgen05_mma_tmem_a<kind, cta_group>(d, a_base + 8 * step + (problem.d_lane << 16), b,
                                                   words.instruction, accumulate);
        } else {
          isa::tcgen05_mma<kind, cta_group>(d, advanced_descriptor(words.a, start + step * prepared.a.step_bytes),
                                            b, words.instruction, accumulate);
        }
      }
      if constexpr (cta_group == 2) {
        isa::tcgen05_commit_multicast<2>(&shared.done, 0b11);
      } else {
        isa::tcgen05_commit<1>(&shared.done);
      }
    }
    test::wait_parity(&shared.done, 0);
    isa::tcgen05_fence_after_thread_sync();
    for (std::uint32_t c = 0; c < cols; c += 8) {
      std::uint32_t r[8];
      isa::tcgen05_ld_32x32b(r, own + c);
      isa::tcgen05_wait_ld();
      for (std::uint32_t i = 0; i < 8; ++i) {
        isa::st_global(&outcome.cells[(rank * 128 + isa::tid_x()) * 256 + c + i], r[i]);
      }
    }
    isa::cluster_sync();
    if (isa::warp_idx() == 0) isa::tcgen05_dealloc<cta_group>(base - problem.d_column, 512);
    isa::cluster_sync();
  };
  outcome.report = test::run_kernel<Shared>({.threads = kThreads,
                                             .grid = {group},
                                             .cluster = {group},
                                             .memory = &memory,
                                             .schedule = schedule,
                                             .arch = Arch::kSm100},
                                            kernel);
  return outcome;
}

// The exact result: all numbers are small integers.
inline double expected(const Problem& problem, std::uint32_t m, std::uint32_t n) {
  double sum = 0;
  for (std::uint32_t k = 0; k < problem.depth(); ++k) sum += a_value(m, k) * b_value(n, k);
  if (problem.fields.negate_a != problem.fields.negate_b) sum = -sum;
  const Cell at = cell_of(problem, m, n);
  return problem.has_d ? sum + d_value(at.cta, at.lane, at.column) : sum;
}

inline float result_at(const Problem& problem, const Outcome& outcome, std::uint32_t m, std::uint32_t n) {
  const std::uint32_t word = outcome.at(cell_of(problem, m, n));
  return problem.fields.d_type == AccumulatorType::kF16 ? fp16{static_cast<std::uint16_t>(word)}.to_float()
                                                        : std::bit_cast<float>(word);
}

template <MmaKind kind, int cta_group>
void expect_exact(Problem problem, sim::Schedule schedule = {}) {
  problem.fields.kind = kind;
  problem.cta_group = cta_group;
  const Prepared prepared = prepare(problem);
  const Outcome outcome = run<kind, cta_group>(problem, prepared, words_of(problem, prepared), schedule);
  ASSERT_TRUE(test::is_silent(outcome.report));
  for (std::uint32_t m = 0; m < problem.fields.m; ++m) {
    for (std::uint32_t n = 0; n < problem.fields.n; ++n) {
      ASSERT_EQ(result_at(problem, outcome, m, n), expected(problem, m, n)) << "row " << m << ", column " << n;
    }
  }
}

}  // namespace heddle::tcgen05_test
